import BramleyTesting
import Encodings
import Testing

@testable import bramley

@Suite("bramley inspect", Fixtures.required)
struct InspectTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private static let attestations = Fixtures.documents(in: "appattest/attestations")
  private static let assertions = Fixtures.documents(in: "appattest/assertions")
  private static let receipts = Fixtures.documents(in: "appattest/receipts")

  private func attestation(_ fixture: Fixture, at time: String?) throws -> [String] {
    let object = try #require(fixture.base64("attestation_b64"))
    return [
      "inspect", "attestation", try directory.write(object, fixture.name),
      "--app", try #require(fixture.string("appId")),
      "--client-data-hash", try #require(fixture.string("clientDataHash_b64")),
      "--key-id", try #require(fixture.string("keyId_b64")),
      "--environment", try #require(fixture.string("environment")),
    ] + (time.map { ["--at", $0] } ?? [])
  }

  @Test("every real attestation holds at its time, and not today", arguments: attestations)
  func attestation(_ fixture: Fixture) async throws {
    let then = await CommandRun(try attestation(fixture, at: fixture.string("verifyAt")))
    #expect(then.code == .success, "\(then.output)")
    #expect(fixture.json["expected"]?["atVerifyAt"]?.string == "valid")
    #expect(!then.output.contains("FAILED"))
    #expect(then.output.contains("Holds: "))

    let later = await CommandRun(try attestation(fixture, at: "2026-11-29T00:00:00Z"))
    #expect(later.code == .failure)
    let failed = later.output.split(separator: "\n").filter { $0.hasPrefix("FAILED") }
    #expect(failed.count == 1)
    #expect(failed.first?.contains("chain") == true)
  }

  @Test("as JSON, the verdicts are the same")
  func json() async throws {
    let fixture = try #require(Self.attestations.first)
    let time = try #require(fixture.string("verifyAt"))
    let run = await CommandRun(try attestation(fixture, at: time) + ["--json"])
    let json = try JSONReader.read(Array(run.output.utf8))
    #expect(json["holds"]?.bool == true)
    #expect(json["checks"]?.elements?.allSatisfy { $0["outcome"]?.string != "failed" } == true)
    #expect(json["facts"]?["app id"]?.string == fixture.string("appId"))
  }

  @Test("base64 text in lines is read as well")
  func text() async throws {
    let fixture = try #require(Self.attestations.first)
    let object = try #require(fixture.base64("attestation_b64"))
    var text = Base64.encode(object)
    text.insert("\n", at: text.index(text.startIndex, offsetBy: 64))
    let file = try directory.write(Array("\(text)\r\n".utf8), "text")
    let time = try #require(fixture.string("verifyAt"))
    #expect(await CommandRun("inspect", "attestation", file, "--at", time).code == .success)
  }

  @Test("a wrong app, key or hash is named and fails")
  func wrong() async throws {
    let fixture = try #require(Self.attestations.last)
    let time = try #require(fixture.string("verifyAt"))
    let object = try directory.write(try #require(fixture.base64("attestation_b64")), "object")
    let wrong = Base64.encode([UInt8](repeating: 7, count: 32))
    for (option, value, check) in [
      ("--app", "TEAMID1234.com.example.other", "app "), ("--key-id", wrong, "keyID "),
      ("--client-data-hash", wrong, "nonce "),
    ] {
      let run = await CommandRun("inspect", "attestation", object, "--at", time, option, value)
      #expect(run.code == .failure)
      #expect(run.output.contains("FAILED  \(check)"), "\(run.output)")
    }
  }

  @Test("every real assertion holds", arguments: assertions)
  func assertion(_ fixture: Fixture) async throws {
    let object = try #require(fixture.base64("assertion_b64"))
    let arguments = [
      "inspect", "assertion", try directory.write(object, fixture.name),
      "--app", try #require(fixture.string("appId")),
      "--client-data-hash", try #require(fixture.string("clientDataHash_b64")),
      "--public-key", try #require(fixture.string("publicKeyX963_b64")),
    ]
    let run = await CommandRun(arguments)
    #expect(run.code == .success, "\(run.output)")
    let wrong = await CommandRun(arguments.dropLast(3) + [Base64.encode([1, 2, 3])] + arguments.suffix(2))
    #expect(wrong.code == .failure)
    #expect(wrong.output.contains("FAILED  signature"))
  }

  @Test("every real receipt is judged as its file says", arguments: receipts)
  func receipt(_ fixture: Fixture) async throws {
    let object = try #require(fixture.base64("receipt_b64"))
    let run = await CommandRun("inspect", "receipt", try directory.write(object, fixture.name))
    // Those of August to early October 2020 are signed over attributes.
    let isEarly = fixture.name < "2020-10-10"
    #expect(run.code == (isEarly ? .failure : .success), "\(run.output)")
    if isEarly { #expect(run.output.contains("attributes")) }
  }

  @Test("the receipt in an attestation is judged by the same file", arguments: attestations)
  func receiptInside(_ fixture: Fixture) async throws {
    let run = await CommandRun(
      "inspect", "receipt",
      try directory.write(try #require(fixture.base64("attestation_b64")), fixture.name),
      "--client-data-hash", try #require(fixture.string("clientDataHash_b64")))
    // One publisher has damaged it; those of August to early October 2020 are signed over attributes.
    let isWhole = fixture.json["receipt"]?["verified"]?.bool == true
    let isEarly = run.output.contains("attributes") && fixture.name < "2020-10-10"
    #expect((run.code == .success) == (isWhole && !isEarly), "\(run.output)")
    #expect(run.output.contains("ATTEST"))
  }

  @Test("what is no object fails, and a file that is not there is one line")
  func nonsense() async throws {
    for kind in ["attestation", "assertion", "receipt"] {
      for bytes: [UInt8] in [[0], Array("no".utf8), [UInt8](repeating: 0xA1, count: 70_000)] {
        let run = await CommandRun("inspect", kind, try directory.write(bytes, "nonsense"))
        #expect(run.code == .failure)
        #expect(run.output.contains("FAILED"))
      }
      let missing = await CommandRun("inspect", kind, directory.path + "/none")
      #expect(missing.code == .failure)
      #expect(missing.output.isEmpty)
      #expect(missing.errors.split(separator: "\n").count == 1)
    }
  }
}
