import Admission
import AppAttest
import Gateway
import Testing

@Suite("Limits in units and windows") struct LimitTests {
  private let book = MemoryBook()
  private let now: Int64 = 1_800_000_000_000
  private var day: Window { Window(id: "d", start: now - 40_000_000, end: now + 40_000_000) }
  private var minute: Window { Window(id: "m", start: now - 30_000, end: now + 30_000) }
  private let lifetime = Window(id: "lifetime", start: 0, end: .max)

  private func decide(_ charges: [Charge], counter: UInt32, user: KeyUser? = nil) throws -> AdmissionDecision
  {
    try AdmissionRule.decide(
      AdmissionRequest(
        id: [UInt8(counter)], evidence: .assertion(keyID: MemoryBook.keyID, counter: counter, challenge: nil),
        expectation: KeyExpectation(apps: ["production/T.app"], anchors: [MemoryBook.anchor]), now: now,
        charges: charges, lease: 60_000, address: "", user: user), in: book)
  }

  private func charge(
    _ rule: String, _ window: Window, _ limit: Int64, _ unit: QuotaUnit, _ amount: Int64 = 1,
    _ subject: Subject = .key, alarms: Bool = false
  ) -> Charge {
    Charge(
      subject: subject, rule: rule, amount: amount, limit: .window(window, limit: limit, unit: unit),
      alarms: alarms)
  }

  private func isAdmitted(_ decision: AdmissionDecision) -> Bool {
    if case .admitted = decision { true } else { false }
  }

  private func settle(_ id: UInt8, _ outcome: Settlement.Outcome) throws {
    let reservation = try #require(book.reservations.first { $0.id == [id] })
    try Settling.settle(reservation, as: outcome, now: now + 1, in: book)
  }

  @Test("Tokens, images and money are held at the bound and settle at what was used; requests count at once")
  func units() throws {
    let charges = [
      charge("r", day, 10, .requests), charge("t", day, 1_000, .tokens, 900),
      charge("i", day, 5, .images, 4), charge("m", day, 1_000, .money, 800),
    ]
    #expect(isAdmitted(try decide(charges, counter: 1)))
    #expect(book.sums("t:tokens") == [0, 900])
    #expect(book.sums("i:images") == [0, 4])
    #expect(book.sums("m") == [0, 800])
    #expect(book.sums("r") == [1, 0])
    guard case .refused(.exhausted(let left)) = try decide(charges, counter: 2) else {
      Issue.record(); return
    }
    #expect(left.unit == .tokens || left.unit == .images)
    try settle(1, .used(cost: 7, tokens: 120, images: 3))
    #expect(book.sums("t:tokens") == [120, 0])
    #expect(book.sums("i:images") == [3, 0])
    #expect(book.sums("m") == [7, 0])
    #expect(book.sums("r") == [1, 0])
  }

  @Test("RULES §5.2: tokens and images above what was held are booked as they are; none is ever negative")
  func above() throws {
    let charges = [charge("t", day, 1_000, .tokens, 10), charge("i", day, 9, .images, 1)]
    #expect(isAdmitted(try decide(charges, counter: 1)))
    try settle(1, .used(cost: 0, tokens: 5_000, images: -3))
    #expect(book.sums("t:tokens") == [5_000, 0])
    #expect(book.sums("i:images") == [0, 0])
    #expect(!isAdmitted(try decide(charges, counter: 2)))
  }

  @Test("RULES §5.2: an expired lease books every unit at its hold")
  func expired() throws {
    let charges = [
      charge("t", day, 1_000, .tokens, 10), charge("i", day, 9, .images, 2), charge("m", day, 9, .money, 5),
    ]
    #expect(isAdmitted(try decide(charges, counter: 1)))
    #expect(try Settling.expire(try #require(book.reservations.first), now: now, in: book) == 5)
    #expect(book.sums("t:tokens") == [10, 0])
    #expect(book.sums("i:images") == [2, 0])
    #expect(book.sums("m") == [5, 0])
  }

