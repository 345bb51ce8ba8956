package import Encodings
package import HTTPMessages

/// Apple's requests of DeviceCheck as values (Apple's page "Accessing and modifying per-device data"). A token names a
/// device, comes fresh from it for each use, and holds for less than a minute.
package struct DeviceCheck: Sendable {
  /// The most octets of an answer that are read.
  package static let maximumLength = 4_096
  /// The most octets of a token that is sent on, base64 without line ends. Real ones have about 2 KB.
  package static let maximumTokenLength = 8_192

  package let services: AppleServices

  package init(services: AppleServices = .apple) { self.services = services }

  /// What a request is about.
  package struct Subject: Sendable {
    /// As the device gave it, base64.
    package var token: String
    package var environment: AttestEnvironment
    /// New for each request.
    package var transaction: UUID
    /// Milliseconds since 1970; Apple refuses another time than its own.
    package var now: Int64

    /// nil for what is no token.
    package init?(token: String, environment: AttestEnvironment, transaction: UUID, now: Int64) {
      guard DeviceCheck.isToken(token) else { return nil }
      self.token = token
      self.environment = environment
      self.transaction = transaction
      self.now = now
    }
  }

  /// Whether a text has the form of a token, which is sent on without a look inside.
  package static func isToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= maximumTokenLength
      && text.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F, 0x3D: true
        default: false
        }
      }
  }

  /// Asks for the bits: for ``DeviceCheckAnswer/bits(status:body:)``.
  package func query(_ subject: Subject, token: AppleServiceToken) -> HTTPRequest {
    request("/v1/query_two_bits", subject, token, [])
  }

  /// Sets the bits: both, since what an absent one does is not documented. Apple has no compare-and-set.
  package func update(
    _ subject: Subject, bit0: Bool, bit1: Bool, token: AppleServiceToken
  ) -> HTTPRequest {
    request("/v1/update_two_bits", subject, token, [("bit0", .bool(bit0)), ("bit1", .bool(bit1))])
  }

  /// Asks whether the token is one, and nothing else.
  package func validate(_ subject: Subject, token: AppleServiceToken) -> HTTPRequest {
    request("/v1/validate_device_token", subject, token, [])
  }

  private func request(
    _ path: String, _ subject: Subject, _ token: AppleServiceToken, _ bits: [(String, JSONValue)]
  ) -> HTTPRequest {
    let members: [(String, JSONValue)] = [
      ("device_token", .string(subject.token)), ("transaction_id", .string(subject.transaction.description)),
      ("timestamp", .integer(subject.now)),
    ]
    return services.deviceCheck(subject.environment).post(
      path, HTTPBody(JSONValue.object(members + bits).bytes), authorization: "Bearer \(token.value)",
      type: "application/json")
  }
}
