import AppleSimulator
import BramleyClient
import BramleyTesting
import Encodings
import Foundation
import Gateway
import HTTPMessages
import SQL
import Stores
import System
import Testing
import Transport

/// What the books say, once every server has stopped and every lease has ended.
struct MoneyBooks {
  /// Pico-dollars in rows of usage, and under the budget `money`.
  let rows: Int64
  let line: Int64
  /// What any row still holds.
  let held: Int64
  let open: Int
  /// What the quota `all` has counted.
  let counted: Int64

  /// Ends what the dead have left, as time would, and reads.
  init(_ database: Database) async throws {
    let ledger = SQLAdmissionLedger(database, clock: .caller)
    _ = try await ledger.sweep(now: WallClock.milliseconds + 3 * 86_400_000)
    let row = try await database.read { transaction in
      try await transaction.first(
        """
        select (select coalesce(sum(cost), 0) from usage),
          (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'money'),
          (select coalesce(sum(held), 0) from lines), (select count(*) from reservations),
          (select coalesce(sum(used), 0) from lines l join rules r on r.id = l.rule where r.name = 'all')
        """
      ) { ($0.int64(0), $0.int64(1), $0.int64(2), $0.int(3), $0.int64(4)) }
    }
    (rows, line, held, open, counted) = try #require(row)
  }

  /// One sum wherever it stands, nothing held, the ceiling not passed, and the bill covered.
  func check(ceiling: Int64, bill: Int64) {
    #expect(rows == line)
    #expect(held == 0 && open == 0)
    #expect(rows <= ceiling)
    #expect(rows >= bill, "booked \(rows), billed \(bill)")
  }
}

extension MoneyServers {
  /// What the providers bill for all that they were asked, in pico-dollars.
  func bill() throws -> Int64 {
    let haiku = try #require(
      PriceTable.shipped.row(provider: "anthropic", model: "claude-haiku-4-5", at: .max))
    let picture = try #require(
      PriceTable.shipped.row(provider: "fal", model: "fal-ai/flux/schnell", at: .max))
    return try #require(
      haiku.cost(
        of: TokenUsage(
          input: Int64(anthropic.billing.inputTokens), output: Int64(anthropic.billing.outputTokens))))
      + (try #require(picture.cost(of: TokenUsage(microUnits: Int64(fal.billing.microUnits)))))
  }
}
