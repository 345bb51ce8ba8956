package import Cryptography
import Encodings

/// The rule of server-to-server notifications.
package struct NotificationVerifier: Sendable {
  /// A notification is accepted so long after it expired, seconds: better late than never (RULES §2.3).
  package static let grace: Int64 = 30 * 86_400
  /// Above it a time is in milliseconds, which all real ones are; Apple's documentation shows seconds.
  static let millisecondsFrom: Int64 = 100_000_000_000
  /// The most events that one notification may have.
  static let maximumEvents = 32

  package let clients: [AppleClient]
  package let issuers: [String]

  /// The rule for notifications about these clients.
  package init(clients: [AppleClient], issuers: [String] = [AppleIDService.issuer]) {
    self.clients = clients
    self.issuers = issuers
  }

  /// What Apple says, if everything holds.
  ///
  /// - Parameters:
  ///   - key: Apple's key of the name that the token's header says.
  ///   - now: seconds since 1970.
  package func verify(
    _ token: AppleToken, key: RSA.PublicKey, now: Int64
  ) throws(AppleTokenError) -> AppleNotification {
    let claims = try token.claims(key: key)
    guard claims.has("events") else { throw .isIdentityToken }
    for name in ["nonce", "c_hash", "at_hash"] where claims.has(name) { throw .isIdentityToken }
    let issuer = try claims.issuer(among: issuers)
    let client = try claims.client(among: clients)
    let (issuedAt, expiresAt) = try claims.times()
    guard issuedAt <= now.adding(IdentityTokenVerifier.clockSkew) else {
      throw .fromTheFuture(issuedAt: issuedAt, now: now)
    }
    guard expiresAt.adding(Self.grace) > now else { throw .expired(at: expiresAt, now: now) }
    guard let id = claims.text("jti", limit: 255) else { throw .claim("jti") }
    return AppleNotification(
      id: id, client: client, issuer: issuer, issuedAt: issuedAt, expiresAt: expiresAt,
      events: try events(claims, issuedAt: issuedAt), tokenHash: token.hash)
  }

  /// `events`: a JSON text in every real notification, an object in Apple's documentation, a list perhaps one day.
  private func events(_ claims: Claims, issuedAt: Int64) throws(AppleTokenError) -> [AppleEvent] {
    guard var node = claims.node["events"] else { throw .claim("events") }
    if let text = node.string {
      guard let read = try? JSONReader.read(Array(text.utf8), maximumDepth: 8) else { throw .claim("events") }
      node = read
    }
    let nodes = node.elements ?? [node]
    guard (1...Self.maximumEvents).contains(nodes.count) else { throw .claim("events") }
    var events: [AppleEvent] = []
    for node in nodes { events.append(try event(Claims(node: node), issuedAt: issuedAt)) }
    return events
  }

  private func event(_ claims: Claims, issuedAt: Int64) throws(AppleTokenError) -> AppleEvent {
    guard let type = claims.text("type", limit: 64).map({ AppleEventType(spelled: $0) }) else {
      throw .claim("events.type")
    }
    let subject = claims.text("sub", limit: 255)
    if type.isKnown, subject == nil { throw .claim("events.sub") }
    return AppleEvent(
      type: type, subject: subject, time: try time(claims) ?? issuedAt.milliseconds,
      email: claims.text("email", limit: 254), isPrivateEmail: claims.truth("is_private_email"))
  }

  /// `event_time` in milliseconds; nil where there is none.
  private func time(_ claims: Claims) throws(AppleTokenError) -> Int64? {
    guard claims.has("event_time") else { return nil }
    guard let time = claims.time("event_time") else { throw .claim("events.event_time") }
    return time > Self.millisecondsFrom ? time : time.milliseconds
  }
}

extension Int64 {
  /// Seconds as milliseconds, at the limit of the type where they are beyond it.
  fileprivate var milliseconds: Int64 {
    let (product, overflow) = multipliedReportingOverflow(by: 1_000)
    return overflow ? .max : product
  }
}
