import Cryptography
import Encodings

/// Where the value comes from whose image the token's nonce must be.
package enum NonceRule: Sendable, Equatable {
  /// A challenge that this server made, as the client was given it.
  case challenge(String)
  /// A value that the client chose itself: taken for native audiences alone (RULES §2.1).
  case clientNonce(String)
  /// The request brought no value: always refused, and named for what it is.
  case absent
  /// Not looked at. For tests on real tokens, which have none: unreachable outside of this target.
  case unchecked(Unchecked)

  /// Nobody outside of this target can make one.
  package struct Unchecked: Sendable, Equatable {
    init() {}
  }

  /// The one value that the claim must be, for an audience of that kind: the system's sheet is handed the hash,
  /// Apple's page the value itself. Never either of both: whoever steals a token could give its claim for the
  /// value.
  static func expected(of value: String, kind: AppleClient.Kind) -> String {
    switch kind {
    case .native: Hex.encode(SHA256.hash(value))
    case .web: value
    }
  }

  /// Throws unless `claim` is what this rule demands for that kind of audience.
  func check(_ claim: String?, kind: AppleClient.Kind) throws(AppleTokenError) {
    let value: String
    switch self {
    case .unchecked: return
    case .absent: throw .nonce(claim == nil ? .notUsed : .notSent)
    case .clientNonce(let own):
      guard kind == .native else { throw .nonce(.clientNonceForWeb) }
      value = own
    case .challenge(let ours): value = ours
    }
    guard let claim else { throw .nonce(.missing) }
    guard (1...NonceMistake.maximumLength).contains(value.utf8.count) else { throw .nonce(.unusableValue) }
    if ConstantTime.equal(Array(claim.utf8), Array(Self.expected(of: value, kind: kind).utf8)) { return }
    throw .nonce(NonceMistake(claim: claim, value: value, kind: kind))
  }
}

/// What a wrong nonce looks like, so that an app's developer is told the mistake.
package enum NonceMistake: Error, Equatable, Sendable {
  /// The longest value that is taken, octets.
  static let maximumLength = 512

  /// Neither the request nor the token has one.
  case notUsed
  /// The token has one, the request did not bring the value that it is made of.
  case notSent
  /// The token has none.
  case missing
  /// The value is empty or longer than 512 octets.
  case unusableValue
  /// A web client must use a challenge of this server.
  case clientNonceForWeb
  /// Native: the value itself was handed to Apple.
  case rawInsteadOfHash
  /// Native: the hash was sent to this server as if it were the value.
  case hashInsteadOfValue
  /// Native: the hash was handed to Apple in base64.
  case base64InsteadOfHex
  /// Native: the hash was handed to Apple in capital letters.
  case uppercaseHex
  /// Native: it was hashed twice.
  case hashedTwice
  /// Web: the hash was handed to Apple.
  case hashInsteadOfRaw
  /// Of another value.
  case unknown

  init(claim: String, value: String, kind: AppleClient.Kind) {
    let digest = SHA256.hash(value)
    let hex = Hex.encode(digest)
    switch kind {
    case .native:
      let spelled = Base64.decode(claim)
      if same(claim, value) {
        self = value.utf8.count == 64 && Hex.decode(value) != nil ? .hashInsteadOfValue : .rawInsteadOfHash
      } else if spelled == digest {
        self = .base64InsteadOfHex
      } else if same(claim, hex.uppercased()) {
        self = .uppercaseHex
      } else if same(claim, Hex.encode(SHA256.hash(hex))) {
        self = .hashedTwice
      } else {
        self = .unknown
      }
    case .web: self = same(claim, hex) ? .hashInsteadOfRaw : .unknown
    }
  }
}

extension NonceMistake: CustomStringConvertible {
  /// What to do about it.
  package var description: String {
    switch self {
    case .notUsed:
      "none was used; hand the lowercase hex SHA-256 of a fresh value to Apple, and send the value here"
    case .notSent: "the token has one, but the request did not bring the value that it was made of"
    case .missing: "the token has none; set request.nonce before performing the request"
    case .unusableValue: "the value is empty or longer than \(Self.maximumLength) octets"
    case .clientNonceForWeb: "a web client must use a challenge of this server, not a nonce of its own"
    case .rawInsteadOfHash:
      "the value itself was handed to Apple; hand over its SHA-256 in lowercase hex, and send the value here"
    case .hashInsteadOfValue:
      "the hash was sent here; send the value that it was made of (the hash goes to Apple alone)"
    case .base64InsteadOfHex: "the SHA-256 was handed to Apple in base64; hand it over in lowercase hex"
    case .uppercaseHex: "the SHA-256 was handed to Apple in capital letters; hand it over in lowercase hex"
    case .hashedTwice:
      "it was hashed twice; hand over the SHA-256 of the value, once (some libraries hash themselves)"
    case .hashInsteadOfRaw: "the hash was handed to Apple; a web client hands over the value itself"
    case .unknown: "it was made of another value than the request brought"
    }
  }
}
