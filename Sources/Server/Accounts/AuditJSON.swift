package import Accounts
package import Encodings

extension AuditEntry {
  /// The line as the admin API and the command write it; what is not known is null.
  package var json: JSONValue {
    let text = { (text: String?) in text.map { JSONValue.string($0) } ?? .null }
    return [
      "id": .integer(id), "time": .time(time), "action": .string(action), "result": .string(result.rawValue),
      "actor": text(origin?.actor.word), "admin_key": text(origin?.actor.key),
      "address": text(origin?.address),
      "device": text(origin?.device.map { Base64.encode($0) }), "user": text(user?.description),
      "session": text(session?.description), "reason": text(reason),
    ]
  }
}
