import Cryptography
import Encodings
import HTTPMessages
import SignInWithApple

// What a stranger can send in place of Apple's tokens and forms.

/// A token that comes apart was spelled in the one way there is, and nobody else's key verifies it.
func fuzzJWS(_ bytes: [UInt8]) {
  let text = String(decoding: bytes, as: UTF8.self)
  guard let token = try? JWS.Compact(parsing: text) else { return }
  let again =
    String(decoding: token.signingInput, as: UTF8.self) + "." + Base64.encodeURL(token.signature)
  precondition(again == text, "a token has two spellings")
  _ = try? token.claims
  precondition((try? ES256.verify(token, keys: [token.header.kid ?? "": elliptic])) == nil, "forged")
  precondition((try? RS256.verify(token, keys: [token.header.kid ?? "": apple.publicKey])) == nil, "forged")
}

func fuzzIdentityToken(_ bytes: [UInt8]) {
  guard let token = try? AppleToken(parsing: String(decoding: bytes, as: UTF8.self)) else { return }
  let identity = try? IdentityTokenVerifier(clients: clients).verify(
    token, key: apple.publicKey, nonce: .challenge("raw"), now: now)
  precondition(identity == nil, "a forged identity token is taken")
  let notification = try? NotificationVerifier(clients: clients).verify(token, key: apple.publicKey, now: now)
  precondition(notification == nil, "a forged notification is taken")
}

/// Claims that Apple would have signed, whatever they are.
func fuzzAppleClaims(_ bytes: [UInt8]) {
  let text = try? JWS.compact(header: ["kid": "a", "alg": "RS256"], payload: bytes) {
    try apple.signature(for: $0)
  }
  guard let text, let token = try? AppleToken(parsing: text) else { return }
  let identity = try? IdentityTokenVerifier(clients: clients).verify(
    token, key: apple.publicKey, nonce: .challenge("raw"), now: now)
  let notification = try? NotificationVerifier(clients: clients).verify(token, key: apple.publicKey, now: now)
  precondition(identity == nil || notification == nil, "a token is of both kinds")
  if let identity {
    precondition(clients.contains { $0.clientID == identity.clientID }, "another's audience")
    precondition(identity.nonce == (identity.kind == .web ? "raw" : hashOfRaw), "another nonce")
    precondition(now - identity.issuedAt <= 600 && identity.expiresAt > now - 60, "an old token")
    precondition(!identity.subject.isEmpty && identity.subject.utf8.count <= 255, "an odd subject")
  }
  if let notification {
    precondition(!notification.events.isEmpty && !notification.id.isEmpty, "a notification of nothing")
  }
}

/// A form through the browser, and a key out of a variable.
func fuzzAppleForm(_ bytes: [UInt8]) {
  if case .granted(let grant)? = AuthorizationAnswer(form: bytes), let name = grant.fullName {
    for part in [name.given, name.family].compactMap(\.self) {
      precondition(!part.isEmpty && part.count <= AppleFullName.maximumLength, "an odd name")
      precondition(!part.unicodeScalars.contains { $0.value < 0x20 || $0 == "<" }, "an unfit name")
    }
  }
  _ = try? ApplePrivateKey.read(String(decoding: bytes, as: UTF8.self))
  _ = AppleNotificationBody.payload(bytes)
  _ = try? AppleAnswer.tokens(status: 200, fields: [:], body: bytes)
  _ = try? JWKSet(parsing: bytes)
}

private let now: Int64 = 1_800_000_000
private let clients = [
  AppleClient(clientID: "com.example.app", kind: .native, teamID: "TEAM123456"),
  AppleClient(clientID: "com.example.web", kind: .web, teamID: "TEAM123456"),
]
private let hashOfRaw = Hex.encode(SHA256.hash("raw"))

private let apple: RSA.PrivateKey = {
  guard let key = try? RSA.PrivateKey() else { fatalError("no key") }
  return key
}()

private let elliptic: P256.PublicKey = {
  guard let key = try? P256.PrivateKey().publicKey else { fatalError("no key") }
  return key
}()
