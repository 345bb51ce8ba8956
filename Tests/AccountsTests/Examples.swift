import Accounts
import Encodings

/// Values of which tests change what they are about.
enum Example {
  static let now: Int64 = 1_800_000_000_000
  static let key = [UInt8](repeating: 0xAA, count: 32)

  static func id(_ number: Int) -> UUID {
    UUID(random: (0..<16).map { UInt8(truncatingIfNeeded: number >> (($0 % 4) * 8)) }) ?? nobody
  }

  private static let nobody = UUID(octets: [UInt8](repeating: 0, count: 16)).unsafelyUnwrappedForTests

  static func user(_ number: Int = 1, isAnonymous: Bool = true) -> User {
    User(id: id(number), isAnonymous: isAnonymous, createdAt: now - 1_000_000, updatedAt: now - 1_000_000)
  }

  static func session(_ number: Int = 2, of user: Int = 1, counter: Int64 = 5) -> Session {
    Session(
      id: id(number), userID: id(user), createdAt: now - 1_000_000, refreshedAt: now - 500_000,
      counter: counter, authTime: now / 1_000 - 1_000,
      methods: [AuthenticationMethod(method: "anonymous", timestamp: now / 1_000 - 1_000)])
  }

  static func assertion(_ subject: Int = 1, token: UInt8 = 1) -> IdentityAssertion {
    IdentityAssertion(
      teamID: "TEAM000001", subject: "00000\(subject).sub", clientID: "com.example.app",
      issuer: "https://appleid.apple.com", issuedAt: now - 5_000, expiresAt: now + 86_395_000,
      authTime: now - 6_000, email: "\(subject)@example.com", isEmailVerified: true,
      tokenHash: [UInt8](repeating: token, count: 32), requestHash: [UInt8](repeating: token, count: 32))
  }

  static func signIn(_ assertion: IdentityAssertion = assertion()) -> IdentitySignIn {
    IdentitySignIn(
      assertion, user: id(101), identity: id(102), session: id(103), policy: SignInPolicy(), now: now)
  }

  static func identity(_ subject: Int = 1, of user: Int = 1) -> Identity {
    var signIn = signIn(assertion(subject))
    signIn.now -= 1_000_000
    signIn.assertion.issuedAt -= 1_000_000
    signIn.identity = id(200 + subject)
    return Profile.identity(signIn, of: id(user))
  }
}

extension Optional {
  fileprivate var unsafelyUnwrappedForTests: Wrapped {
    guard let self else { preconditionFailure("16 octets make a UUID") }
    return self
  }
}
