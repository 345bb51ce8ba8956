import SQL
import Stores

extension StoredState {
  /// The schema of a file that is not in use, after a look through all of it.
  ///
  /// - Throws: what is wrong with it, with its name; also that a newer Bramley wrote it.
  static func version(ofFile path: String) async throws -> Int {
    do {
      try OnlineCopy.check(path)
      let database = try Database(.readOnlyFile(path))
      defer { database.close() }
      let pending = try await Migrator(Schema.migrations).pending(database)
      let version = Schema.migrations.map(\.version).filter { !pending.contains($0) }.max()
      guard let version else { throw CommandFailure(message: "\(path) is no database of Bramley") }
      return version
    } catch let error as DatabaseError {
      throw CommandFailure(message: "\(path): \(error)")
    }
  }
}
