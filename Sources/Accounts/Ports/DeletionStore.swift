package import Encodings

/// Deletions of accounts. Each method is one atomic step; those that change a deletion give it back as it is then, or
/// nil where it is gone. Times are milliseconds since 1970, a `lease` is one: until then nobody else carries the
/// deletion out.
package protocol DeletionStore: DeletionNames {
  /// Begins one (RULES §4.1): checks the proof, tries the delete and takes that back, marks the user, ends the
  /// session tokens of devices, and writes the operation. Where the user's deletion runs already, the operation id
  /// names that one from now on.
  func begin(_ request: DeletionRequest) async throws -> Result<DeletionBeginning, DeletionRefusal>
  /// Notes what Apple said of a token. A consent that ended is never asked about again.
  func record(
    _ id: Int64, token: Int64, _ result: RevocationResult, lease: Int64, now: Int64
  ) async throws -> Deletion?
  /// Notes that what was owned under the name is gone.
  func erased(_ id: Int64, _ name: String, lease: Int64, now: Int64) async throws -> Deletion?
  /// Clears the mark where nothing happened yet: the account stays as it was.
  func keep(_ id: Int64, failure: String, now: Int64) async throws -> Deletion?
  /// Deletes the user with everything that hangs on it and leaves the tombstone. Tokens that are not revoked by then
  /// stay with it until they are.
  func finish(_ id: Int64, now: Int64) async throws -> Result<Deletion, DeletionRefusal>
  /// Ends a round that left something: another one comes later.
  func postpone(_ id: Int64, failure: String, now: Int64) async throws -> Deletion?
  /// The one that is longest due and unfinished, until `lease` the caller's. Tokens of a person who has an account
  /// again are dropped from it (RULES §2.4).
  func claim(lease: Int64, now: Int64) async throws -> Deletion?
}

/// What deletions are found by. Each method is one atomic step.
package protocol DeletionNames: Sendable {
  /// What the name names; of a user's deletions the last.
  func deletion(_ name: DeletionName) async throws -> Deletion?
  /// The deletion is known by that operation id too, unless the id names another or it has names enough.
  func name(_ id: Int64, _ operation: OperationID) async throws
}

/// What a deletion is known by.
package enum DeletionName: Sendable, Equatable {
  /// The client's name for it, or that of somebody who asked for the same.
  case operation(OperationID)
  case user(UUID)
}

/// Deletions as an operator looks after them. Each method is one atomic step.
package protocol DeletionList: Sendable {
  /// Those that are unfinished or left something, or all, oldest first.
  func deletions(all: Bool, limit: Int64) async throws -> [Deletion]
  /// Has one tried again at once, what was given up as well; nil where it is gone.
  func retry(_ operation: OperationID, now: Int64) async throws -> Deletion?
  /// Forgets those that ended before that time, and before the earlier one also those that left something; how many.
  func forget(before time: Int64, leavingBefore: Int64) async throws -> Int
}
