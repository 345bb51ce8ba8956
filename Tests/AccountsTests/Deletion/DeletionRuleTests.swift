import Accounts
import Encodings
import Testing

@Suite struct DeletionRuleTests {
  private typealias Case = DeletionExample
  private let now = Example.now

  private func refusal(_ request: DeletionRequest, _ facts: DeletionRule.Facts) -> DeletionRefusal? {
    do {
      _ = try DeletionRule.decide(request, facts)
      return nil
    } catch {
      return error
    }
  }

  @Test("RULES §3.2: the proof is looked at once more; anonymous users prove the session alone")
  func proof() {
    let request = Case.request(.session(Example.id(2), maxAge: 300))
    var session = Example.session()
    #expect(refusal(request, Case.facts()) == .sessionNotFound)
    #expect(refusal(request, Case.facts(session: Example.session(3))) == .sessionNotFound)
    #expect(refusal(request, Case.facts(session: Example.session(2, of: 7))) == .sessionNotFound)
    #expect(refusal(request, Case.facts(session: session)) == nil)
    var user = Example.user(isAnonymous: false)
    user.identities = [Example.identity()]
    #expect(refusal(request, Case.facts(user, session: session)) == .stepUpRequired(maxAge: 300))
    session.authTime = now / 1_000 - 300
    #expect(refusal(request, Case.facts(user, session: session)) == nil)
    session.authTime -= 1
    #expect(refusal(request, Case.facts(user, session: session)) == .stepUpRequired(maxAge: 300))
    #expect(refusal(Case.request(), Case.facts(user)) == nil)
    user.bannedUntil = now + 1
    #expect(refusal(request, Case.facts(user, session: session)) == .banned)
    #expect(refusal(Case.request(), Case.facts(user)) == nil)
    #expect(refusal(Case.request(), Case.facts(nil)) == .userNotFound)
  }

  @Test("RULES §4.2: asking again finds the deletion, whatever happened meanwhile")
  func again() throws {
    for state: Deletion.State in [.open, .committed, .deleted] {
      let named = Case.deletion(state)
      #expect(try DeletionRule.decide(Case.request(), Case.facts(nil, named: named)) == .known(named))
    }
    var user = Example.user()
    user.deletingSince = now - 1
    var other = Case.request()
    other.operation = Case.operation(2)
    #expect(
      try DeletionRule.decide(other, Case.facts(user, last: Case.deletion())) == .known(Case.deletion()))
    var foreign = Case.deletion(.deleted)
    foreign.user = Example.id(7)
    #expect(refusal(Case.request(), Case.facts(named: foreign)) == .operationTaken)
  }

  @Test("RULES §4.1: one that was kept is begun anew, in its own row")
  func anew() throws {
    var kept = Case.deletion(.kept)
    kept.createdAt = now - 5
    kept.failure = "Apple"
    let tokens = [Case.token("a")]
    var request = Case.request()
    request.fresh = Case.token("b")
    request.owned = ["objects"]
    #expect(refusal(request, Case.facts(named: kept)) == .appleAccountMismatch)
    var user = Example.user(isAnonymous: false)
    user.identities = [Example.identity(2)]
    #expect(refusal(request, Case.facts(user)) == .appleAccountMismatch)
    user.identities.append(Example.identity())
    let decision = try DeletionRule.decide(request, Case.facts(user, named: kept, last: kept, tokens: tokens))
    guard case .begin(let begun) = decision else {
      Issue.record("\(decision)")
      return
    }
    #expect(begun.id == 9 && begun.createdAt == now - 5 && begun.failure == nil && begun.state == .open)
    #expect(begun.tokens.map(\.token.clientID) == ["a", "b"] && begun.owed == ["objects"])
    #expect(begun.nextTry == now + 60_000)
  }

  @Test("RULES §4.1: only a success at Apple, or data that is gone, commits it, and nothing takes that back")
  func commits() {
    let open = Case.deletion(tokens: 2)
    let dead = DeletionRule.recorded(open, token: 1, .unusable, lease: now + 9, now: now + 1)
    #expect(dead.state == .open && dead.tokens.map(\.isDead) == [true, false])
    let done = DeletionRule.recorded(dead, token: 2, .revoked, lease: now + 9, now: now + 1)
    #expect(done.state == .committed && done.revoked == 1 && done.tokens.map(\.id) == [1])
    #expect(DeletionRule.recorded(done, token: 2, .revoked, lease: now, now: now) == done)
    #expect(DeletionRule.kept(done, "Apple", now: now + 2) == done)
    let kept = DeletionRule.kept(dead, "Apple", now: now + 2)
    #expect(kept.state == .kept && kept.tokens.isEmpty && kept.failure == "Apple")
    let gone = DeletionRule.erased(
      Case.deletion(owed: ["a", "b"]), "a", lease: now + 9, now: now + 1)
    #expect(gone.state == .committed && gone.owed == ["b"])
    // A success that comes when the account was given back changes nothing about that.
    var late = kept
    late.tokens = open.tokens
    #expect(DeletionRule.recorded(late, token: 1, .revoked, lease: now, now: now).state == .kept)
  }

  @Test("RULES §2.4: what is superseded is dropped, once the account is gone")
  func superseded() {
    let deleted = DeletionRule.superseded(Case.deletion(.deleted, tokens: 2), tokens: [1, 7], now: now + 1)
    #expect(deleted.waiting.map(\.id) == [2] && deleted.superseded == 1)
    #expect(DeletionRule.superseded(Case.deletion(), tokens: [1], now: now) == Case.deletion())
  }

  @Test("rounds come ever later, and after a day the account waits no longer for Apple")
  func backoff() {
    var deletion = Case.deletion(.committed)
    var at = now
    var delays: [Int64] = []
    for _ in 1..<DeletionRule.attemptLimit {
      deletion = DeletionRule.postponed(deletion, "Apple", now: at)
      delays.append((deletion.nextTry - at) / 60_000)
      at = deletion.nextTry
    }
    #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360])
    #expect(!deletion.waiting.isEmpty && at - now > 20 * 3_600_000)
    deletion = DeletionRule.postponed(deletion, "Apple", now: at)
    #expect(deletion.waiting.isEmpty && deletion.tokens.map(\.isDead) == [true] && deletion.nextTry == at)
    #expect(deletion.revocation == .byHand && deletion.isUnfinished)
    let retried = DeletionRule.retried(DeletionRule.finished(deletion, now: at), now: at)
    #expect(retried.waiting.count == 1 && retried.attempts == 0 && retried.isUnfinished)
    var owed = Case.deletion(.deleted, tokens: 0, owed: ["objects"])
    for _ in 0..<100 { owed = DeletionRule.postponed(owed, "disk", now: now) }
    #expect(owed.isUnfinished && owed.nextTry == now + 21_600_000)
  }

  @Test("what a user is told of the consents at Apple")
  func summary() {
    #expect(Case.deletion(.deleted).revocation == .queued)
    var none = Case.deletion(.deleted, tokens: 0)
    #expect(none.revocation == .byHand)
    none.identities = 0
    #expect(none.revocation == .none)
    none.identities = 1
    none.superseded = 1
    #expect(none.revocation == .revoked)
    #expect(Case.deletion(.kept).isUnfinished == false)
  }
}
