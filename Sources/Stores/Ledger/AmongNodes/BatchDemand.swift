import Admission
import AppAttest

/// What a batch is about, before anything is looked up.
struct BatchDemand {
  var requests: [AdmissionRequest] = []
  var keyIDs: Set<[UInt8]> = []
  var sessions: Set<[UInt8]> = []
  var debugTokens: Set<[UInt8]> = []
  /// Sessions of accounts, by their ids, whose access tokens buy a session token.
  var accountSessions: Set<[UInt8]> = []
  /// The random parts of challenges that have a row.
  var challenges: Set<[UInt8]> = []
  /// Keys whose challenges are known by how many tokens they have minted.
  var minters: Set<[UInt8]> = []
  var reservations: Set<[UInt8]> = []
  /// Settlements that may give a count back.
  var givesBack: [[UInt8]] = []
  /// The users whom its keys can come to be of in it.
  private(set) var users: [[UInt8]: [KeyUser]] = [:]
  var sweep: (now: Int64, limit: Int)?

  mutating func add(_ job: LedgerJob) {
    switch job {
    case .admit(let request): add(request)
    case .issueSession(let request, let token, _):
      add(request)
      if let session = token.session { accountSessions.insert(session) }
    case .settle(let settlement):
      reservations.insert(settlement.id)
      if settlement.outcome == .released(giveBackCount: true) { givesBack.append(settlement.id) }
    case .renew(let id, _, _): reservations.insert(id)
    case .sweep(let now, let limit):
      sweep = (max(now, sweep?.now ?? now), limit + (sweep?.limit ?? 0))
    case .remaining(let keyID, let charges, let now):
      keyIDs.insert(keyID)
      requests.append(LedgerJob.question(keyID, charges, now))
    }
  }

  private mutating func add(_ request: AdmissionRequest) {
    requests.append(request)
    switch request.evidence {
    case .assertion(let keyID, _, let challenge):
      keyIDs.insert(keyID)
      if let user = request.user { add(user, of: keyID) }
      switch challenge {
      case .row(let random, _): challenges.insert(random)
      case .mint: minters.insert(keyID)
      case nil: break
      }
    case .session(let hash, _): sessions.insert(hash)
    case .debugToken(let hash): debugTokens.insert(hash)
    case .none: break
    }
  }

  /// The same, but that no key comes to be of one of these.
  func without(users refused: Set<String>) -> BatchDemand {
    guard !refused.isEmpty else { return self }
    var demand = self
    for place in requests.indices where requests[place].user.map({ refused.contains($0.id) }) == true {
      // Who shows no key is nobody's at all.
      if case .assertion = requests[place].evidence { demand.requests[place].user = nil }
    }
    demand.users = users.mapValues { $0.filter { !refused.contains($0.id) } }
    return demand
  }

  private mutating func add(_ user: KeyUser, of keyID: [UInt8]) {
    // More than a key may have in a day: most of a crowd are refused, and nobody's rows are asked for on their account.
    guard users[keyID]?.count ?? 0 < 32, users[keyID]?.contains(user) != true else { return }
    users[keyID, default: []].append(user)
  }
}
