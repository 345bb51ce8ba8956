/// The codes of the accounts' routes. Those that Supabase Auth has are spelled as it spells them, since clients
/// of it go by them.
extension ErrorCode {
  /// 400: the body is no JSON.
  public static let badJSON: ErrorCode = "bad_json"
  /// 413: the body is longer than 1 MiB.
  public static let requestTooLarge: ErrorCode = "request_entity_too_large"
  /// 400, 404, 422: a parameter or member is missing, or has a value that the route does not take.
  public static let validationFailed: ErrorCode = "validation_failed"
  /// 400: there is no such grant.
  public static let invalidCredentials: ErrorCode = "invalid_credentials"
  /// 401: no access token came.
  public static let noAuthorization: ErrorCode = "no_authorization"
  /// 403: the access token is none of this server's, or its time is over.
  public static let badJWT: ErrorCode = "bad_jwt"
  /// 403: the key is no operator's.
  public static let notAdmin: ErrorCode = "not_admin"
  /// 400, 403: the session is gone. Clients sign out on it.
  public static let sessionNotFound: ErrorCode = "session_not_found"
  /// 400: the session is past its lifetime. Clients sign out on it.
  public static let sessionExpired: ErrorCode = "session_expired"
  /// 400: the refresh token's session is gone. Clients sign out on it.
  public static let refreshTokenNotFound: ErrorCode = "refresh_token_not_found"
  /// 400: the refresh token is older than the one before the current. Clients sign out on it.
  public static let refreshTokenAlreadyUsed: ErrorCode = "refresh_token_already_used"
  /// 400, 403: the user is banned.
  public static let userBanned: ErrorCode = "user_banned"
  /// 403, 404: there is no such user.
  public static let userNotFound: ErrorCode = "user_not_found"
  /// 422: the id that was asked for is taken.
  public static let userAlreadyExists: ErrorCode = "user_already_exists"
  /// 400, 422: another user has the e-mail address.
  public static let emailExists: ErrorCode = "email_exists"
  /// 422: nobody may sign in without an identity.
  public static let anonymousProviderDisabled: ErrorCode = "anonymous_provider_disabled"
  /// 422: nobody new is let in.
  public static let signUpDisabled: ErrorCode = "signup_disabled"
  /// 429: too many from one address.
  public static let overRequestRateLimit: ErrorCode = "over_request_rate_limit"
  /// 400, 422: accounts by e-mail are not part of this server.
  public static let emailProviderDisabled: ErrorCode = "email_provider_disabled"
  /// 400, 422: accounts by telephone are not part of this server.
  public static let phoneProviderDisabled: ErrorCode = "phone_provider_disabled"
  /// 422: one-time passwords are not part of this server.
  public static let otpDisabled: ErrorCode = "otp_disabled"
  /// 422: further factors are not part of this server.
  public static let factorsDisabled: ErrorCode = "mfa_totp_enroll_not_enabled"
  /// 404: SAML is not part of this server.
  public static let samlProviderDisabled: ErrorCode = "saml_provider_disabled"
  /// 422: wallets are not part of this server.
  public static let web3ProviderDisabled: ErrorCode = "web3_provider_disabled"
  /// 400: the identity provider is not configured.
  public static let providerDisabled: ErrorCode = "provider_disabled"
}

