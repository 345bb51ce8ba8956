import AppleSimulator
import BramleyClient
import Foundation
import HTTPMessages
import System
import Testing
import Transport

/// What phones sent to the gateway, and which of it was answered to the end.
actor Traffic: HTTPHandler {
  private let network: HTTPClient
  private(set) var answered: [HTTPRequest] = []
  private(set) var unanswered: [String: HTTPRequest] = [:]
  private(set) var refused: [Int] = []
  /// Refusals with 503 that lack their code or say not when to come again.
  private(set) var unclear: [String] = []

  init(_ network: HTTPClient) { self.network = network }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard request.target == Load.target else { return try await network.respond(to: request) }
    let sent = HTTPRequest(
      method: request.method, scheme: request.scheme, authority: request.authority, target: request.target,
      fields: request.fields, body: HTTPBody(try await request.body.collect(upTo: 1 << 20)))
    let name = request.fields["x-attest-assertion"] ?? ""
    unanswered[name] = sent
    var response = try await network.respond(to: sent)
    let body = try await response.body.collect(upTo: 1 << 20)
    unanswered[name] = nil
    if response.status == 200 { answered.append(sent) } else { refused.append(response.status) }
    if response.status == 503 {
      let text = String(decoding: body, as: UTF8.self)
      if response.fields["retry-after"] == nil || !text.contains("\"code\":\"unavailable\"") {
        unclear.append(text)
      }
    }
    response.body = HTTPBody(body)
    return response
  }

  func forget() {
    answered = []
    unanswered = [:]
    refused = []
  }
}

/// Simulated phones that ask without a pause.
enum Load {
  static let target = "/ai/anthropic/v1/messages"

  static func question(_ text: String = "hello") -> HTTPRequest {
    HTTPRequest(
      method: .post, target: target,
      fields: ["content-type": "application/json", "anthropic-version": "2023-06-01"],
      body: HTTPBody(
        #"{"model":"claude-haiku-4-5","max_tokens":8,"messages":[{"role":"user","content":"\#(text)"}]}"#))
  }

  /// A new phone at the server, registered by its first request.
  static func phone(at base: String, data: String, over traffic: Traffic) throws -> BramleyClient {
    let authority = try SimulatedAppleCA(state: Files.read(data + "/simulated-apple.json", upTo: 1 << 20))
    let device = try SimulatedDevice(
      authority: authority, app: SimulatedApp(id: "SIMULATED0.com.example.bramley"),
      now: { WallClock.seconds })
    return try BramleyClient(
      baseURL: base, transport: traffic, attestation: device, storage: InMemoryKeyIDStorage(),
      now: { WallClock.seconds })
  }

  /// Each phone asks by several tasks at once, until the server is gone or each has asked so often.
  static func run(_ phones: [BramleyClient], tasks: Int = 2, each count: Int = 25) async {
    await withTaskGroup { group in
      for phone in phones {
        for _ in 0..<tasks {
          group.addTask {
            for _ in 0..<count {
              guard let response = try? await phone.respond(to: question()),
                (try? await response.body.collect(upTo: 1 << 20)) != nil
              else { return }
            }
          }
        }
      }
    }
  }
}
