/// The targets of accounts, as Supabase Auth has them; what it does not have says so.
public enum AccountTargets {
  /// Before all of them.
  public static let prefix = "/auth/v1"
  /// `POST`: an account without an identity.
  public static let signUp = prefix + "/signup"
  /// `POST`: tokens for what `?grant_type=` names.
  public static let token = prefix + "/token"
  /// `GET`, `PUT` and `DELETE`: the bearer's user.
  public static let user = prefix + "/user"
  /// `GET`: everything that is held about the bearer's user. Bramley's own.
  public static let export = prefix + "/user/export"
  /// `GET`: how far a deletion is. Bramley's own.
  public static let deletion = prefix + "/deletions/{id}"
  /// `POST`: ends sessions; `?scope=`.
  public static let logout = prefix + "/logout"
  /// `DELETE`: unlinks an identity of the bearer's user.
  public static let identity = prefix + "/user/identities/{id}"
  /// `GET`: begins to link an identity in a browser.
  public static let identityAuthorize = prefix + "/user/identities/authorize"
  /// `GET`: begins to sign in in a browser.
  public static let authorize = prefix + "/authorize"
  /// `GET` and `POST`: where Apple sends the browser back to.
  public static let callback = prefix + "/callback"
  /// `POST`: a challenge to use as the nonce of Sign in with Apple. Bramley's own.
  public static let appleChallenge = prefix + "/apple/challenge"
  /// `POST`: goes over to the account that an identity belongs to. Bramley's own.
  public static let switchAccount = prefix + "/switch"
  /// `POST`: says what becomes of the anonymous user that a switch left behind. Bramley's own.
  public static let leaving = prefix + "/switch/leaving"
  /// `POST`, by Apple: what became of a user's consent.
  public static let appleNotifications = "/apple/notifications"
  /// `GET`: the server lives.
  public static let health = prefix + "/health"
  /// `GET`: what is open.
  public static let settings = prefix + "/settings"
  /// `GET`: the keys of access tokens.
  public static let keys = prefix + "/.well-known/jwks.json"
  /// `GET`: OpenID Connect Discovery.
  public static let discovery = prefix + "/.well-known/openid-configuration"
  /// `GET` and `POST`, for operators: users.
  public static let adminUsers = prefix + "/admin/users"
  /// `GET`, `PUT` and `DELETE`, for operators: a user.
  public static let adminUser = prefix + "/admin/users/{id}"
}
