import Accounts
import Admission
import AppleSimulator
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import SQL
import SignInWithApple
import Stores
import Testing

@testable import Server

/// What an account's deletion at Apple does here (RULES §2.4).
@Suite struct AppleAccountDeletedTests {
  @Test("a deleted Apple account is signed out, in either spelling", arguments: [false, true])
  func accountDeleted(old: Bool) async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onAccountDeleted = .revoke })
    await apple.apple.behave { $0.oldDeletionSpelling = old }
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    for notification in try await apple.apple.deleteAccount(AppleServer.ada) {
      try await apple.deliver(notification)
    }
    #expect(try await apple.isLive(session) == false)
    #expect(apple.events("revoked") == 1)
    let id = try #require(UUID(session.userID))
    #expect(try await storedUsers(apple.server).user(id)?.identities.map(\.status) == [.revoked])
  }

  @Test("RULES §2.4: a deletion is believed only where Apple no longer honours the refresh token")
  func contradicted() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    let notification = try await apple.apple.notification(
      "account-deleted", account: AppleServer.ada, client: AppleServer.app)
    try await apple.deliver(notification)
    #expect(try await apple.isLive(session))
    #expect(apple.events("contradicted") == 1)
    #expect(
      apple.server.whole.server.metrics.text
        .contains(#"bramley_alarms_total{alarm="apple_deletion"} 1"#))
  }

  @Test("RULES §2.4: while Apple does not say whether the token holds, a deletion waits")
  func undecided() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onAccountDeleted = .revoke })
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    let notifications = try await apple.apple.deleteAccount(AppleServer.ada)
    await apple.apple.fail(.token, with: .status(503), times: 2)
    for notification in notifications { try await apple.deliver(notification) }
    #expect(try await apple.isLive(session))
    try await apple.run("apply_apple_events")
    #expect(try await apple.isLive(session))
    for isLast in [false, true] {
      apple.server.whole.clock.advance(milliseconds: 2 * AppleNotifications.retryAfter)
      try await apple.run("apply_apple_events")
      let lives = try await apple.isLive(session)
      #expect(lives != isLast)
    }
    #expect(apple.events("revoked") == 1)
  }

  @Test("an operator may want to look at deletions first")
  func recorded() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onAccountDeleted = .record })
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    for notification in try await apple.apple.deleteAccount(AppleServer.ada) {
      try await apple.deliver(notification)
    }
    #expect(try await apple.isLive(session))
    #expect(apple.events("recorded") == 1)
  }

  @Test("with the Apple account the account goes, by its own saga")
  func deletes() async throws {
    let apple = try await AppleServer()
    let session = try await apple.signInWithCode()
    let id = try #require(UUID(session.userID))
    apple.server.whole.clock.advance(seconds: 5)
    for notification in try await apple.apple.deleteAccount(AppleServer.ada) {
      try await apple.deliver(notification)
    }
    #expect(try await apple.isLive(session) == false)
    #expect(apple.events("deleting") == 1)
    #expect(try await storedUsers(apple.server).user(id) == nil)
    try await apple.run("apply_apple_events")
    #expect(apple.events("deleting") == 1, "once")
  }

  @Test("RULES §2.3: withdrawn consent deletes where the operator wants so, and who comes back is new")
  func consentDeletes() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onConsentRevoked = .delete })
    let session = try await apple.signInWithCode()
    let id = try #require(UUID(session.userID))
    apple.server.whole.clock.advance(seconds: 5)
    try await apple.deliver(apple.apple.revokeConsent(account: AppleServer.ada, client: AppleServer.app))
    #expect(try await storedUsers(apple.server).user(id) == nil)
    #expect(apple.events("deleting") == 1)
    apple.server.whole.clock.advance(seconds: 60)
    #expect(try await apple.signIn().userID != session.userID)
  }

  @Test("RULES §2.4: a consent that Apple still honours is not deleted for")
  func honoured() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onConsentRevoked = .delete })
    let session = try await apple.signInWithCode()
    apple.server.whole.clock.advance(seconds: 5)
    try await apple.deliver(
      apple.apple.notification("consent-revoked", account: AppleServer.ada, client: AppleServer.app))
    #expect(try await apple.isLive(session))
    #expect(apple.events("contradicted") == 1)
  }

  @Test("the process ends between closing the sessions and the deletion: the next one goes on")
  func resumed() async throws {
    let apple = try await AppleServer({ $0.auth?.apple?.onConsentRevoked = .delete })
    let session = try await apple.signInWithCode()
    let id = try #require(UUID(session.userID))
    let database = apple.server.whole.database
    let identity = try #require(try await storedUsers(apple.server).user(id)?.identities.first)
    let now = apple.server.whole.clock.now
    let store = SQLAppleEventStore(database)
    let event = Accounts.AppleEvent(
      id: "lost", type: "consent-revoked", teamID: identity.teamID, subject: identity.subject, time: now + 1)
    #expect(try await store.record([event], now: now))
    let begun = try await store.apply(
      "lost", consentHolds: false, policy: AppleEventPolicy(onConsentRevoked: .delete), now: now)
    #expect(begun?.outcome == .deleting)
    #expect(try await apple.isLive(session) == false)
    #expect(try await storedUsers(apple.server).user(id) != nil)
    apple.server.whole.clock.advance(milliseconds: 2 * AppleNotifications.retryAfter)
    try await apple.run("apply_apple_events")
    #expect(try await storedUsers(apple.server).user(id) == nil)
  }
}
