/// Numbers of PostgreSQL's advisory locks, which are one space for everything in a database.
package enum AdvisoryLock {
  /// Held while the schema is changed.
  package static let migration: Int64 = 0x6272_616d_0000_0001
  /// Held, shared, by the sessions whose transactions have their Sync at the end alone: the first of two numbers, of
  /// which the second tells the schema.
  static let silence: Int64 = 0x6272_616d
}
