/// A client id that a developer registered with the simulated Apple.
public struct SimulatedAppleClient: Sendable, Equatable {
  /// What it was registered as.
  public enum Kind: String, Sendable {
    /// An App ID: the system's sheet.
    case native
    /// A Services ID: Apple's page in a browser.
    case web
  }

  /// The bundle id or Services ID.
  public var clientID: String
  /// What it was registered as.
  public var kind: Kind
  /// The team it belongs to. Users have one subject, and give one consent, for all clients of a team.
  public var teamID: String
  /// Where a web client may be answered to, exactly.
  public var redirectURIs: [String]

  /// A client.
  public init(clientID: String, kind: Kind, teamID: String, redirectURIs: [String] = []) {
    self.clientID = clientID
    self.kind = kind
    self.teamID = teamID
    self.redirectURIs = redirectURIs
  }
}

/// A person with an Apple account that does not exist.
public struct SimulatedAccount: Sendable, Equatable {
  /// What it signs in with at the simulated Apple, and its name everywhere here.
  public var email: String
  /// Given to the app at the first consent alone.
  public var firstName: String
  /// Given to the app at the first consent alone.
  public var lastName: String
  /// `real_user_status` of its first sign-up on a device: 0 unsupported, 1 unknown, 2 likely real; nil leaves it
  /// out.
  public var realUserStatus: Int?

  /// An account.
  public init(email: String, firstName: String, lastName: String, realUserStatus: Int? = 2) {
    self.email = email
    self.firstName = firstName
    self.lastName = lastName
    self.realUserStatus = realUserStatus
  }

  /// Some that are there from the beginning.
  public static let samples = [
    SimulatedAccount(email: "ada@example.com", firstName: "Ada", lastName: "Lovelace"),
    SimulatedAccount(email: "grace@example.com", firstName: "Grace", lastName: "Hopper"),
    SimulatedAccount(email: "alan@example.com", firstName: "Alan", lastName: "Turing"),
  ]
}

/// What the system's sheet hands to the app, or Apple's page to the server.
public struct SimulatedAuthorization: Sendable, Equatable {
  /// The identity token.
  public var identityToken: String
  /// Exchanged once, within five minutes, by the same client.
  public var authorizationCode: String
  /// `credential.user`: the subject.
  public var subject: String
  /// Name and e-mail, at the first consent alone and again at the first after a revocation.
  public var user: User?

  /// What the app is told of the person, unsigned.
  public struct User: Sendable, Equatable {
    /// nil where the name was not asked for.
    public var firstName: String?
    /// nil where the name was not asked for.
    public var lastName: String?
    /// nil where the e-mail was not asked for.
    public var email: String?

    /// What the app is told.
    public init(firstName: String? = nil, lastName: String? = nil, email: String? = nil) {
      self.firstName = firstName
      self.lastName = lastName
      self.email = email
    }
  }
}

/// What an app asks for.
public enum SimulatedScope: String, Sendable, CaseIterable {
  /// `fullName`, `name`
  case name
  /// `email`
  case email
}
