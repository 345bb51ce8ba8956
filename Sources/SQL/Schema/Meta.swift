/// Facts about the database itself, such as that `dev` uses it (RULES §1.6). The table is the migrator's.
extension Transaction {
  /// nil when the fact was never written.
  package func meta(_ name: String) async throws -> String? {
    try await first("select value from meta where name = $1", [.text(name)]) { $0.string(0) }
  }

  /// Writes the fact over what was there.
  package func setMeta(_ name: String, _ value: String) async throws(DatabaseError) {
    try await execute(
      "insert into meta (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
      [.text(name), .text(value)])
  }
}

extension Database {
  /// The fact of that name; nil when it was never written.
  package func meta(_ name: String) async throws -> String? {
    try await read { try await $0.meta(name) }
  }

  /// Writes the fact over what was there.
  package func setMeta(_ name: String, _ value: String) async throws {
    try await write { try await $0.setMeta(name, value) }
  }
}
