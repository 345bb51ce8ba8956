/// Why the simulator could not do what it was asked.
public enum SimulatorError: Error, Equatable, Sendable {
  /// What was to be restored is no state that a simulator kept.
  case malformedState
  /// The cryptographic library failed.
  case cryptography
  /// No account of that address.
  case unknownAccount
  /// No client of that id and kind is registered.
  case unknownClient
  /// The account has given no consent, or has revoked it.
  case noConsent
  /// What was to be authorized is no authorization that this Apple would show a page for.
  case invalidAuthorization
}
