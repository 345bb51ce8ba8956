import Admission
import Gateway
import Stores
import Testing

@Suite("Choices on a database") struct ChoiceContractTests {
  private func choice(_ provider: String, _ amount: Int64, of limit: Int64) -> CallChoice {
    CallChoice(
      model: ProviderModel(provider: provider, name: "m"),
      charges: [
        Charge(
          subject: .everyone, rule: provider, amount: amount,
          limit: .window(Requests.month, limit: limit, unit: .money)),
        Charge(
          subject: .everyone, rule: "\(provider)-calls", amount: 1,
          limit: .window(Requests.day, limit: 1_000, unit: .requests)),
      ])
  }

  private func request(_ number: Int, choices: [CallChoice]) -> AdmissionRequest {
    var request = Requests.assertion(
      0, counter: UInt32(number), id: number,
      charges: [Requests.daily(1_000, .everyone), Requests.money(9, of: 400, .everyone)])
    request.choices = choices
    return request
  }

  @Test(
    "RULES §5.6: 120 calls race for three budgets; none is passed, and each call is booked for who answered",
    arguments: Backend.allCases)
  func race(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let choices = [choice("one", 9, of: 100), choice("two", 7, of: 150)]
    // Who answers: the place of the choice; nil where it was not let in, or all failed.
    let answers = try await withThrowingTaskGroup(of: (place: Int, isFallback: Bool)?.self) { group in
      for number in 1...120 {
        group.addTask {
          let decision = try await fixture.ledger.admit(request(number, choices: choices))
          guard case .admitted(let admitted) = decision, let first = admitted.choices.first else {
            return nil
          }
          // Every third call falls back where it can, every seventh fails with all.
          let isFallback = number.isMultiple(of: 3) && admitted.choices.count > 1
          let place = isFallback ? 1 : first
          let (own, other) = place == 0 ? ("one", "two") : ("two", "one")
          let failed = number.isMultiple(of: 7)
          let spared: Set<String> = isFallback ? [other] : [other, "\(other)-calls"]
          #expect(
            try await fixture.ledger.settle(
              Settlement(
                id: Requests.identifier(number),
                outcome: failed ? .released(giveBackCount: false) : .used(cost: 6),
                now: Requests.now, usage: usage(own, failed ? 0 : 6), sparing: spared)))
          return failed ? nil : (place, isFallback)
        }
      }
      return try await group.reduce(into: [(place: Int, isFallback: Bool)]()) {
        if let next = $1 { $0.append(next) }
      }
    }
    let booked = (
      Int64(answers.count { $0.place == 0 }) * 6, Int64(answers.count { $0.place == 1 }) * 6
    )
    #expect(try await fixture.sums("one") == (booked.0, 0))
    #expect(try await fixture.sums("two") == (booked.1, 0))
    #expect(try await fixture.sums("budget") == (booked.0 + booked.1, 0))
    #expect(booked.0 <= 100 && booked.1 <= 150 && booked.0 + booked.1 <= 400 && booked.1 > 0)
    #expect(try await fixture.openReservations() == 0)
    let rows = try await fixture.usage.usage(from: 0, to: .max, limit: 1_000)
    #expect(rows.reduce(0) { $0 + $1.cost } == booked.0 + booked.1)
  }

  @Test("a closed model is left out, and the answer says which are open", arguments: Backend.allCases)
  func closed(backend: Backend) async throws {
    let fixture = try await StoreFixture(backend)
    try await fixture.register(0)
    let closure = ModelClosure(
      model: ProviderModel(provider: "one", name: "m"), closedAt: Requests.now, cost: 2, reserve: 1)
    try await fixture.ledger.settle(
      Settlement(
        id: Requests.identifier(900), outcome: .used(cost: 0), now: Requests.now, closure: closure))
    let choices = [choice("one", 9, of: 100), choice("two", 7, of: 150)]
    guard case .admitted(let admitted) = try await fixture.ledger.admit(request(1, choices: choices)) else {
      Issue.record("refused")
      return
    }
    #expect(admitted.choices == [1])
    #expect(try await fixture.sums("one") == (0, 0))
    #expect(try await fixture.sums("two") == (0, 7))
    #expect(try await fixture.ledger.admit(request(2, choices: [choices[0]])).refusal == .modelClosed)
  }

  private func usage(_ provider: String, _ cost: Int64) -> UsageRecord {
    UsageRecord(
      keyID: nil, userID: nil, route: "f", provider: provider, model: "m", status: 200, cost: cost,
      startedAt: Requests.now)
  }
}
