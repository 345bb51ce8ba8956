/// Lets go of large values elsewhere: freeing hundreds of thousands of rows takes a loop tens of milliseconds.
package enum Discard {
  /// Leaves something else in the value's place; what nobody else holds of it is freed on another thread.
  package static func later<Value: Sendable>(_ value: inout Value, leaving other: consuming Value) {
    swap(&value, &other)
    let old = Locked<Value?>(consume other)
    Task.detached(priority: .utility) { old.withLock { $0 = nil } }
  }
}
