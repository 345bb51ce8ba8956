import BramleyAPI

/// The routes of the operator's listener that a key opens (RULES §6.1).
struct AdminRoutes: Sendable {
  /// The templates that log and metrics name.
  static let paths = [AdminTargets.audit]

  let accounts: AccountEnvironment

  var all: [any Endpoint] {
    let operators = OperatorCheck(keys: accounts.adminKeys)
    return [AuditRoute(store: accounts.audit, operators: operators)]
  }
}
