package import Cryptography
import Encodings

/// A token that is said to be Apple's, an identity token or a notification, before anyone believes it: taken
/// apart, and of the one form that Apple signs in. Which key is to verify it, it may say; how, it may not.
package struct AppleToken: Sendable {
  /// The longest that is read, octets; real ones have 1 KB.
  package static let maximumLength = 8_192

  let jws: JWS.Compact
  /// Names the key that it is said to be signed with.
  package let kid: String
  /// SHA-256 of the compact serialization: what is kept to make a token single-use (RULES §2.1). There is one
  /// spelling of a token only: base64url is read strictly, and RSA signatures have one form.
  package let hash: [UInt8]

  /// Takes a token apart. Throws before any key is looked up for what no key of Apple's could have signed.
  package init(parsing text: String) throws(AppleTokenError) {
    do throws(JOSEError) {
      jws = try JWS.Compact(parsing: text, maximumLength: Self.maximumLength)
    } catch {
      throw .malformed(error)
    }
    guard jws.header.algorithm == RS256.algorithm else {
      throw .algorithm(received: jws.header.algorithm)
    }
    guard let kid = jws.header.kid, !kid.isEmpty else { throw .noKeyID }
    self.kid = kid
    hash = SHA256.hash(text)
  }

  /// The claims, once the signature holds.
  func claims(key: RSA.PublicKey) throws(AppleTokenError) -> Claims {
    do throws(JOSEError) {
      try RS256.verify(jws, key: key)
      return Claims(node: try jws.claims)
    } catch {
      throw error == .signature ? .signature : .malformed(error)
    }
  }
}

/// Why a token is not one that Apple made for one of our clients, for now.
package enum AppleTokenError: Error, Equatable, Sendable {
  /// No token at all.
  case malformed(JOSEError)
  /// Not RS256.
  case algorithm(received: String)
  /// The header names no key.
  case noKeyID
  /// Apple publishes no key of that name.
  case unknownKey(kid: String)
  /// The signature does not hold under the key that the header names.
  case signature
  /// A claim is missing, or of another type or size than Apple gives it.
  case claim(String)
  /// A notification where an identity token is wanted (RULES §2.1).
  case isNotification
  /// An identity token where a notification is wanted (RULES §2.1).
  case isIdentityToken
  /// Another issuer.
  case issuer(received: String, accepted: [String])
  /// For a client that is not configured.
  case audience(received: [String], configured: [String])
  /// Its time is over; seconds since 1970.
  case expired(at: Int64, now: Int64)
  /// Issued after now; seconds since 1970.
  case fromTheFuture(issuedAt: Int64, now: Int64)
  /// Issued too long ago to be a sign-in now (RULES §2.1).
  case tooOld(age: Int64, limit: Int64)
  /// The nonce is not what it must be.
  case nonce(NonceMistake)
  /// The authorization code is not the one that was issued with the token (RULES §2.2).
  case codeHash
  /// The token of the exchange is about something else than the first one (RULES §2.2).
  case exchangeMismatch(claim: String)
}

extension AppleTokenError: CustomStringConvertible {
  /// One line for a log or a developer: what was received, and what is configured. Holds no token, no nonce.
  package var description: String {
    switch self {
    case .malformed(let error): "no token of Apple's form: \(error)"
    case .algorithm(let received): "signed with \(shown(received)); Apple signs with \"RS256\""
    case .noKeyID: "its header names no key (kid)"
    case .unknownKey(let kid): "Apple publishes no key named \(shown(kid))"
    case .signature: "the signature does not hold under the key that the header names"
    case .claim(let name): "the claim \"\(name)\" is missing or of another type than Apple gives it"
    case .isNotification: "a server-to-server notification, where an identity token is wanted"
    case .isIdentityToken: "an identity token, where a server-to-server notification is wanted"
    case .issuer(let received, let accepted):
      "issued by \(shown(received)); accepted: \(shown(accepted))"
    case .audience(let received, let configured):
      "made for the client \(shown(received)); configured: \(shown(configured))"
    case .expired(let expiry, let now): "expired \(now.subtracting(expiry)) s ago"
    case .fromTheFuture(let issuedAt, let now):
      "issued \(issuedAt.subtracting(now)) s in the future; compare the server's clock"
    case .tooOld(let age, let limit): "issued \(age) s ago; at most \(limit) s are accepted"
    case .nonce(let mistake): "nonce: \(mistake)"
    case .codeHash: "the authorization code is not the one that was issued with this token (c_hash)"
    case .exchangeMismatch(let claim):
      "the token of the code exchange has another \"\(claim)\" than the identity token"
    }
  }
}

extension Int64 {
  /// The difference, at the limits of the type where it is beyond them.
  func subtracting(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (self < other ? .min : .max) : difference
  }
}
