import Admission
import Gateway
import SQL
import Stores
import Testing

@Suite("A key's users on a database") struct KeyUserContractTests {
  private func request(_ number: Int, user: String?, charges: [Charge] = []) -> AdmissionRequest {
    var request = Requests.assertion(0, counter: UInt32(number), id: number, charges: charges)
    request.user = user.map { KeyUser(id: $0, changes: [Requests.daily(3)]) }
    return request
  }

  @Test("RULES §1.9: thirty users who race for one key get three places", arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let decisions = try await withThrowingTaskGroup(of: AdmissionDecision.self) { group in
      for number in 1...30 {
        group.addTask { try await fixture.ledger.admit(self.request(number, user: "user-\(number)")) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(decisions.count { $0.isAdmitted } == 3)
    #expect(
      decisions.count { if case .refused(.tooManyUsers) = $0 { true } else { false } } == 27)
    #expect(try await fixture.sums("daily") == (3, 0))
  }

  @Test(
    "RULES §1.9: the user stays the key's, is what the user's lines count for, and a refusal changes nobody",
    arguments: Backend.allCases)
  func stays(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let own = [
      Charge(
        subject: .user, rule: "own", amount: 1, limit: Requests.daily(2).limit)
    ]
    func user(_ number: Int, _ user: String?, _ charges: [Charge] = []) async throws -> String {
      switch try await fixture.ledger.admit(request(number, user: user, charges: charges)) {
      case .admitted(let admitted): return admitted.userID ?? "nobody"
      case .refused(let refusal): return "\(refusal)".prefix { $0 != "(" }.description
      }
    }
    #expect(try await user(1, nil, own) == "nobody")
    #expect(try await user(2, "a", own) == "a")
    #expect(try await user(3, nil, own) == "a")
    #expect(try await user(4, nil, own) == "exhausted")
    #expect(try await user(5, "b", own) == "b")
    // A replay makes nobody the key's user.
    #expect(try await user(5, "c") == "counterReplayed")
    #expect(try await user(6, nil) == "b")
    #expect(try await user(7, "a") == "a")
    #expect(try await user(8, "b") == "tooManyUsers")
    #expect(try await user(9, "a") == "a")
    #expect(try await user(10, nil) == "a")
    // What refuses after it leaves the change uncounted.
    #expect(try await fixture.sums("daily") == (3, 0))
  }
}
