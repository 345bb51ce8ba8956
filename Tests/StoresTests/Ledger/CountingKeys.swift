import Accounts
import Admission
import Encodings
import Gateway
import SQL
import Stores

/// Three keys, their users, and what is counted for them.
struct CountingKeys: Sendable {
  let fixture: AccountFixture
  let names: PersonNames

  init(_ backend: Backend) async throws {
    fixture = try await AccountFixture(backend)
    try await fixture.base.registerMany(3)
    names = PersonNames(
      secret: try await SQLSigningKeyStore(fixture.database).personSecret(
        fresh: [UInt8](repeating: 7, count: 32)))
  }

  /// Three requests' worth of `q`, for the user and the person behind; who it was for, nil where it is refused.
  func ask(_ key: Int, _ number: Int, _ user: User?, limit: Int64 = 10) async throws -> String? {
    let bound = Requests.daily(limit).limit
    var request = Requests.assertion(
      key, counter: UInt32(number), id: key * 1_000 + number,
      charges: [
        Charge(subject: .user, rule: "q", amount: 3, limit: bound),
        Charge(subject: .person, rule: "q", amount: 3, limit: bound),
      ])
    request.user = user.map {
      KeyUser(id: $0.id.description, person: names.name(of: $0), changes: [Requests.daily(3)])
    }
    switch try await fixture.base.ledger.admit(request) {
    case .admitted(let admitted): return admitted.userID ?? "nobody"
    case .refused: return nil
    }
  }

  func settle(_ number: Int) async throws -> Bool {
    try await fixture.base.ledger.settle(
      Settlement(id: Requests.identifier(number), outcome: .used(cost: 0), now: Requests.now))
  }

  /// What is counted under `q`, by kind and name.
  func counted() async throws -> [String] {
    try await fixture.database.read {
      try await $0.rows(
        """
        select s.kind, s.name, l.used + l.held from lines l join subjects s on s.id = -l.subject
          join rules r on r.id = l.rule
        where r.name = 'q' and l.used + l.held > 0 order by s.kind, s.name
        """
      ) { "\($0.int64(0)) \($0.string(1)) \($0.int64(2))" }
    }
  }

  func keys() async throws -> [String] {
    try await fixture.database.read {
      try await $0.rows(
        "select s.user_id, s.person from device_states s join device_keys k on k.id = s.device order by k.key_id"
      ) {
        "\($0.optionalString(0) ?? "nobody") \($0.optionalString(1) ?? "nobody")"
      }
    }
  }
}
