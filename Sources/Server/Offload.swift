/// Runs computations of more than 200 microseconds, such as the verification of an attestation or a receipt, away from
/// the loop that serves requests.
package protocol Offload: Sendable {
  func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value
}

/// Where there is no loop to keep free: computes in its place.
package struct InPlace: Offload {
  package init() {}

  package func callAsFunction<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
    work()
  }
}
