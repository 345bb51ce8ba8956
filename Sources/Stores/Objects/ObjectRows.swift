import Encodings
import SQL
import UserData

/// Rows of `objects` and `object_pieces`.
enum ObjectRows {
  /// Octets of a piece of an object's content.
  static let piece = 64 * 1_024

  private static let columns = "id, user_id, bucket, path, content_type, size, origin, created_at"

  static func objects(
    _ condition: String, _ values: [SQLValue], _ transaction: Transaction
  ) async throws -> [StoredObject] {
    try await transaction.rows("select \(columns) from objects where \(condition)", values) { row in
      guard let path = ObjectPath(row.string(3)), let type = ObjectType(rawValue: row.string(4)) else {
        throw DatabaseError.corrupt("an object has no path or type")
      }
      return StoredObject(
        id: try row.uuid(0), user: try row.uuid(1), bucket: row.string(2), path: path, contentType: type,
        size: row.int64(5), origin: row.optionalBytes(6), createdAt: row.int64(7))
    }
  }

  static func standing(_ user: UUID, _ transaction: Transaction) async throws -> ObjectStanding {
    try await transaction.first(
      "select count(*), coalesce(sum(size), 0) from objects where user_id = $1", [SQLValue(user)]
    ) { ObjectStanding(count: $0.int64(0), bytes: $0.int64(1)) } ?? ObjectStanding()
  }

  static func insert(_ draft: ObjectDraft, _ transaction: Transaction) async throws {
    let object = draft.object
    try await transaction.execute(
      "insert into objects (\(columns)) values ($1, $2, $3, $4, $5, $6, $7, $8)",
      [
        SQLValue(object.id), SQLValue(object.user), .text(object.bucket), .text(object.path.description),
        .text(object.contentType.rawValue), .integer(object.size), SQLValue(object.origin),
        .integer(object.createdAt),
      ])
    var number: Int64 = 0
    var rest = draft.content[...]
    while !rest.isEmpty {
      try await transaction.execute(
        "insert into object_pieces (object, number, content) values ($1, $2, $3)",
        [SQLValue(object.id), .integer(number), .blob(Array(rest.prefix(piece)))])
      rest = rest.dropFirst(piece)
      number += 1
    }
  }
}
