package import Encodings
package import SQL
package import UserData

/// Objects of users in the database, contents and all.
package struct SQLObjectStore: ObjectStore {
  private let database: Database

  /// - Parameter database: migrated to `Schema`.
  package init(_ database: Database) { self.database = database }

  package func put(
    _ drafts: [ObjectDraft], within limits: ObjectLimits, noting note: SpendingNote?
  ) async throws -> ObjectRefusal? {
    guard let user = drafts.first?.object.user else { return nil }
    return try await database.accountStep { transaction in
      // The user's row is the lock by which two who put at once are counted one after the other.
      let isLiving = try await transaction.first(
        "select deleting_since from users where id = $1\(transaction.locking)", [SQLValue(user)]
      ) { $0.isNull(0) }
      guard isLiving == true else { return .userGone }
      var fresh: [ObjectDraft] = []
      for draft in drafts {
        let known = try await ObjectRows.objects("id = $1", [SQLValue(draft.object.id)], transaction)
        if known.isEmpty { fresh.append(draft) }
      }
      if let refusal = try await ObjectRows.standing(user, transaction).refusal(
        count: Int64(fresh.count), bytes: fresh.reduce(0) { $0 + $1.object.size }, limits)
      {
        return refusal
      }
      for draft in fresh {
        let place: [SQLValue] = [.text(draft.object.bucket), .text(draft.object.path.description)]
        guard try await ObjectRows.objects("bucket = $1 and path = $2", place, transaction).isEmpty else {
          return .taken
        }
      }
      for draft in fresh { try await ObjectRows.insert(draft, transaction) }
      if let note {
        try await transaction.execute(
          "update reservations set ending = $2 where id = $1", [.blob(note.reservation), .blob(note.ending)])
      }
      return nil
    }
  }

  package func standing(of user: UUID) async throws -> ObjectStanding {
    try await database.read { try await ObjectRows.standing(user, $0) }
  }

  package func object(
    _ path: ObjectPath, in bucket: String, of user: UUID
  ) async throws -> StoredObject? {
    try await database.read { transaction in
      try await ObjectRows.objects(
        "bucket = $1 and path = $2 and user_id = $3",
        [.text(bucket), .text(path.description), SQLValue(user)], transaction
      ).first
    }
  }

  package func objects(
    of user: UUID, after last: StoredObject?, limit: Int64
  ) async throws -> [StoredObject] {
    try await database.read { transaction in
      try await ObjectRows.objects(
        "user_id = $1 and (bucket > $2 or bucket = $2 and path > $3) order by bucket, path limit $4",
        [
          SQLValue(user), .text(last?.bucket ?? ""), .text(last?.path.description ?? ""), .integer(limit),
        ], transaction)
    }
  }

  package func objects(
    of user: UUID, in bucket: String, folder: String, after path: String, limit: Int64
  ) async throws -> [StoredObject] {
    try await database.read { transaction in
      // Octets are compared, whatever the database's own collation.
      let place = transaction.dialect == .postgreSQL ? "path collate \"C\"" : "path"
      return try await ObjectRows.objects(
        "user_id = $1 and bucket = $2 and \(place) > $3 and \(place) < $4 order by \(place) limit $5",
        [
          SQLValue(user), .text(bucket), .text(max(path, folder)), .text(folder + ObjectPath.last),
          .integer(limit),
        ], transaction)
    }
  }

  package func objects(of user: UUID, origin: [UInt8]) async throws -> [StoredObject] {
    try await database.read { transaction in
      try await ObjectRows.objects(
        """
        user_id = $1 and origin = $2 and created_at = (
          select max(created_at) from objects where user_id = $1 and origin = $2)
        order by path
        """, [SQLValue(user), .blob(origin)], transaction)
    }
  }

  package func piece(_ number: Int64, of id: UUID) async throws -> [UInt8]? {
    try await database.read { transaction in
      try await transaction.first(
        "select content from object_pieces where object = $1 and number = $2",
        [SQLValue(id), .integer(number)]
      ) { $0.bytes(0) }
    }
  }

  package func remove(
    _ paths: [ObjectPath], in bucket: String, of user: UUID
  ) async throws -> [StoredObject] {
    try await database.accountStep { transaction in
      var removed: [StoredObject] = []
      for path in paths {
        let place: [SQLValue] = [.text(bucket), .text(path.description), SQLValue(user)]
        let condition = "bucket = $1 and path = $2 and user_id = $3"
        let found = try await ObjectRows.objects(condition, place, transaction)
        // Of two who remove it at once, one has removed it.
        if try await transaction.execute("delete from objects where \(condition)", place) > 0 {
          removed += found
        }
      }
      return removed
    }
  }

  package func erase(of user: UUID) async throws -> Int {
    try await database.accountStep { transaction in
      try await transaction.execute("delete from objects where user_id = $1", [SQLValue(user)])
    }
  }
}
