import Accounts
package import Admission
package import SQL

/// Closed models in a database. The ledger closes them, in the step that settles the call.
package struct SQLModelClosureStore: ModelClosureStore {
  private let database: Database
  private let act: OperatorAct?

  /// - Parameters:
  ///   - database: migrated to `Schema`.
  ///   - act: whose changes these are; without it they are not written to the audit log.
  package init(_ database: Database, _ act: OperatorAct? = nil) {
    self.database = database
    self.act = act
  }

  package func closures() async throws -> [ModelClosure] {
    try await database.read { transaction in
      try await transaction.rows(
        "select provider, model, closed_at, cost, reserve from closed_models order by closed_at, provider, model"
      ) {
        ModelClosure(
          model: ProviderModel(provider: $0.string(0), name: $0.string(1)), closedAt: $0.int64(2),
          cost: $0.int64(3), reserve: $0.int64(4))
      }
    }
  }

  package func reopen(_ model: ProviderModel) async throws -> Bool {
    try await database.write { transaction in
      let opened = try await transaction.execute(
        "delete from closed_models where provider = $1 and model = $2",
        [.text(model.provider), .text(model.name)])
      guard opened > 0 else { return false }
      try act?.write(.modelReopened, reason: "\(model.provider)/\(model.name)", transaction)
      return true
    }
  }
}
