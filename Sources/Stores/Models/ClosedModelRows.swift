import Admission
import SQL

/// The rows of closed models, on either database.
enum ClosedModelRows {
  static let select = Query("select provider, model from closed_models", [])

  static func model(_ row: Row) -> ProviderModel {
    ProviderModel(provider: row.string(0), name: row.string(1))
  }

  /// The first closure of a model stays.
  static func insert(_ closure: ModelClosure) -> Query {
    Query(
      """
      insert into closed_models (provider, model, closed_at, cost, reserve) values ($1, $2, $3, $4, $5)
      on conflict (provider, model) do nothing
      """,
      [
        .text(closure.model.provider), .text(closure.model.name), .integer(closure.closedAt),
        .integer(closure.cost), .integer(closure.reserve),
      ])
  }
}
