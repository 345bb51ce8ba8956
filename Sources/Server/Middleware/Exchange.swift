import BramleyAPI
import Encodings
import HTTPMessages

/// What is known of a request beside itself; routes add what the log should say.
struct Exchange: Sendable {
  /// 16 octets, the first six the time in milliseconds, so that rows of the ledger are ordered by time.
  let id: [UInt8]
  /// `x-request-id` of the answer, `request_id` of errors and log lines: that of a configured proxy, else the
  /// id in hexadecimal digits.
  let requestID: String
  /// The trace that the request belongs to (W3C Trace Context), 32 hexadecimal digits.
  let trace: String?
  /// Where it comes from, as it is counted: an IPv4 address or an IPv6 /64.
  let address: String
  /// Milliseconds since 1970.
  let startedAt: Int64
  /// The uptime in nanoseconds.
  let started: Int64
  /// The template of the route, once it is known.
  var route: String?
  /// What stands in the path where the template has its parameter.
  var parameter: String?
  /// Whether it is the run of an `Idempotency-Key`, for whose answer a repeat may ask.
  var isRun = false
  /// The code of the error that was answered.
  var code: ErrorCode?
  /// The first octets of the key's id, once the evidence was verified.
  var keyName: String?
  /// Further members of the log line.
  var notes: [(String, JSONValue)] = []
  /// Fields that belong on the answer whatever it is, such as the next challenge.
  var answerFields = HTTPFields()

  init(_ request: HTTPRequest, environment: Environment) {
    startedAt = environment.now()
    started = environment.uptime()
    let millis = UInt64(clamping: startedAt)
    id = (0..<6).map { UInt8(truncatingIfNeeded: millis >> (40 - 8 * UInt64($0))) } + environment.random(10)
    let proxies = environment.configuration.trustedProxies
    requestID = Self.requestID(request, trusting: proxies) ?? Hex.encode(id)
    trace = Self.trace(request.fields["traceparent"])
    address = ClientAddress.of(request, trusting: proxies)
  }

  /// The request's name as a configured proxy logs it; nobody else can choose what stands in our log.
  private static func requestID(_ request: HTTPRequest, trusting proxies: [AddressBlock]) -> String? {
    guard let value = request.fields["x-request-id"], (1...64).contains(value.utf8.count),
      let peer = request.peer.flatMap({ IPAddress($0) }), proxies.contains(where: { $0.contains(peer) })
    else { return nil }
    let isPlain = value.utf8.allSatisfy {
      (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        || $0 == 0x2D || $0 == 0x2E || $0 == 0x5F
    }
    return isPlain ? value : nil
  }

  /// The trace id of a `traceparent` (version 00), unless it is malformed or all zeros.
  private static func trace(_ value: String?) -> String? {
    guard let value, value.utf8.count == 55, value.hasPrefix("00-") else { return nil }
    let id = value.dropFirst(3).prefix(32)
    let isHex = id.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    return isHex && id.contains { $0 != "0" } && value.dropFirst(35).first == "-" ? String(id) : nil
  }
}

/// Where a request comes from.
enum ClientAddress {
  /// In the place of one that cannot be read.
  static let unknown = "unknown"

  /// The peer, or, where the peer is a configured proxy, the last address of `X-Forwarded-For` that is none.
  /// Anything that cannot be read ends the walk: what stands before it could be the client's own invention.
  static func of(_ request: HTTPRequest, trusting proxies: [AddressBlock]) -> String {
    guard let peer = request.peer.flatMap({ IPAddress($0) }) else { return unknown }
    var address = peer
    let isProxy = { (address: IPAddress) in proxies.contains { $0.contains(address) } }
    let hops = request.fields.values("x-forwarded-for").flatMap { $0.split(separator: ",") }
    for hop in hops.reversed() {
      guard isProxy(address) else { break }
      let text = hop.drop { $0 == " " || $0 == "\t" }
      guard let next = IPAddress(text.prefix { $0 != " " && $0 != "\t" }) else { break }
      address = next
    }
    return address.countingName
  }
}
