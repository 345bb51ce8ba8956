import Admission
import AppAttest
import Gateway
import Testing

@Suite("Admission rule") struct AdmissionRuleTests {
  private let book = MemoryBook()
  private let now: Int64 = 1_800_000_000_000
  private var day: Window { Window(id: "d", start: now - 1_000, end: now + 1_000) }

  private func decide(
    _ charges: [Charge] = [], counter: UInt32 = 1, evidence: AdmissionRequest.Evidence? = nil,
    challenge: ConsumedChallenge? = nil, lease: Int64? = nil, width: Int = 128
  ) throws -> AdmissionDecision {
    try AdmissionRule.decide(
      AdmissionRequest(
        id: [1],
        evidence: evidence ?? .assertion(keyID: MemoryBook.keyID, counter: counter, challenge: challenge),
        expectation: KeyExpectation(apps: ["production/T.app"], anchors: [MemoryBook.anchor]),
        counterWindow: width, now: now, charges: charges, lease: lease, address: ""), in: book)
  }

  private func charge(_ rule: String, _ limit: Charge.Limit, _ amount: Int64 = 1, _ subject: Subject = .key)
    -> Charge
  {
    Charge(subject: subject, rule: rule, amount: amount, limit: limit)
  }

  private func isRefused(_ decision: AdmissionDecision, _ refusal: AdmissionRefusal) -> Bool {
    decision == .refused(refusal)
  }

