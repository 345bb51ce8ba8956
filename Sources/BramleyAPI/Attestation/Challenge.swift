public import Encodings

/// What a challenge is issued for; it holds for nothing else.
public enum ChallengePurpose: String, Sendable, CaseIterable {
  /// Registering a key.
  case registration
  /// An attested request.
  case request
  /// The exchange of an assertion for a session token.
  case token
}

/// An issued challenge.
public struct IssuedChallenge: Sendable, Equatable {
  /// The text as it was issued, sent back as it came.
  public var text: String
  /// When it stops to hold, seconds since 1970 by the server's clock.
  public var expiresAt: Int64

  /// A challenge.
  public init(text: String, expiresAt: Int64) {
    self.text = text
    self.expiresAt = expiresAt
  }

  /// The octets that are signed; nil when the text is no base64.
  public var bytes: [UInt8]? { Base64.decode(text) }
}

/// The answer of `GET /attest/v1/challenge`.
public struct ChallengeAnswer: Sendable, Equatable {
  /// At most 16.
  public var challenges: [IssuedChallenge]

  /// An answer.
  public init(challenges: [IssuedChallenge]) { self.challenges = challenges }

  /// Reads a body; nil when it is no such answer.
  public init?(body: [UInt8]) {
    guard let elements = (try? JSONReader.read(body))?["challenges"]?.elements else { return nil }
    challenges = []
    for element in elements {
      guard let text = element["challenge"]?.string, let expiresAt = element["expires_at"]?.integer else {
        return nil
      }
      challenges.append(IssuedChallenge(text: text, expiresAt: expiresAt))
    }
  }

  /// The body.
  public var json: JSONValue {
    let challenges = challenges.map { challenge -> JSONValue in
      ["challenge": .string(challenge.text), "expires_at": .integer(challenge.expiresAt)]
    }
    return ["challenges": .array(challenges)]
  }
}
