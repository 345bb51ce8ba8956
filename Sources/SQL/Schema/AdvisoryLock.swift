/// Numbers of PostgreSQL's advisory locks, which are one space for everything in a database.
package enum AdvisoryLock {
  /// Held while the schema is changed.
  package static let migration: Int64 = 0x6272_616d_0000_0001
}
