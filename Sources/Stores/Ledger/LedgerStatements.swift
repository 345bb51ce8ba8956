import SQL

/// The statements of the hot path, prepared once on the writer's connection.
final class LedgerStatements {
  let device: Statement
  let updateDevice: Statement
  let updateDeviceUser: Statement
  let line: Statement
  let insertLine: Statement
  let updateLine: Statement
  let insertReservation: Statement
  let takeReservation: Statement
  let deleteReservation: Statement
  let renew: Statement
  let insertUsage: Statement

  init(_ transaction: SQLiteTransaction) throws {
    device = try transaction.statement(
      """
      select k.id, k.status, k.app_id, k.environment, k.anchor, s.highest, s.near, s.far, s.user_id,
        k.registered_at, k.risk_metric, k.known_device, s.used_on, s.person, s.user_banned_until
      from device_keys k join device_states s on s.device = k.id where k.key_id = $1
      """)
    updateDevice = try transaction.statement(
      """
      update device_states set highest = $2, near = $3, far = $4, used_on = $5 where device = $1
      """)
    updateDeviceUser = try transaction.statement(
      """
      update device_states set user_id = $2, person = $3,
        user_banned_until = case when user_id is $2 then user_banned_until end
      where device = $1
      """)
    line = try transaction.statement(
      "select used, held, alarmed from lines where subject = $1 and rule = $2 and period = $3")
    insertLine = try transaction.statement(
      "insert into lines (subject, rule, period, used, held, alarmed) values ($1, $2, $3, $4, $5, $6)")
    updateLine = try transaction.statement(
      "update lines set used = $4, held = $5, alarmed = $6 where subject = $1 and rule = $2 and period = $3")
    insertReservation = try transaction.statement(
      "insert into reservations (id, lease, device, lines, ending) values ($1, $2, $3, $4, $5)")
    takeReservation = try transaction.statement(
      "delete from reservations where id = $1 returning device, lines, lease")
    deleteReservation = try transaction.statement("delete from reservations where id = $1")
    renew = try transaction.statement("update reservations set lease = $2 where id = $1 and lease < $2")
    insertUsage = try transaction.statement(UsageRows.insert)
  }
}
