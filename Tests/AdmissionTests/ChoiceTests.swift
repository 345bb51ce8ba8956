import Admission
import Gateway
import Testing

@Suite("Calls that any of several models may answer") struct ChoiceTests {
  private let book = MemoryBook()
  private let now: Int64 = 1_800_000_000_000
  private var day: Window { Window(id: "d", start: now - 40_000_000, end: now + 40_000_000) }

  private func charge(_ rule: String, _ limit: Int64, _ unit: QuotaUnit, _ amount: Int64 = 1) -> Charge {
    Charge(
      subject: .everyone, rule: rule, amount: amount, limit: .window(day, limit: limit, unit: unit))
  }

  private func choice(_ provider: String, _ name: String = "m", _ charges: [Charge] = []) -> CallChoice {
    CallChoice(model: ProviderModel(provider: provider, name: name), charges: charges)
  }

  private func decide(_ choices: [CallChoice], counter: UInt32 = 1) throws -> AdmissionDecision {
    try AdmissionRule.decide(
      AdmissionRequest(
        id: [UInt8(counter)], evidence: .assertion(keyID: MemoryBook.keyID, counter: counter, challenge: nil),
        expectation: KeyExpectation(apps: ["production/T.app"], anchors: [MemoryBook.anchor]), now: now,
        charges: [charge("all", 1_000, .money, 90), charge("daily", 100, .requests)], lease: 60_000,
        address: "", choices: choices), in: book)
  }

  private func open(_ decision: AdmissionDecision) -> [Int]? {
    if case .admitted(let admitted) = decision { admitted.choices } else { nil }
  }

  private func settle(_ outcome: Settlement.Outcome, sparing spared: Set<String>) throws {
    try Settling.settle(
      try #require(book.reservations.last), as: outcome, sparing: spared, now: now + 1, in: book)
  }

  @Test(
    "RULES §5.6: what is held of each provider is settled for the one that answered, and taken back of the others"
  )
  func settled() throws {
    let a = [charge("a", 500, .money, 90), charge("a-calls", 10, .requests)]
    let b = [
      charge("b", 500, .money, 70), charge("b-calls", 10, .requests), charge("b-tokens", 500, .tokens, 40),
    ]
    #expect(open(try decide([choice("a", "1", a), choice("b", "1", b)])) == [0, 1])
    #expect(book.sums("all") == [0, 90] && book.sums("a") == [0, 90] && book.sums("b") == [0, 70])
    // The first was asked and failed: its call counts, its money does not.
    try settle(.used(cost: 33, tokens: 8, images: 0), sparing: ["a"])
    #expect(book.sums("all") == [33, 0] && book.sums("a") == [0, 0] && book.sums("b") == [33, 0])
    #expect(book.sums("b-tokens:tokens") == [8, 0])
    #expect(
      book.sums("daily") == [1, 0] && book.sums("a-calls") == [1, 0] && book.sums("b-calls") == [1, 0])

    #expect(open(try decide([choice("a", "1", a), choice("b", "1", b)], counter: 2)) == [0, 1])
    // The first answered, and the other was never asked.
    try settle(.used(cost: 20, tokens: 5, images: 0), sparing: ["b", "b-calls", "b-tokens"])
    #expect(book.sums("all") == [53, 0] && book.sums("a") == [20, 0] && book.sums("b") == [33, 0])
    #expect(book.sums("a-calls") == [2, 0] && book.sums("b-calls") == [1, 0])
    #expect(book.sums("b-tokens:tokens") == [8, 0])
  }

  @Test("RULES §5.6: a lease that ends books the hold of every provider that might have been asked")
  func expired() throws {
    _ = try decide([
      choice("a", "1", [charge("a", 500, .money, 90)]), choice("b", "1", [charge("b", 500, .money, 70)]),
    ])
    #expect(try Settling.expire(try #require(book.reservations.last), now: now + 1, in: book) == 90)
    #expect(book.sums("all") == [90, 0] && book.sums("a") == [90, 0] && book.sums("b") == [70, 0])
  }

  @Test(
    "a model that is closed and a provider whose limits are used up are left out, and nothing of them is held"
  )
  func leftOut() throws {
    book.keep(
      ModelClosure(model: ProviderModel(provider: "a", name: "1"), closedAt: now, cost: 2, reserve: 1))
    let a = [charge("a", 500, .money, 90)]
    let spent = [charge("b", 60, .money, 70), charge("b-calls", 10, .requests)]
    let decision = try decide([
      choice("a", "1", a), choice("b", "1", spent), choice("a", "2", a), choice("b", "2", spent),
    ])
    #expect(open(decision) == [2])
    #expect(book.sums("a") == [0, 90] && book.sums("b") == [0, 0] && book.sums("b-calls") == [0, 0])
    #expect(book.sums("all") == [0, 90])
  }

  @Test("a provider's limits are counted once, however many of its models may answer")
  func once() throws {
    let a = [charge("a", 500, .money, 90), charge("a-calls", 10, .requests)]
    #expect(open(try decide([choice("a", "1", a), choice("a", "2", a)])) == [0, 1])
    #expect(book.sums("a") == [0, 90] && book.sums("a-calls") == [1, 0])
    try settle(.used(cost: 5), sparing: [])
    #expect(book.sums("a") == [5, 0])
  }

  @Test("where none is open the first one's refusal is told, and nothing is counted")
  func none() throws {
    let spent = [charge("b", 60, .money, 70)]
    book.keep(
      ModelClosure(model: ProviderModel(provider: "a", name: "1"), closedAt: now, cost: 2, reserve: 1))
    #expect(try decide([choice("a", "1"), choice("b", "1", spent)]) == .refused(.modelClosed))
    guard
      case .refused(.exhausted(let left)) = try decide(
        [choice("b", "1", spent), choice("a", "1")], counter: 2)
    else {
      Issue.record("let in")
      return
    }
    #expect(left.rule == "b" && left.unit == .money)
    #expect(book.sums("all") == [0, 0] && book.sums("daily") == [0, 0] && book.sums("b") == [0, 0])
    #expect(book.reservations.isEmpty)
    // The proof is used up all the same.
    #expect(try decide([choice("c")]) == .refused(.counterReplayed))
  }
}
