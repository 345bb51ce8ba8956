import Encodings

/// The exact bytes whose SHA-256 a device signs: one binding, in one place, for the server and for clients.
///
/// Each kind begins with a tag of its own, so that what was signed for one purpose holds for no other, and
/// its parts are joined by LF, which none of them can contain. docs/attestation.md has test vectors.
public enum SignedBytes {
  /// What `attestKey` hashes at registration.
  public static func registration(audience: String, challenge: [UInt8]) -> [UInt8] {
    join("bramley-attest-v1", [audience, Base64.encodeURL(challenge)])
  }

  /// What an assertion signs on an attested request.
  ///
  /// - Parameters:
  ///   - audience: the base URL that the client was configured with.
  ///   - challenge: the decoded challenge.
  ///   - method: the request method.
  ///   - target: the octets after the audience, as sent.
  ///   - authorizationHash: SHA-256 of the Authorization field's value, or of nothing where there is none.
  ///   - bodyHash: SHA-256 of the content after chunks are decoded.
  public static func request(
    audience: String, challenge: [UInt8], method: String, target: String, authorizationHash: [UInt8],
    bodyHash: [UInt8]
  ) -> [UInt8] {
    join(
      "bramley-assert-v1",
      [
        audience, Base64.encodeURL(challenge), method, target, Base64.encodeURL(authorizationHash),
        Base64.encodeURL(bodyHash),
      ])
  }

  /// What an assertion signs when it buys a session token; the parts are those of a request.
  public static func tokenExchange(
    audience: String, challenge: [UInt8], method: String, target: String, authorizationHash: [UInt8],
    bodyHash: [UInt8]
  ) -> [UInt8] {
    join(
      "bramley-token-v1",
      [
        audience, Base64.encodeURL(challenge), method, target, Base64.encodeURL(authorizationHash),
        Base64.encodeURL(bodyHash),
      ])
  }

  private static func join(_ tag: String, _ parts: [String]) -> [UInt8] {
    Array(([tag] + parts).joined(separator: "\n").utf8)
  }
}
