import HTTPMessages

/// How the simulated Apple ID does what Apple has done differently over the years, or may do.
public struct AppleIDBehaviour: Sendable, Equatable {
  /// How `events` of a notification are spelled.
  public enum Events: String, Sendable, CaseIterable {
    /// A JSON text, as all real ones are.
    case text
    /// An object, as Apple's documentation shows.
    case object
    /// A list of objects.
    case list
  }

  /// How long identity tokens hold, seconds: 600 until 2020, 86,400 since.
  public var tokenLife: Int64 = 86_400
  /// `email_verified` and `is_private_email` as `"true"`, as until 2023 at least.
  public var truthsAsText = false
  /// `iss` of what is signed.
  public var issuer = "https://appleid.apple.com"
  /// `issuer` of the discovery document. In June 2025 it said `https://account.apple.com` for a day, while tokens
  /// did not.
  public var discoveryIssuer = "https://appleid.apple.com"
  /// How notifications spell their events.
  public var events = Events.text
  /// `event_time` in seconds, as Apple's documentation shows; all real ones are in milliseconds.
  public var eventTimesInSeconds = false
  /// `account-delete` as until 2025, else `account-deleted`.
  public var oldDeletionSpelling = false
  /// A second validation of a refresh token within a day answers 429.
  public var throttlesValidation = false
  /// Waits before every answer.
  public var delay: Duration = .zero

  /// Apple as it is today.
  public init() {}
}

/// The simulated Apple's doors.
public enum AppleIDEndpoint: String, Sendable, CaseIterable {
  /// `GET /auth/keys`
  case keys
  /// `GET` and `POST /auth/authorize`
  case authorize
  /// `POST /auth/token`
  case token
  /// `POST /auth/revoke`
  case revoke
  /// `POST /auth/usermigrationinfo`
  case transfer
}

/// What can go wrong on purpose.
public enum AppleIDFailure: Sendable, Equatable {
  /// That status with nothing that says anything.
  case status(Int)
  /// That status with an HTML page, as from a proxy on the way.
  case page(Int)
  /// That OAuth error, with status 400.
  case error(String)
  /// No connection: nothing arrives.
  case unreachable
  /// The request is done, and its answer is lost on the way.
  case lostAnswer
  /// No answer for so long, and then none at all.
  case silence(Duration)

  /// The answer; nil for what is none.
  var response: HTTPResponse? {
    switch self {
    case .status(let status): HTTPResponse(status: status)
    case .page(let status):
      HTTPResponse(
        status: status, fields: ["content-type": "text/html"],
        body: HTTPBody("<html><body><h1>\(status)</h1></body></html>"))
    case .error(let error): AppleIDRefusal(error).response
    case .unreachable, .lostAnswer, .silence: nil
    }
  }
}
