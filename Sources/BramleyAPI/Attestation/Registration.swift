public import Encodings

/// The body of `POST /attest/v1/keys`.
public struct Registration: Sendable, Equatable {
  /// The key id: SHA-256 of the public key, 32 octets.
  public var keyID: [UInt8]
  /// The attestation object.
  public var attestation: [UInt8]
  /// The challenge as it was issued.
  public var challenge: String
  /// A fresh token of DeviceCheck, base64, for servers that ask about devices; nil where the app sends none, which no
  /// server minds.
  public var deviceToken: String?

  /// A registration.
  public init(keyID: [UInt8], attestation: [UInt8], challenge: String, deviceToken: String? = nil) {
    self.keyID = keyID
    self.attestation = attestation
    self.challenge = challenge
    self.deviceToken = deviceToken
  }

  /// Reads a body, base64 in any spelling; nil when it is no such request.
  public init?(body: [UInt8]) {
    guard let node = try? JSONReader.read(body), let keyID = node["key_id"]?.string.flatMap(Base64.decode),
      let attestation = node["attestation"]?.string.flatMap(Base64.decode),
      let challenge = node["challenge"]?.string
    else { return nil }
    self.init(
      keyID: keyID, attestation: attestation, challenge: challenge,
      deviceToken: node["device_token"]?.string)
  }

  /// The body.
  public var json: JSONValue {
    var members: [(String, JSONValue)] = [
      ("key_id", .string(Base64.encode(keyID))), ("attestation", .string(Base64.encode(attestation))),
      ("challenge", .string(challenge)),
    ]
    if let deviceToken { members.append(("device_token", .string(deviceToken))) }
    return .object(members)
  }
}

/// The answer of `POST /attest/v1/keys`: 201 when the key is new, 200 when it was there under the same facts.
public struct RegistrationAnswer: Sendable, Equatable {
  /// The key id, 32 octets.
  public var keyID: [UInt8]

  /// An answer.
  public init(keyID: [UInt8]) { self.keyID = keyID }

  /// Reads a body; nil when it is no such answer.
  public init?(body: [UInt8]) {
    guard let keyID = (try? JSONReader.read(body))?["key_id"]?.string.flatMap(Base64.decode) else {
      return nil
    }
    self.init(keyID: keyID)
  }

  /// The body.
  public var json: JSONValue { ["key_id": .string(Base64.encode(keyID))] }
}
