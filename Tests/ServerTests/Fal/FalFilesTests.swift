import AppleSimulator
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("Files that fal's models made") struct FalFilesTests {
  private func files(
    hosts: Set<String> = ["fal.media", "*.fal.media"], limit: Int = 1_000,
    _ answer: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
  ) -> FalFiles {
    var configuration = Configuration.Fal(apiKey: Secret("k"))
    configuration.fileHosts = hosts
    configuration.fileLimit = limit
    return FalFiles(configuration, network: Handler(answer: answer))
  }

  private static func png(_ count: Int = 10) -> HTTPResponse {
    HTTPResponse(
      status: 200, fields: ["content-type": "image/png"], body: HTTPBody(Array(repeating: 7, count: count)))
  }

  @Test("the file of a result is taken, without any credential")
  func taken() async throws {
    let seen = Recorder<HTTPRequest>()
    let files = files {
      seen.append($0)
      return Self.png()
    }
    let result = try JSONReader.read(
      Array(#"{"images":[{"url":"https://v3.fal.media/files/a/b.png?x=1"}],"video":{"url":"v"}}"#.utf8))
    #expect(FalFiles.urls(in: result) == ["https://v3.fal.media/files/a/b.png?x=1", "v"])
    let file = try await files.file(at: FalFiles.urls(in: result)[0])
    #expect(file == .init(bytes: Array(repeating: 7, count: 10), mediaType: "image/png"))
    let request = try #require(seen.values.first)
    #expect(request.scheme == "https" && request.authority == "v3.fal.media")
    #expect(request.target == "/files/a/b.png?x=1" && request.fields["authorization"] == nil)
  }

  @Test(
    "RULES §6.3: other hosts, schemes, ports and spellings are not asked",
    arguments: [
      "http://v3.fal.media/a", "https://evil.example/a", "https://fal.media.evil.example/a",
      "https://evilfal.media/a", "https://user@v3.fal.media/a", "https://v3.fal.media:8443/a",
      "https://v3.fal.media@evil.example/a", "https://169.254.169.254/latest", "https://[::1]/a",
      "file:///etc/passwd",
      "https://v3.fal.media\\@evil.example/a", "https://v3.fal.media/a\r\nx: y", "https://v3.fal.media",
      "https://v3.fal.media/a#b", "//v3.fal.media/a", "", "data:text/html;base64,AAAA", "data:image/png,AAAA",
      "data:image/svg+xml;base64,AAAA", "data:image/png;base64,%%%", "javascript:alert(1)",
      "https://v3.fal.mediä/a",
    ])
  func refused(_ url: String) async throws {
    let seen = Recorder<HTTPRequest>()
    let files = files {
      seen.append($0)
      return Self.png()
    }
    await #expect(throws: (any Error).self) { try await files.file(at: url) }
    #expect(seen.values.isEmpty)
  }

  @Test("RULES §6.3: redirects, errors, other types, codings and long files are not taken")
  func answers() async throws {
    let answers: [HTTPResponse] = [
      HTTPResponse(status: 302, fields: ["location": "https://v3.fal.media/b"]), HTTPResponse(status: 404),
      HTTPResponse(status: 200, fields: ["content-type": "text/html"], body: HTTPBody("<script>")),
      HTTPResponse(status: 200, fields: ["content-type": "image/svg+xml"], body: HTTPBody("<svg>")),
      HTTPResponse(status: 200, body: HTTPBody("x")),
      HTTPResponse(
        status: 200, fields: ["content-type": "image/png", "content-encoding": "gzip"], body: HTTPBody("x")),
      Self.png(1_001),
    ]
    for answer in answers {
      await #expect(throws: (any Error).self) {
        try await self.files { _ in answer }.file(at: "https://v3.fal.media/a")
      }
    }
    let whole = try await files { _ in Self.png(1_000) }.file(at: "https://v3.fal.media/a")
    #expect(whole.bytes.count == 1_000)
  }

  @Test("a file that stands in the answer itself is read there, within the same bound")
  func inline() async throws {
    let files = files(limit: 8) { _ in throw HTTPClientError.connect }
    let file = try await files.file(at: "data:image/png;base64," + Base64.encode([1, 2, 3]))
    #expect(file == .init(bytes: [1, 2, 3], mediaType: "image/png"))
    await #expect(throws: (any Error).self) {
      try await files.file(
        at: "data:image/png;base64," + Base64.encode(Array(repeating: 0, count: 100)))
    }
  }

  @Test("what the simulated fal makes can be taken from it")
  func simulated() async throws {
    let fal = SimulatedFal(apiKey: "k", sleep: { try await Task.sleep(for: $0) })
    let response = try await fal.respond(
      to: HTTPRequest(
        method: .post, scheme: "https", authority: "fal.run", target: "/fal-ai/flux/schnell",
        fields: ["authorization": "Key k"], body: HTTPBody(#"{"prompt":"a cat"}"#)))
    let urls = FalFiles.urls(in: try await response.json)
    let file = try await files { try await fal.respond(to: $0) }.file(at: try #require(urls.first))
    #expect(file.mediaType == "image/png" && file.bytes.starts(with: [0x89, 0x50]))
  }
}
