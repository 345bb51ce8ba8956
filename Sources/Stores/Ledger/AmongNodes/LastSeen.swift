import Admission
import AppAttest
import SQL

/// Rows that say whose lines a batch is about.
struct SeenRows {
  struct Reserved {
    var device: Int64?
    var lines: [ReservedLines.Line]
  }

  var devices: [[UInt8]: DeviceState] = [:]
  var sessions: [[UInt8]: SessionState] = [:]
  var debugTokens: [[UInt8]: DebugTokenState] = [:]
  var reservations: [[UInt8]: Reserved] = [:]

  /// Who a request can come to be of, if its evidence holds; nobody for one that is refused before any line is looked
  /// at. More than one where a request before it in the batch may give the key another user.
  func bearers(of request: AdmissionRequest, _ demand: BatchDemand) -> [Bearer] {
    switch request.evidence {
    case .assertion(let keyID, _, _):
      // A mere question about a key that is not there still asks for everyone's lines.
      guard let device = devices[keyID] else { return request.id.isEmpty ? [Bearer()] : [] }
      guard let user = request.user else { return bearers(device, demand) }
      var bearer = Bearer(device: device)
      _ = bearer.become(user)
      return [bearer]
    case .session(let hash, _):
      return sessions[hash].flatMap { devices[$0.keyID] }.map { bearers($0, demand) } ?? []
    case .debugToken(let hash): return debugTokens[hash].map { [Bearer(debugToken: $0)] } ?? []
    case .none: return [Bearer(user: request.user)]
    }
  }

  /// Whether these rows ask for no line that `guess` does not ask for, without looking which they are.
  func isCovered(by guess: SeenRows) -> Bool {
    devices.allSatisfy { keyID, device in
      guard let guessed = guess.devices[keyID] else { return false }
      return guessed.id == device.id && guessed.userID == device.userID && guessed.person == device.person
        && guessed.appID == device.appID && guessed.registeredAt == device.registeredAt
        && guessed.riskMetric == device.riskMetric && guessed.isKnownDevice == device.isKnownDevice
    }
      && sessions.allSatisfy { guess.sessions[$0]?.keyID == $1.keyID }
      && debugTokens.allSatisfy { guess.debugTokens[$0]?.name == $1.name }
      // What a reservation holds never changes.
      && reservations.keys.allSatisfy { guess.reservations[$0] != nil }
  }

  private func bearers(_ device: DeviceState, _ demand: BatchDemand) -> [Bearer] {
    let own = Bearer(device: device)
    return [own]
      + (demand.users[device.keyID] ?? []).map { user in
        var bearer = own
        _ = bearer.become(user)
        return bearer
      }
  }
}

/// What this node saw last of keys, tokens and open reservations, so that it can ask for a batch's lines together with
/// the rows that say whose they are. All of it may be stale, and nothing is decided by it: a guess that was wrong costs
/// a round trip.
final class LastSeen {
  /// Of each kind; with more all of the kind is forgotten. About 60 MB in all.
  private static let capacity = 50_000

  private var kept = SeenRows()

  /// The rows that the batch names; nil where one was not seen.
  func rows(for demand: BatchDemand) -> SeenRows? {
    guard demand.sweep == nil else { return nil }
    var rows = SeenRows()
    for hash in demand.sessions {
      guard let session = kept.sessions[hash] else { return nil }
      rows.sessions[hash] = session
      rows.devices[session.keyID] = kept.devices[session.keyID]
      if rows.devices[session.keyID] == nil { return nil }
    }
    for keyID in demand.keyIDs {
      guard let device = kept.devices[keyID] else { return nil }
      rows.devices[keyID] = device
    }
    for hash in demand.debugTokens {
      guard let token = kept.debugTokens[hash] else { return nil }
      rows.debugTokens[hash] = token
    }
    for id in demand.reservations {
      guard let reserved = kept.reservations[id] else { return nil }
      rows.reservations[id] = reserved
    }
    return rows
  }

  /// Keeps what the batch's rows are, as far as this node can tell before the commit.
  func note(_ book: SharedLedgerBook) {
    Self.merge(book.devices, into: &kept.devices, book.transaction)
    Self.merge(book.sessions, into: &kept.sessions, book.transaction)
    Self.merge(book.debugTokens, into: &kept.debugTokens, book.transaction)
    Self.merge(book.made, into: &kept.reservations, book.transaction)
    for id in book.taken { kept.reservations[id] = nil }
  }

  private static func merge<Value: Sendable>(
    _ rows: [[UInt8]: Value], into kept: inout [[UInt8]: Value], _ transaction: Transaction
  ) {
    if kept.count + rows.count > capacity { transaction.discard(&kept, leaving: [:]) }
    kept.merge(rows) { $1 }
  }
}
