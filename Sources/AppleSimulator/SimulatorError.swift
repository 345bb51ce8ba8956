/// Why the simulator could not do what it was asked.
public enum SimulatorError: Error, Equatable, Sendable {
  /// What was to be restored is no state that a simulator kept.
  case malformedState
  /// The cryptographic library failed.
  case cryptography
}
