import BramleyAPI
import Encodings
import HTTPMessages

/// `GET /attest/v1/probe…`: tells `bramley doctor` how its own request arrived, so that it finds proxies that
/// rewrite (RULES §1.2). Whatever a proxy made of the path, it is found by what is left of it.
///
/// Everybody may ask: the answer has nothing but the asker's own request, and two facts of this deployment that
/// he could find out by the limits. `…/stream` answers in three pieces with pauses between them.
struct ProbeRoute: Endpoint {
  /// The longest target that is told.
  static let targetLimit = 1_024

  let method = HTTPMethod.get
  let path = AttestTargets.probe
  let proxies: [AddressBlock]
  let limiter: AddressLimiter
  let uptime: @Sendable () -> Int64
  let sleep: @Sendable (Duration) async throws -> Void

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    try await limiter.require(exchange.address, now: uptime())
    guard request.target.utf8.count <= Self.targetLimit else { throw Failure.notFound }
    if request.path.hasSuffix(AttestTargets.probe + "/stream") {
      return HTTPResponse(
        status: 200, fields: ["content-type": "text/event-stream"],
        body: HTTPBody(stream: Pieces(sleep: sleep)))
    }
    let peer = request.peer.flatMap { IPAddress($0) }
    let arrived = ProbeAnswer(
      target: request.target, host: request.authority.isEmpty ? nil : String(request.authority.prefix(256)),
      scheme: request.fields["x-forwarded-proto"].map { String($0.prefix(16)) },
      hasEvidence: ProbeAnswer.evidence.allSatisfy { request.fields.values($0.name) == [$0.value] },
      isForwarded: !request.fields.values("x-forwarded-for").isEmpty,
      isPeerTrusted: peer.map { peer in proxies.contains { $0.contains(peer) } } ?? false)
    return .json(arrived.json)
  }

  /// Three events, half a second apart.
  private actor Pieces: HTTPBodyStream {
    private let sleep: @Sendable (Duration) async throws -> Void
    private var sent = 0

    init(sleep: @escaping @Sendable (Duration) async throws -> Void) { self.sleep = sleep }

    func next() async throws -> [UInt8]? {
      if sent == 3 { return nil }
      if sent > 0 { try await sleep(.milliseconds(500)) }
      sent += 1
      return Array("event: probe\ndata: \(sent)\n\n".utf8)
    }

    nonisolated func cancel() {}
  }
}
