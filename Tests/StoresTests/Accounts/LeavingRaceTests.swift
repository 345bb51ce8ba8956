import Accounts
import Encodings
import SQL
import Stores
import Testing

/// Who is left behind, while they are linked, banned and deleted by others.
@Suite("Who is left behind, and what happens to them at once", .serialized) struct LeavingRaceTests {
  private typealias Fixture = AccountFixture
  private let now = AccountFixture.now

  /// A session that left a guest behind, by the number of the guest.
  private func switched(_ fixture: Fixture, _ number: Int) async throws -> (
    guest: OpenSession, open: OpenSession
  ) {
    let guest = try await fixture.signUp(number)
    let refused = try await fixture.link(1, token: number, number, bearer: guest.session.id).refusal
    #expect(refused == .linkedToAnotherUser)
    let open = try await fixture.accounts.switch(
      AccountSwitch(
        ticketHash: Fixture.hash(3_000 + number), bearer: guest.session.id,
        session: Fixture.id(40_000 + number), now: now)
    ).get()
    return (guest, open)
  }

  @Test(
    "RULES §3.7: discarded or linked, never both: whoever has an identity stays with it",
    arguments: Backend.allCases)
  func linked(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let time = now
    for number in 100..<108 {
      let (guest, open) = try await switched(fixture, number)
      async let link = fixture.link(number, token: 1_000 + number, 1_000 + number, bearer: guest.session.id)
      async let said = fixture.accounts.leave(
        LeavingWord(session: open.session.id, word: .discard, now: time))
      let (linked, discarded) = try await (link, said)
      let left = try await fixture.users.user(guest.user.id)
      switch (linked, discarded) {
      case (.success, .failure(.nothingLeftBehind)): #expect(left?.identities.count == 1)
      case (.failure(.sessionNotFound), .success): #expect(left == nil)
      default: Issue.record("\(linked), \(discarded)")
      }
    }
  }

  @Test(
    "RULES §3.7, §4.1: both words, a ban and the guest's own deletion at once: one word holds, one deletion at most",
    arguments: Backend.allCases)
  func words(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let time = now
    for number in 100..<112 {
      let (isBanned, isDeleted) = (number.isMultiple(of: 3), number.isMultiple(of: 4))
      let (guest, open) = try await switched(fixture, number)
      async let kept = fixture.accounts.leave(LeavingWord(session: open.session.id, word: .keep, now: time))
      async let discarded = fixture.accounts.leave(
        LeavingWord(session: open.session.id, word: .discard, now: time))
      async let banned =
        isBanned
        ? fixture.users.update(guest.user.id, UserChange(bannedUntil: .max), now: time) : nil
      async let gone = isDeleted ? fixture.delete(guest.user.id) : false
      let outcome = try await (kept, discarded, gone)
      _ = try await banned
      let words = [outcome.0, outcome.1].count { if case .success = $0 { true } else { false } }
      #expect(words <= 1)
      if !isBanned, !isDeleted { #expect(words == 1) }
      let left = try await fixture.users.user(guest.user.id)
      if case .success = outcome.1 { #expect(left == nil) }
      #expect(try await fixture.accounts.session(open.session.id, now: now)?.user.id == Fixture.id(1))
    }
  }

  @Test(
    "RULES §3.7: two sessions that left the same user say different words at once: one is heard",
    arguments: Backend.allCases)
  func twoSessions(backend: Backend) async throws {
    let fixture = try await Fixture(backend)
    _ = try await fixture.signIn(1, token: 1, 1).get()
    let time = now
    for number in 100..<108 {
      let (guest, first) = try await switched(fixture, number)
      let refused = try await fixture.link(
        1, token: 1_000 + number, 1_000 + number, bearer: guest.session.id
      ).refusal
      #expect(refused == .linkedToAnotherUser)
      let second = try await fixture.accounts.switch(
        AccountSwitch(
          ticketHash: Fixture.hash(4_000 + number), bearer: guest.session.id,
          session: Fixture.id(50_000 + number), now: now)
      ).get()
      async let kept = fixture.accounts.leave(
        LeavingWord(session: first.session.id, word: .keep, now: time))
      async let discarded = fixture.accounts.leave(
        LeavingWord(session: second.session.id, word: .discard, now: time))
      let outcome = try await (kept, discarded)
      let left = try await fixture.users.user(guest.user.id)
      switch outcome {
      case (.success, .failure(.nothingLeftBehind)): #expect(left == guest.user)
      case (.failure(.nothingLeftBehind), .success): #expect(left == nil)
      default: Issue.record("\(outcome)")
      }
    }
  }
}
