import System
import Testing

@testable import bramley

@Suite("bramley doctor")
struct DoctorTests {
  @Test("a good machine is in order, and nothing is made")
  func good() async throws {
    let directory = try TemporaryDirectory()
    let file = try directory.write(
      Array(#"{ "time_zone": "Asia/Tokyo", "data": "\#(directory.path)/data" }"#.utf8), "bramley.jsonc")
    let run = await CommandRun("doctor", "--offline", "--config", file)
    #expect(run.code == .success, "\(run.output)\(run.errors)")
    #expect(run.output.contains("ok      time zone      Asia/Tokyo"))
    #expect(run.output.contains("note    database"))
    #expect(!Files.exists(directory.path + "/data"))
  }

  @Test("what is no database fails")
  func noDatabase() async throws {
    let directory = try TemporaryDirectory()
    _ = try directory.write([UInt8](repeating: 1, count: 5_000), "bramley.sqlite")
    let file = try directory.write(Array(#"{ "data": "\#(directory.path)" }"#.utf8), "bramley.jsonc")
    let run = await CommandRun("doctor", "--offline", "--config", file)
    #expect(run.code == .failure)
    #expect(run.output.contains("FAILED  database"), "\(run.output)")
  }

  @Test("few descriptors fail, with what to do")
  func descriptors() {
    #expect(Doctor.descriptors(DescriptorLimit(soft: 1_024, hard: 524_288)).verdict == .good)
    let few = Doctor.descriptors(DescriptorLimit(soft: 1_024, hard: 4_096))
    #expect(few.verdict == .bad && few.words.contains("LimitNOFILE=65536"))
  }

  /// What the doctor says of these budgets, with functions that Claude and GPT answer.
  private func examine(_ budgets: String, _ fallbacks: String = "[]") async throws -> CommandRun {
    let directory = try TemporaryDirectory()
    let key = try directory.write(Array("sk-0123456789abcdef".utf8), "key")
    let file = try directory.write(
      Array(
        #"""
        {
          "data": "\#(directory.path)/data", "budgets": \#(budgets),
          "providers": {
            "anthropic": { "api_key": { "file": "\#(key)" }, "models": ["claude-haiku-4-5", "claude-sonnet-5-5"] },
            "openai": { "api_key": { "file": "\#(key)" }, "models": ["gpt-4.1-mini"] }
          },
          "functions": { "haiku": {
            "provider": "anthropic", "model": "claude-haiku-4-5", "fallbacks": \#(fallbacks),
            "template": "A haiku on {{subject}}.", "input": { "subject": { "type": "string", "max_length": 100 } }
          } }
        }
        """#.utf8), "bramley.jsonc")
    return await CommandRun("doctor", "--offline", "--config", file)
  }

  @Test("RULES §5.1: budgets of single phones are no ceiling of the bill, and the doctor says so")
  func budgets() async throws {
    let open = try await examine(#"[{ "name": "each", "subject": "key", "dollars": "0.20" }]"#)
    #expect(open.code == .failure)
    #expect(
      open.output.contains("FAILED  budgets        anthropic, openai: only single phones"), "\(open.output)")
    let half = try await examine(
      #"[{ "name": "each", "subject": "key", "dollars": "0.20" },"#
        + #" { "name": "all", "subject": "everyone", "provider": "anthropic", "dollars": "9" }]"#)
    #expect(half.code == .failure && half.output.contains("FAILED  budgets        openai: only"))
    let function = try await examine(
      #"[{ "name": "each", "subject": "key", "dollars": "0.20" },"#
        + #" { "name": "all", "subject": "everyone", "function": "haiku", "dollars": "9" }]"#)
    #expect(function.code == .failure, "the routes that pass calls through have none")
    let each = try await examine(#"[{ "name": "house", "subject": "address", "dollars": "0.20" }]"#)
    #expect(
      each.code == .success && each.output.contains("note    budgets        anthropic, openai: each user"))
    for subject in ["everyone", "app"] {
      let bounded = try await examine(#"[{ "name": "all", "subject": "\#(subject)", "dollars": "9" }]"#)
      #expect(bounded.code == .success && bounded.output.contains("ok      budgets"), "\(bounded.output)")
    }
  }

  @Test("who answers a function is told, and a fallback that cannot is a mistake")
  func fallbacks() async throws {
    let all = #"[{ "name": "all", "subject": "everyone", "dollars": "9" }]"#
    let good = try await examine(all, #"[{ "provider": "openai", "model": "gpt-4.1-mini" }]"#)
    #expect(good.code == .success, "\(good.output)\(good.errors)")
    #expect(
      good.output.contains(
        "ok      function       haiku: anthropic claude-haiku-4-5, then openai gpt-4.1-mini"))
    let one = try await examine(all, #"[{ "provider": "anthropic", "model": "claude-sonnet-5-5" }]"#)
    #expect(one.code == .success && one.output.contains("note    function       haiku"), "\(one.output)")
    for (bad, words) in [
      (#"[{ "provider": "openai", "model": "gpt-unpriced" }]"#, "functions.haiku.fallbacks"),
      (#"[{ "provider": "fal", "model": "fal-ai/flux/schnell" }]"#, "there is no such provider"),
      (#"[{ "provider": "anthropic", "model": "claude-haiku-4-5" }]"#, "this model is asked before"),
    ] {
      let run = try await examine(all, bad)
      #expect(run.code != .success && (run.output + run.errors).contains(words), "\(bad): \(run.errors)")
    }
  }

  @Test("HTTP dates are read, and nothing else")
  func dates() {
    #expect(ProviderProbe.seconds(ofHTTPDate: "Sun, 06 Nov 1994 08:49:37 GMT") == 784_111_777)
    for text in [
      "", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nix 1994 08:49:37 GMT", "06 Nov 1994 08:49:37 GMT x",
    ] {
      #expect(ProviderProbe.seconds(ofHTTPDate: text) == nil)
    }
  }
}
