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
