import Accounts
import SQL

/// What Apple told of relay addresses whose subjects had no identity here (RULES §2.3).
enum ForwardingRows {
  /// The new identity with what was told last of its address. What was told before consent ended is about an address
  /// that may be another one by now.
  static func consulted(_ identity: Identity, _ transaction: Transaction) async throws -> Identity {
    guard identity.provider == "apple", identity.email != nil else { return identity }
    let told = try await transaction.first(
      """
      select type, event_time from apple_events where team_id = $1 and subject = $2
        and type in ('email-enabled', 'email-disabled')
        and event_time > coalesce((
          select max(event_time) from apple_events where team_id = $1 and subject = $2
            and type in ('consent-revoked', 'account-delete', 'account-deleted')), -1)
      order by event_time desc, id desc limit 1
      """, [.text(identity.teamID), .text(identity.subject)]
    ) { (type: $0.string(0), time: $0.int64(1)) }
    guard let told else { return identity }
    var identity = identity
    identity.forwardsEmail = told.type == "email-enabled"
    identity.forwardingAt = told.time
    return identity
  }
}
