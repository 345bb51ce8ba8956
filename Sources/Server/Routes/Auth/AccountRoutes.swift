import BramleyAPI

/// The routes of accounts.
struct AccountRoutes: Sendable {
  let service: AccountService

  /// The templates that log and metrics name.
  static let paths: [String] =
    [
      AccountTargets.signUp, AccountTargets.token, AccountTargets.user, AccountTargets.logout,
      AccountTargets.identity, AccountTargets.health, AccountTargets.settings, AccountTargets.keys,
      AccountTargets.discovery, AccountTargets.appleChallenge, AccountTargets.switchAccount,
      AccountTargets.authorize, AccountTargets.identityAuthorize, AccountTargets.callback,
      AccountTargets.adminUsers, AccountTargets.adminUser, AccountTargets.appleNotifications,
      AccountTargets.deletion, AccountTargets.export, AccountTargets.leaving,
    ] + DisabledRoute.all.map(\.path)

  var all: [any Endpoint] {
    let auth = service.auth
    let second: Int64 = 1_000_000_000
    let operators = OperatorCheck(keys: service.ports.adminKeys)
    // Of sign-ins with Apple, each of which is a row.
    let beginnings = AddressLimiter(
      requests: service.environment.configuration.attest.challengesPerMinute, per: 60 * second,
      siteFactor: service.environment.configuration.ipv6SiteFactor)
    return [
      SignUpRoute(
        service: service,
        limiter: AddressLimiter(
          requests: auth.anonymousPerHour, per: 3_600 * second,
          siteFactor: service.environment.configuration.ipv6SiteFactor)),
      GrantRoute(
        service: service,
        refresh: RefreshGrant(
          service: service,
          limiter: AddressLimiter(
            requests: auth.refreshesPerMinute, per: 60 * second, siteFactor: 1)),
        identityToken: IdentityTokenGrant(service: service), code: CodeGrant(service: service)),
      AppleChallengeRoute(service: service, limiter: beginnings),
      AuthorizeRoute(service: service, limiter: beginnings), IdentityAuthorizeRoute(service: service),
      CallbackRoute(service: service), CallbackPostRoute(service: service), SwitchRoute(service: service),
      LeavingRoute(service: service),
      UserRoute(service: service), UserChangeRoute(service: service),
      AccountDeletionRoute(service: service), ExportRoute(service: service),
      DeletionRoute(
        service: service,
        limiter: AddressLimiter(
          requests: 120, per: 60 * second,
          siteFactor: service.environment.configuration.ipv6SiteFactor)),
      LogoutRoute(service: service),
      IdentityRoute(service: service), AccountHealthRoute(), SettingsRoute(auth: auth),
      KeySetRoute(keys: service.keys), DiscoveryRoute(configuration: service.environment.configuration),
      UserListRoute(service: service, operators: operators),
      UserCreateRoute(service: service, operators: operators),
      UserShowRoute(service: service, operators: operators),
      UserUpdateRoute(service: service, operators: operators),
      UserDeleteRoute(service: service, operators: operators),
    ] + DisabledRoute.all
      + (service.notifications.map { [AppleNotificationRoute(notifications: $0)] } ?? [])
  }
}
