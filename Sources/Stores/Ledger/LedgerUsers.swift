import Admission
import Encodings
import SQL

/// Users as an admission sees them, where one of them is to become a key's: looked up then alone, for a key that keeps
/// its user forgets them, or learns that they are banned, in the transaction of that.
enum LedgerUsers {
  struct Standing {
    var bannedUntil: Int64?
    var isLeaving: Bool

    /// From the columns banned_until, deleting_since.
    init(_ row: Row, from first: Int32 = 0) {
      bannedUntil = row.optionalInt64(first)
      isLeaving = !row.isNull(first + 1)
    }
  }

  static let select = "select banned_until, deleting_since from users where id = $1"

  /// - Parameter standing: nil for a user who is gone.
  static func refusal(of standing: Standing?, now: Int64) -> AdmissionRefusal? {
    guard let standing else { return .userGone }
    if standing.isLeaving { return .userLeaving }
    return standing.bannedUntil.map { $0 > now } == true ? .userBanned : nil
  }
}
