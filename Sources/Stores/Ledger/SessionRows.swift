import Admission
import SQL

/// The rows of session tokens.
enum SessionRows {
  /// Keeps the token, and ends the key's oldest beyond `atMost` and those that expired. The session whose
  /// access token bought it was found in this transaction.
  static func add(
    _ token: SessionToken, device: Int64, userID: String?, atMost: Int, now: Int64
  ) -> [Query] {
    [
      Query(
        """
        insert into session_tokens (hash, device, user_id, routes, expiry, session)
        values ($1, $2, $3, $4, $5, $6)
        """,
        [
          .blob(token.hash), .integer(device), SQLValue(userID), .text(token.routes.joined(separator: "\n")),
          .integer(token.expiry), token.session.map { .uuid($0) } ?? .null,
        ]),
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
