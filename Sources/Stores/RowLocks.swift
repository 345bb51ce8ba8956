import SQL

/// What ends a `select` that locks its rows until the end of the transaction. SQLite has one writer.
extension Transaction {
  /// Waits for whoever has one of them.
  var locking: String { dialect == .postgreSQL ? " for update" : "" }

  /// Leaves out those that another transaction has: somebody is at them already.
  var skippingLocked: String { dialect == .postgreSQL ? " for update skip locked" : "" }

  /// The same for the rows of one table of several.
  func skippingLocked(of table: String) -> String {
    dialect == .postgreSQL ? " for update of \(table) skip locked" : ""
  }
}