  @Test("A limit that comes to count another unit begins anew")
  func unitChanges() throws {
    #expect(isAdmitted(try decide([charge("x", day, 1, .requests)], counter: 1)))
    #expect(!isAdmitted(try decide([charge("x", day, 1, .requests)], counter: 2)))
    #expect(isAdmitted(try decide([charge("x", day, 100, .tokens, 60)], counter: 3)))
  }

  @Test("Of several limits that are used up the one that lasts longest is told")
  func longest() throws {
    let charges = [
      charge("m", minute, 1, .requests), charge("l", lifetime, 1, .requests), charge("d", day, 1, .requests),
    ]
    #expect(isAdmitted(try decide(charges, counter: 1)))
    guard case .refused(.exhausted(let left)) = try decide(charges, counter: 2) else {
      Issue.record(); return
    }
    #expect(left.rule == "l")
    #expect(left.resetsAt == .max)
    guard case .refused(.exhausted(let next)) = try decide([charges[0], charges[2]], counter: 3) else {
      Issue.record()
      return
    }
    #expect(next.resetsAt == day.end)
  }

  @Test("RULES §5.4: counts of a minute are never given back, and do not bound what a day gives back")
  func givenBack() throws {
    let charges = [charge("m", minute, 100, .requests), charge("d", day, 100, .requests)]
    for number in 1...8 {
      #expect(isAdmitted(try decide(charges, counter: UInt32(number))))
      try settle(UInt8(number), .released(giveBackCount: true))
    }
    #expect(book.sums("m") == [8, 0])
    #expect(book.sums("d") == [3, 0])
    // A minute's alone gives nothing back.
    #expect(isAdmitted(try decide([charges[0]], counter: 9)))
    try settle(9, .released(giveBackCount: true))
    #expect(book.sums("m") == [9, 0])
  }