  @Test("Refuses in the order running, burst, counts, money, whatever order the charges have")
  func order() throws {
    let money = charge("money", .window(day, limit: 0, unit: .money))
    let count = charge("count", .window(day, limit: 0, unit: .requests))
    let burst = charge("burst", .burst(interval: 1_000_000, burst: 0))
    let running = charge("running", .inFlight(0))
    #expect(isRefused(try decide([money, count, burst, running], counter: 1), .inFlight(rule: "running")))
    #expect(
      isRefused(try decide([money, count, burst], counter: 2), .burst(rule: "burst", retryAt: now + 1)))
    guard case .refused(.exhausted(let left)) = try decide([money, count], counter: 3) else {
      Issue.record()
      return
    }
    #expect(left.rule == "count")
    guard case .refused(.exhausted(_)) = try decide([money], counter: 4) else {
      Issue.record()
      return
    }
  }

  @Test("RULES §5.5: all charges are counted or none", arguments: 0..<4)
  func allOrNone(failing: Int) throws {
    var charges = [
      charge("running", .inFlight(5)), charge("burst", .burst(interval: 1_000, burst: 5)),
      charge("count", .window(day, limit: 5, unit: .requests)),
      charge("money", .window(day, limit: 5, unit: .money)),
    ]
    charges[failing].amount = 6
    guard case .refused = try decide(charges, counter: 1, lease: 1) else { Issue.record(); return }
    for rule in ["running", "burst", "count", "money"] { #expect(book.sums(rule) == [0, 0]) }
    #expect(book.reservations == [])
    charges[failing].amount = 5
    guard case .admitted = try decide(charges, counter: 2, lease: 1) else { Issue.record(); return }
    let amount = { (index: Int) -> Int64 in index == failing ? 5 : 1 }
    #expect(book.sums("running") == [0, amount(0)])
    #expect(book.sums("count") == [amount(2), 0])
    #expect(book.sums("money") == [0, amount(3)])
    #expect(book.reservations.map { $0.lines.map(\.kind) } == [[.inFlight, .count, .money]])
  }

  @Test("Two charges on one row see each other")
  func sameRow() throws {
    let twice = Array(repeating: charge("count", .window(day, limit: 5, unit: .requests), 3), count: 2)
    guard case .refused = try decide(twice, counter: 1) else { Issue.record(); return }
    #expect(book.sums("count") == [0, 0])
    let fits = Array(repeating: charge("count", .window(day, limit: 6, unit: .requests), 3), count: 2)
    guard case .admitted = try decide(fits, counter: 2) else { Issue.record(); return }
    #expect(book.sums("count") == [6, 0])
  }

  @Test("Amounts at the ends of the range neither trap nor become an allowance")
  func extremes() throws {
    #expect(
      try !isAdmitted(decide([charge("m", .window(day, limit: .max - 1, unit: .money), .max)], counter: 1)))
    #expect(try isAdmitted(decide([charge("m", .window(day, limit: .max, unit: .money), .max)], counter: 2)))
    #expect(try !isAdmitted(decide([charge("m", .window(day, limit: .max - 1, unit: .money))], counter: 3)))
    #expect(try isAdmitted(decide([charge("c", .window(day, limit: 5, unit: .requests), .min)], counter: 4)))
    #expect(book.sums("c") == [0, 0])
    #expect(try !isAdmitted(decide([charge("b", .burst(interval: .max, burst: 1), .max)], counter: 5)))
    _ = try decide([charge("b2", .burst(interval: .min, burst: .max), .min)], counter: 6)
    _ = try decide([charge("r", .inFlight(.min), .max)], counter: 7)
  }

  @Test("RULES §1.5: ban, configuration and quota refuse after counter and challenge are consumed")
  func consumed() throws {
    let challenge = ConsumedChallenge.row(random: [7], expiry: 100)
    book.devices[MemoryBook.keyID]?.status = .banned
    #expect(isRefused(try decide(counter: 1, challenge: challenge), .banned))
    book.devices[MemoryBook.keyID]?.status = .live
    #expect(book.consumed == [[7]])
    #expect(isRefused(try decide(counter: 1), .counterReplayed))
    #expect(isRefused(try decide(counter: 2, challenge: challenge), .challengeUsed))
    #expect(isRefused(try decide(counter: 2), .counterReplayed))
    book.devices[MemoryBook.keyID]?.anchor = [0]
    #expect(isRefused(try decide(counter: 3), .keyNotAccepted))
    book.devices[MemoryBook.keyID]?.anchor = MemoryBook.anchor
    #expect(isRefused(try decide(counter: 3), .counterReplayed))
  }

  @Test("A key that is unknown or revoked consumes nothing")
  func unknown() throws {
    let challenge = ConsumedChallenge.row(random: [7], expiry: 100)
    book.devices[MemoryBook.keyID]?.status = .revoked
    #expect(isRefused(try decide(challenge: challenge), .unknownKey))
    book.devices = [:]
    #expect(isRefused(try decide(challenge: challenge), .unknownKey))
    #expect(book.consumed == [])
  }

  @Test(
    "RULES §1.4: a challenge at or below the floor is refused",
    arguments: [(99, false), (100, false), (101, true)])
  func floor(expiry: Int64, passes: Bool) throws {
    book.floor = 100
    let decision = try decide(challenge: ConsumedChallenge.row(random: [1], expiry: expiry))
    #expect(isAdmitted(decision) == passes)
  }

  @Test("RULES §1.5: a late counter passes and is told, a strict width takes none")
  func late() throws {
    #expect(try outOfOrder(decide(counter: 9)) == false)
    #expect(try outOfOrder(decide(counter: 3)) == true)
    #expect(isRefused(try decide(counter: 4, width: 0), .counterReplayed))
  }

  @Test(
    "A charge whose subject the request has not does not apply; the address of a request without proof does")
  func subjects() throws {
    let charges = [Subject.key, .user, .app, .address("a"), .everyone].map {
      charge("count", .window(day, limit: 1, unit: .requests), 1, $0)
    }
    guard case .admitted(let admitted) = try decide(charges, evidence: AdmissionRequest.Evidence.none) else {
      Issue.record()
      return
    }
    #expect(admitted.remaining.count == 2)
    #expect(admitted.keyID == nil)
  }

  private func isAdmitted(_ decision: AdmissionDecision) -> Bool {
    if case .admitted = decision { true } else { false }
  }

  private func outOfOrder(_ decision: AdmissionDecision) -> Bool? {
    if case .admitted(let admitted) = decision { admitted.outOfOrder } else { nil }
  }
}
