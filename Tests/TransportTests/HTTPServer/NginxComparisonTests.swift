import Foundation
import Testing

@testable import Transport

/// What another strict reader of HTTP makes of the same octets.
@Suite(
  "Request parser against nginx", .serialized,
  .enabled("nginx is not installed") { FileManager.default.isExecutableFile(atPath: Nginx.path) })
struct NginxComparisonTests {
  /// Refused here, taken by nginx 1.22, which is lenient with lines and with content that it throws away; and any
  /// target, since nginx makes a path plain instead of refusing it. A newer nginx takes less of this.
  private static let stricter: Set<String> = [
    "an expectation of another kind", "blank after the chunk size", "bare LF after the chunk size",
    "bare LF after the chunk", "chunk size of endless zeros", "endless extension", "trailer without colon",
    "trailer that is folded", "trailer ended by LF", "end with LF", "endless trailers",
    "bare LF in the request line", "bare LF after a field", "DEL in a value", "field without colon",
    "field name with parenthesis", "field name beyond ASCII", "value that is not UTF-8", "Host with user",
    "Host with a port in words", "Host with an open bracket", "two empty lines first", "HTTP/1.2",
    "version with more digits", "too many fields",
  ]

  @Test("what nginx takes and this parser refuses is known, case by case")
  func refusals() async throws {
    try await Nginx.run { nginx in
      let targets = Set(Hygiene.targets.map(\.name))
      for hygiene in Hygiene.all where try nginx.takes(hygiene.octets) {
        #expect(Self.stricter.contains(hygiene.name) || targets.contains(hygiene.name), "\(hygiene.name)")
      }
    }
  }

  @Test("what nginx refuses of requests at random is refused here")
  func random() async throws {
    try await Nginx.run { nginx in
      var numbers = SplitMix(state: 42)
      var taken = 0
      for _ in 0..<600 {
        let octets = RequestMaker.request(&numbers)
        let events = HTTPRequestParser.events(of: octets)
        guard events.contains(.end) else { continue }
        taken += 1
        let text = String(decoding: octets, as: UTF8.self).debugDescription
        let takes = try nginx.takes(octets)
        #expect(takes, "\(text)")
      }
      #expect(taken > 50)
    }
  }
}

/// Requests that are nearly right.
private enum RequestMaker {
  static func request(_ numbers: inout SplitMix) -> [UInt8] {
    func pick(_ choices: [String]) -> String { choices.randomElement(using: &numbers) ?? "" }
    /// Mostly the first.
    func mostly(_ usual: String, _ others: [String]) -> String {
      Int.random(in: 0..<8, using: &numbers) == 0 ? pick(others) : usual
    }
    var text = mostly("", ["\r\n", "\n", " "])
    text += pick(["GET", "POST", "PUT", "DELETE", "OPTIONS"])
    text += mostly(" ", ["  ", "\t"])
    text += pick([
      "/", "/a", "/a/b?c", "/%41", "/a?%2f", "/a/..b", "/.a", "/a//b", "/a?b=[1]", "/%2e", "/a/../b",
    ])
    text += mostly(" HTTP/1.1", [" HTTP/1.0", " HTTP/1.1 ", " HTTP/2.0", "  HTTP/1.1", ""])
    text += mostly("\r\n", ["\n", "\r", "\r\r\n"])
    text += mostly(
      "Host: a", ["Host: a:80", "Host : a", "Host:a", "host: [::1]:80", "Hos: a", "Host: a\r\nHost: b"])
    text += mostly("\r\n", ["\n", "\r\n ", "\r"])
    for _ in 0..<Int.random(in: 0..<3, using: &numbers) {
      text += pick([
        "A: b", "A:", "A: b\tc", "A_b: c", "A.b: c", "Ab", "A: \u{e4}", "A: b\0", "Expect: 100-continue",
      ])
      text += mostly("\r\n", ["\n", "\r\n\t"])
    }
    switch Int.random(in: 0..<4, using: &numbers) {
    case 0:
      text +=
        mostly("Content-Length: 3", ["Content-Length: +3", "Content-Length: 3\r\nContent-Length: 3"])
        + "\r\n\r\nabc"
    case 1:
      text += mostly("Transfer-Encoding: chunked", ["Transfer-Encoding: Chunked", "Transfer-Encoding: gzip"])
      text += "\r\n\r\n" + mostly("3", ["3;a=b", "3 ", "3 ;a", "0x3", "03", "3;a=\"b\"", "g"])
      text += mostly("\r\n", ["\n"]) + "abc" + mostly("\r\n", ["\n", ""])
      text += "0" + mostly("", [";x"]) + "\r\n" + mostly("", ["T: u\r\n", "T\r\n", " T: u\r\n"]) + "\r\n"
    default: text += "\r\n"
    }
    return Array(text.utf8)
  }
}

/// nginx on a port of its own, ended with the test.
private struct Nginx {
  static let path = "/usr/sbin/nginx"
  let address: SocketAddress

  static func run(_ test: (Nginx) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "bramley-nginx-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // A port that is free now; the listener of this process is closed before nginx takes it.
    let wanted = try #require(SocketAddress("127.0.0.1:0"))
    let listener = try Listener(wanted, HTTPServer.Configuration())
    let address = listener.address
    listener.discard()
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map { "\($0)_temp_path \(folder.path);" }
    let configuration = """
      daemon off; master_process off; pid \(folder.path)/pid; error_log /dev/null;
      events { worker_connections 64; }
      http { access_log off; \(paths.joined(separator: " ")) large_client_header_buffers 4 16k;
        server { listen \(address); location / { return 200 "taken"; } } }
      """
    let file = folder.appending(path: "nginx.conf")
    try configuration.write(to: file, atomically: true, encoding: .utf8)
    let process = Process()
    let lifeline = Pipe()
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    // The shell waits for the end of its input, which comes even if this process dies, and then kills nginx.
    let command = "\(path) -e /dev/null -p \(folder.path) -c \(file.path) & read _; kill -9 $!"
    process.arguments = ["-c", command]
    process.standardInput = lifeline
    process.standardError = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    defer {
      try? lifeline.fileHandleForWriting.close()
      process.waitUntilExit()
    }
    try await onThreadOfItsOwn {
      for _ in 0..<200 where (try? RawClient(address)) == nil { try await Task.sleep(for: .milliseconds(10)) }
      try await test(Nginx(address: address))
    }
  }

  /// Whether nginx answers these octets as a request.
  func takes(_ octets: [UInt8]) throws -> Bool {
    let client = try RawClient(address, timeout: 1)
    client.send(octets)
    client.endSending()
    let status = try? client.answer().status
    return status == 200 || status == 100
  }
}