  @Test("Each share of a budget is told of once in a period, with what was used, not what was held")
  func alarms() throws {
    let budget = { (amount: Int64) in [charge("b", day, 100, .money, amount, .everyone, alarms: true)] }
    #expect(isAdmitted(try decide(budget(90), counter: 1)))
    #expect(book.alarms == [])
    try settle(1, .used(cost: 49))
    #expect(book.alarms == [])
    for counter in 2...4 {
      #expect(isAdmitted(try decide(budget(1), counter: UInt32(counter))))
      try settle(UInt8(counter), .used(cost: 1))
    }
    #expect(book.alarms.map(\.share) == [50])
    #expect(book.alarms.first?.used == 50)
    #expect(book.alarms.first?.rule == "b")
    #expect(book.alarms.first?.subject == .named(.everyone, ""))
    #expect(book.alarms.first?.end == day.end)
    #expect(isAdmitted(try decide(budget(30), counter: 5)))
    try settle(5, .used(cost: 45))
    // 97: only the highest share that is new.
    #expect(book.alarms.map(\.share) == [50, 80])
    // What is left is too little: nothing is counted, and the end is told, once.
    for counter in 6...8 { #expect(!isAdmitted(try decide(budget(4), counter: UInt32(counter)))) }
    #expect(book.alarms.map(\.share) == [50, 80, 100])
    #expect(book.sums("b") == [97, 0])
    #expect(isAdmitted(try decide(budget(3), counter: 9)))
    try settle(9, .used(cost: 3))
    #expect(book.alarms.count == 3)
    // A raised limit has shares of its own.
    let more = charge("b", day, 200, .money, 65, .everyone, alarms: true)
    #expect(isAdmitted(try decide([more], counter: 10)))
    try settle(10, .used(cost: 65))
    #expect(book.alarms.map(\.share) == [50, 80, 100, 80])
  }

  @Test("A count tells of its shares when it counts, and a limit without alarms never")
  func counted() throws {
    for counter in 1...4 {
      _ = try decide(
        [charge("c", day, 4, .requests, alarms: true), charge("q", day, 4, .requests)],
        counter: UInt32(counter))
    }
    #expect(book.alarms.map(\.share) == [50, 100])
    #expect(book.alarms.allSatisfy { $0.rule == "c" && $0.unit == .requests && $0.subject == .device(1) })
    #expect(!isAdmitted(try decide([charge("z", day, 0, .money, 1, alarms: true)], counter: 9)))
    #expect(book.alarms.count == 2)
  }

  @Test("A share is not told of when another limit refuses the request")
  func refusedElsewhere() throws {
    let charges = [charge("c", day, 1, .requests, alarms: true), charge("z", day, 0, .money)]
    #expect(!isAdmitted(try decide(charges, counter: 1)))
    #expect(book.alarms == [])
    #expect(book.sums("c") == [0, 0])
  }

  @Test(
    "RULES §1.8, §1.9: a user who may not come to a key changes nothing of it, and is asked about only then")
  func standing() throws {
    let change = charge("users", day, 3, .requests, 1)
    func user(_ id: String) -> KeyUser { KeyUser(id: id, changes: [change]) }
    #expect(isAdmitted(try decide([], counter: 1, user: user("a"))))
    for (counter, refusal) in [AdmissionRefusal.userGone, .userLeaving, .userHeld, .userBanned].enumerated() {
      book.refusals = ["a": refusal, "b": refusal]
      #expect(try decide([], counter: UInt32(10 + counter), user: user("b")) == .refused(refusal))
      // RULES §1.5: used up all the same.
      #expect(try decide([], counter: UInt32(10 + counter)) == .refused(.counterReplayed))
      #expect(isAdmitted(try decide([], counter: UInt32(20 + counter), user: user("a"))))
    }
    #expect(book.devices[MemoryBook.keyID]?.userID == "a")
    #expect(book.sums("users") == [1, 0])
    // Banned until now is banned no more.
    for (counter, until) in [now + 1, now].enumerated() {
      book.devices[MemoryBook.keyID]?.userBannedUntil = until
      let decision = try decide([], counter: UInt32(30 + counter))
      #expect(isAdmitted(decision) == (until == now))
    }
    book.devices[MemoryBook.keyID]?.userBannedUntil = .max
    book.refusals = [:]
    #expect(isAdmitted(try decide([], counter: 40, user: user("c"))))
    #expect(book.devices[MemoryBook.keyID]?.userBannedUntil == nil)
  }

  @Test("RULES §4.3: who comes back under another id finds the person's counts; linking refills nothing")
  func persons() throws {
    let both = [
      charge("q", day, 2, .requests, 1, .user), charge("q", day, 2, .requests, 1, .person),
    ]
    func user(_ id: String, _ person: String?) -> KeyUser { KeyUser(id: id, person: person, changes: []) }
    // Anonymous, then linked: the user's own count stays.
    #expect(isAdmitted(try decide(both, counter: 1, user: user("a", nil))))
    #expect(isAdmitted(try decide(both, counter: 2, user: user("a", "P"))))
    #expect(book.devices[MemoryBook.keyID]?.person == "P")
    #expect(!isAdmitted(try decide(both, counter: 3, user: user("a", "P"))))
    // Deleted, and back under another id.
    #expect(isAdmitted(try decide(both, counter: 4, user: user("b", "P"))))
    #expect(!isAdmitted(try decide(both, counter: 5, user: user("b", "P"))))
    for number in 0..<50 {
      #expect(!isAdmitted(try decide(both, counter: UInt32(10 + number), user: user("c\(number)", "P"))))
    }
    // Another person on the phone has their own.
    #expect(isAdmitted(try decide(both, counter: 70, user: user("d", "Q"))))
    // And a session token, which knows the key alone, goes on as theirs.
    #expect(book.devices[MemoryBook.keyID]?.person == "Q")
    #expect(isAdmitted(try decide(both, counter: 71)))
    #expect(!isAdmitted(try decide(both, counter: 72)))
  }
}
