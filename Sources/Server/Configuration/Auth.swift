package import Accounts
package import SignInWithApple

extension Configuration {
  /// `auth`: accounts.
  package struct Auth: Sendable, Equatable {
    /// Where a browser is sent that has nowhere else to go; nil for the first audience.
    package var siteURL: String?
    /// Where a browser may be sent with a code (RULES §3.1).
    package var redirects = RedirectList()
    /// Whether somebody may have an account without an identity.
    package var anonymous = true
    /// Days after which an anonymous user is removed whose session was not refreshed; nil for never (RULES §3.10).
    package var anonymousIdleDays: Int64?
    /// Whether anybody new is let in.
    package var signUps = true
    /// Whether users may link and unlink identities.
    package var manualLinking = true
    /// How long an access token lives, seconds.
    package var accessTokenLifetime: Int64 = 3_600
    /// `iss` of access tokens; nil for the first audience and `/auth/v1`.
    package var issuer: String?
    /// From the opening of a session on, seconds; nil without end.
    package var sessionLifetime: Int64?
    /// Since the last refresh, seconds; nil without end.
    package var sessionInactivity: Int64?
    /// RULES §3.5.
    package var bindRefresh = RefreshBinding.prefer
    /// RULES §3.11: whether an address that Apple verified finds the one user who has it.
    package var emailMatching = false
    /// How old a sign-in may be for what is sensitive, seconds (RULES §3.2).
    package var stepUpMaximumAge: Int64 = 300
    /// When Apple is told of a deletion (RULES §4.1).
    package var deletionPolicy = Deletion.Policy.required
    /// Further routes that demand a recent sign-in.
    package var stepUpRoutes: [StepUpRoute] = []
    /// What keeps the keys and tokens in the database sealed; the first seals, all open.
    package var sealingKeys: [SealingKey] = []
    /// `apple`; nil without Sign in with Apple.
    package var apple: Apple?
    /// Anonymous sign-ups an address may make an hour; wide, since many phones share a carrier's address.
    package var anonymousPerHour: Int64 = 300
    /// Refreshes of a session that an address may ask for a minute.
    package var refreshesPerMinute: Int64 = 60

    package init() {}
  }
}

extension Configuration.Auth {
  /// A route that demands a recent sign-in.
  package struct StepUpRoute: Sendable, Equatable {
    /// The template of its path.
    package var route: String
    /// Seconds.
    package var maximumAge: Int64

    package init(route: String, maximumAge: Int64) {
      self.route = route
      self.maximumAge = maximumAge
    }
  }

  /// A key that seals what is kept in the database.
  package struct SealingKey: Sendable, Equatable {
    /// Stands beside what it sealed.
    package var name: String
    /// 32 octets, in base64 or hexadecimal digits.
    package var key: Secret

    package init(name: String, key: Secret) {
      self.name = name
      self.key = key
    }
  }

  /// Sign in with Apple.
  package struct Apple: Sendable, Equatable {
    package var teamID: String
    /// Where Apple is: nil for Apple itself, else a simulated one on this machine, in development alone.
    package var baseURL: String?
    /// The key of Sign in with Apple; nil where codes are not exchanged and nothing is revoked.
    package var keyID: String?
    /// Its `.p8`.
    package var privateKey: Secret?
    /// For whom identity tokens may be made.
    package var clients: [AppleClient]
    /// Apple named the second one in June 2025, for a day.
    package var issuers = ["https://appleid.apple.com", "https://account.apple.com"]
    /// Whether a nonce that the client made itself is refused (RULES §2.1).
    package var requireChallenge = false
    /// Apple Accounts that a user may link (RULES §3.2).
    package var identitiesPerUser = 1
    /// What Apple's word of a withdrawn consent does.
    package var onConsentRevoked = AppleEventPolicy.ConsentWithdrawal.revoke
    /// What Apple's word of a deleted Apple account does.
    package var onAccountDeleted = AppleEventPolicy.AccountDeletion.delete

    package init(teamID: String, clients: [AppleClient]) {
      self.teamID = teamID
      self.clients = clients
    }

    /// Where Apple is.
    package var service: AppleIDService {
      guard let base = baseURL.flatMap({ BaseURL($0) }) else { return .apple }
      return AppleIDService(scheme: base.scheme, authority: base.authority, pathPrefix: base.path)
    }

    /// The first one for browsers.
    package var webClient: AppleClient? { clients.first { $0.kind == .web } }
  }
}

extension Configuration {
  /// `auth.issuer`, or what stands for it.
  package var accountsIssuer: String { auth?.issuer ?? accountsURL }

  /// Where the accounts' routes are, as clients see them.
  package var accountsURL: String { (attest.audiences.first ?? "http://\(listen)") + "/auth/v1" }
}
