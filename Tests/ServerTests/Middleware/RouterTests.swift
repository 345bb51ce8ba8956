import BramleyAPI
import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite struct RouterTests {
  @Test("health answers, and every answer has its id and its guards")
  func health() async throws {
    let response = try await BareServer().ask(.get, "/health")
    #expect(response.status == 200)
    #expect(try await response.json["status"]?.string == "ok")
    #expect(response.fields["x-request-id"]?.utf8.count == 32)
    #expect(response.fields["x-content-type-options"] == "nosniff")
    #expect(response.fields["cache-control"] == "no-store")
  }

  @Test("a server whose database is away is not ready")
  func notReady() async throws {
    #expect(try await BareServer().ask(.get, "/ready").status == 200)
    let response = try await BareServer(isReady: false).ask(.get, "/ready")
    #expect(response.status == 503)
    #expect(response.fields["retry-after"] != nil)
  }

  @Test(
    "another spelling of a path is another path",
    arguments: ["/", "/health/", "//health", "/Health", "/healt%68", "/health;x", "/nothing", ""])
  func unknown(_ target: String) async throws {
    let response = try await BareServer().ask(.get, target)
    #expect(response.status == 404)
    #expect(response.fields["content-type"] == "application/problem+json")
    let body = try await response.json
    #expect(body["code"]?.string == "not_found")
    #expect(body["status"]?.integer == 404)
    #expect(body["request_id"]?.string == response.fields["x-request-id"])
    #expect(body["message"]?.string?.isEmpty == false && body["title"]?.string == "Not Found")
  }

  @Test("below a provider an unknown route answers in the provider's envelope")
  func unknownBelowProvider() async throws {
    let response = try await BareServer().ask(.post, "/ai/anthropic/v1/files")
    #expect(response.status == 404)
    let body = try await response.json
    #expect(body["type"]?.string == "error")
    #expect(body["error"]?["type"]?.string == "not_found_error")
    #expect(ErrorAnswer(body: body.value.bytes).code == .notFound)
  }

  @Test("below OpenAI's path it is OpenAI's envelope")
  func unknownBelowOpenAI() async throws {
    let response = try await BareServer().ask(.post, "/ai/openai/v1/files")
    #expect(response.status == 404 && response.fields["content-type"] == "application/json")
    let error = try await response.json["error"]
    #expect(error?["type"]?.string == "invalid_request_error" && error?["code"]?.string == "not_found")
    #expect(error?["message"]?.string?.isEmpty == false && error?["param"]?.isNull == true)
  }

  @Test("a wrong method is 405 with Allow; HEAD goes as GET; OPTIONS tells the methods")
  func methods() async throws {
    let server = try BareServer()
    let wrong = try await server.ask(.delete, "/health")
    #expect(wrong.status == 405)
    #expect(wrong.fields["allow"] == "GET, HEAD, OPTIONS")
    #expect(try await server.ask(.head, "/health").status == 200)
    let options = try await server.ask(.options, "/health")
    #expect(options.status == 204)
    #expect(options.fields["allow"] == "GET, HEAD, OPTIONS")
    #expect(try await server.ask("get", "/health").status == 405)
  }

  @Test("RULES §6.2: only a listed origin may read, and never with credentials")
  func crossOrigin() async throws {
    let server = try BareServer { $0.corsOrigins = ["https://app.example.com"] }
    let listed = try await server.ask(.get, "/health", ["origin": "https://app.example.com"])
    #expect(listed.fields["access-control-allow-origin"] == "https://app.example.com")
    #expect(listed.fields["vary"] == "Origin")
    for origin in [
      "https://evil.example", "null", "*", "https://app.example.com.evil.example", "https://APP.example.com",
    ] {
      let other = try await server.ask(.get, "/health", ["origin": origin])
      #expect(other.fields["access-control-allow-origin"] == nil)
    }
    let preflight = try await server.ask(
      .options, "/health", ["origin": "https://app.example.com", "access-control-request-method": "GET"])
    #expect(preflight.fields["access-control-allow-methods"] == "GET, HEAD, OPTIONS")
    #expect(preflight.fields["access-control-allow-credentials"] == nil)
    let none = try await BareServer().ask(.get, "/health", ["origin": "https://app.example.com"])
    #expect(none.fields["access-control-allow-origin"] == nil)
  }

  @Test("RULES §6.2: pages of this machine may read where dev says so, and no page that looks like one")
  func loopbackOrigins() async throws {
    let server = try BareServer { $0.corsAllowsLoopback = true }
    for origin in ["http://localhost:5173", "http://127.0.0.1:3000", "http://[::1]:8080"] {
      let response = try await server.ask(.get, "/health", ["origin": origin])
      #expect(response.fields["access-control-allow-origin"] == origin)
      #expect(response.fields["vary"] == "Origin")
    }
    for origin in [
      "http://localhost.evil.example", "http://127.0.0.1.evil.example", "null", "*", "http://evil.example",
      "http://localhost@evil.example", "https://app.example.com", "localhost", "",
    ] {
      let other = try await server.ask(.get, "/health", ["origin": origin])
      #expect(other.fields["access-control-allow-origin"] == nil, "\(origin)")
    }
  }

  @Test("RULES §6.1: metrics are not on the public listener, and the operator's has no CORS")
  func metrics() async throws {
    let server = try BareServer { $0.corsOrigins = ["https://app.example.com"] }
    #expect(try await server.ask(.get, "/metrics").status == 404)
    #expect(try await server.ask(.get, "/admin/").status == 404)
    _ = try await server.ask(.get, "/health")
    let response = try await server.server.adminHandler.respond(
      to: HTTPRequest(method: .get, target: "/metrics", fields: ["origin": "https://app.example.com"]))
    #expect(response.status == 200)
    #expect(response.fields["access-control-allow-origin"] == nil)
    let text = try await response.text
    #expect(text.contains(#"bramley_responses_total{status="404"} 2"#))
    #expect(text.contains(#"bramley_route_responses_total{route="/health"} 1"#))
    #expect(text.contains(#"bramley_errors_total{code="not_found"} 2"#))
    #expect(text.contains("bramley_head_seconds_count 3"))
  }
}
