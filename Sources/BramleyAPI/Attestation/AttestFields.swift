/// The names of the header fields that carry evidence.
public enum AttestFields {
  /// The key id, base64 in any spelling.
  public static let keyID = "x-attest-key-id"
  /// The assertion object, base64 in any spelling.
  public static let assertion = "x-attest-assertion"
  /// The challenge that the assertion signs, as it was issued.
  public static let challenge = "x-attest-challenge"
  /// On every answer to an attested request: a challenge for the next one.
  public static let nextChallenge = "x-attest-next-challenge"
  /// A session token, on routes whose policy takes one.
  public static let session = "x-attest-session"
}

/// The targets of the attestation API.
public enum AttestTargets {
  /// `GET`: challenges; `?count=` 1 to 16, `&purpose=`.
  public static let challenge = "/attest/v1/challenge"
  /// `POST`: registers a key.
  public static let keys = "/attest/v1/keys"
  /// `POST`: exchanges an assertion for a session token.
  public static let token = "/attest/v1/token"
  /// `GET`: what is left of the device's quotas.
  public static let quota = "/attest/v1/quota"
  /// `GET`: how the request arrived, for `bramley doctor`.
  public static let probe = "/attest/v1/probe"
}
