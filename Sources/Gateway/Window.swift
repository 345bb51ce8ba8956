/// A counting period with its UTC bounds, milliseconds since 1970 (RULES §5.6).
///
/// Quotas make it, the ledger stores it; it lives here because the ledger stands above.
package struct Window: Sendable, Hashable {
  /// Part of the row's key, such as `2026-11-30`.
  package var id: String
  package var start: Int64
  package var end: Int64

  package init(id: String, start: Int64, end: Int64) {
    self.id = id
    self.start = start
    self.end = end
  }
}