/// The codes of identities and of signing in with them.
extension ErrorCode {
  /// 404: users may not link and unlink.
  public static let manualLinkingDisabled: ErrorCode = "manual_linking_disabled"
  /// 422: the user would be locked out.
  public static let singleIdentityNotDeletable: ErrorCode = "single_identity_not_deletable"
  /// 422: the user has no such identity.
  public static let identityNotFound: ErrorCode = "identity_not_found"
  /// 422: the identity is linked already, to this user or another.
  public static let identityAlreadyExists: ErrorCode = "identity_already_exists"
  /// 422: the user has as many identities of the provider as is allowed.
  public static let identityLimitReached: ErrorCode = "identity_limit_reached"
  /// 400: the identity token does not hold.
  public static let identityTokenInvalid: ErrorCode = "identity_token_invalid"
  /// 400: the identity token was made for another app.
  public static let audienceNotAccepted: ErrorCode = "audience_not_accepted"
  /// 400: the identity token's nonce is missing, or is not what was expected.
  public static let nonceMismatch: ErrorCode = "nonce_mismatch"
  /// 400: the identity token was used before.
  public static let identityTokenUsed: ErrorCode = "identity_token_used"
  /// 403: the user withdrew consent after the identity token was made.
  public static let consentRevoked: ErrorCode = "consent_revoked"
  /// 403: the identity is not the user's.
  public static let userMismatch: ErrorCode = "user_mismatch"
  /// 401: the user has to sign in again (RFC 9470); `max_age` says how fresh that must be.
  public static let insufficientUserAuthentication: ErrorCode = "insufficient_user_authentication"
  /// 400: the switch ticket is unknown, used, over, or another session's.
  public static let switchTicketInvalid: ErrorCode = "switch_ticket_invalid"
  /// 422: the session did not come from a switch that left an anonymous user, or nothing can be said of them any more.
  public static let nothingLeftBehind: ErrorCode = "nothing_left_behind"
  /// 503: the account is being deleted.
  public static let deletionInProgress: ErrorCode = "deletion_in_progress"
  /// 422: a table of the app's refuses that the account goes; nothing happened.
  public static let deletionBlocked: ErrorCode = "deletion_blocked"
  /// 404: no deletion of the last 30 days has that name.
  public static let deletionNotFound: ErrorCode = "deletion_not_found"
  /// 403: the authorization code is of an Apple Account that is not linked; nothing happened.
  public static let appleAccountMismatch: ErrorCode = "apple_account_mismatch"
  /// 400: Apple takes the authorization code no more.
  public static let authorizationCodeInvalid: ErrorCode = "authorization_code_invalid"
  /// 503: Apple did not end the consent; nothing happened.
  public static let revocationFailed: ErrorCode = "revocation_failed"
  /// 404: no sign-in in a browser waits under the code.
  public static let flowStateNotFound: ErrorCode = "flow_state_not_found"
  /// 422: the sign-in in a browser took too long.
  public static let flowStateExpired: ErrorCode = "flow_state_expired"
  /// 400: the verifier does not belong to the challenge that the sign-in began with.
  public static let badCodeVerifier: ErrorCode = "bad_code_verifier"
  /// 400: the browser came back with a state that is unknown, used or over.
  public static let badOAuthState: ErrorCode = "bad_oauth_state"
  /// 400: the browser came back with less than Apple sends, or from another browser.
  public static let badOAuthCallback: ErrorCode = "bad_oauth_callback"
  /// 400, 401: what came as Apple's notification is none, or is about another client.
  public static let notificationInvalid: ErrorCode = "notification_invalid"
  /// 400 to 499, as the hook says: a hook of the operator's refuses the user, or the session.
  public static let hookRefused: ErrorCode = "hook_refused"
  /// 503: a hook of the operator's gave no answer that can be used.
  public static let hookFailed: ErrorCode = "hook_failed"
  /// 503: a hook of the operator's took too long.
  public static let hookTimeout: ErrorCode = "hook_timeout"

  /// The codes of the accounts' routes.
  static let knownOfAccounts: [ErrorCode] = [
    .badJSON, .requestTooLarge, .validationFailed, .invalidCredentials, .noAuthorization, .badJWT, .notAdmin,
    .sessionNotFound, .sessionExpired, .refreshTokenNotFound, .refreshTokenAlreadyUsed, .userBanned,
    .userNotFound, .userAlreadyExists, .emailExists, .anonymousProviderDisabled, .signUpDisabled,
    .overRequestRateLimit, .emailProviderDisabled, .phoneProviderDisabled, .otpDisabled, .factorsDisabled,
    .samlProviderDisabled, .web3ProviderDisabled, .providerDisabled, .manualLinkingDisabled,
    .singleIdentityNotDeletable, .identityNotFound, .identityAlreadyExists, .identityLimitReached,
    .identityTokenInvalid, .audienceNotAccepted, .nonceMismatch, .identityTokenUsed, .consentRevoked,
    .userMismatch, .insufficientUserAuthentication, .switchTicketInvalid, .nothingLeftBehind,
    .deletionInProgress,
    .deletionBlocked, .deletionNotFound, .appleAccountMismatch, .authorizationCodeInvalid, .revocationFailed,
    .flowStateNotFound, .flowStateExpired, .badCodeVerifier, .badOAuthState, .badOAuthCallback,
    .notificationInvalid, .hookRefused, .hookFailed, .hookTimeout,
  ]
}
