import Admission
import SQL

/// The rows of session tokens.
enum SessionRows {
  /// Keeps the token, and ends the key's oldest beyond `atMost` and those that expired. One of a session that is over
  /// has ended with it.
  ///
  /// - Parameter locking: ends the `select` of the session, so that it does not end before this is committed.
  static func add(
    _ token: SessionToken, device: Int64, userID: String?, atMost: Int, now: Int64, locking: String
  ) -> [Query] {
    let values: [SQLValue] = [
      .blob(token.hash), .integer(device), SQLValue(userID), .text(token.routes.joined(separator: "\n")),
      .integer(token.expiry),
    ]
    var queries: [Query] = []
    if let session = token.session {
      queries = [
        Query(
          """
          insert into session_tokens (hash, device, user_id, routes, expiry, session)
          values ($1, $2, $3, $4, $5, (select id from sessions where id = $6\(locking)))
          """, values + [.uuid(session)]),
        Query(
          "delete from session_tokens where hash = $1 and session is null", [.blob(token.hash)]),
      ]
    } else {
      queries = [
        Query(
          "insert into session_tokens (hash, device, user_id, routes, expiry) values ($1, $2, $3, $4, $5)",
          values)
      ]
    }
    return queries + [
      Query(
        "delete from session_tokens where device = $1 and expiry <= $2", [.integer(device), .integer(now)]),
      Query(
        """
        delete from session_tokens where device = $1
          and id not in (select id from session_tokens where device = $1 order by id desc limit $2)
        """, [.integer(device), .integer(Int64(max(atMost, 0)))]),
    ]
  }
}
