import AppleSimulator
import BramleyTesting
import Encodings
import HTTPMessages
import SignInWithApple
import Testing

@Suite("Simulated Apple ID: the life of an account")
struct AccountLifeTests {
  @Test("a revoked consent is told in a notification that passes the rule")
  func revoked() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn()
    place.clock.advance(seconds: 60)
    let sent = try await place.apple.revokeConsent(account: "ada@example.com", client: Cupertino.app)
    let notification = try await place.verify(sent)
    #expect(notification.id == sent.id && notification.client.clientID == Cupertino.app)
    #expect(notification.events.first?.type == .consentRevoked)
    #expect(notification.events.first?.subject == granted.subject)
    #expect(notification.events.first?.time == place.now * 1_000)
    #expect(AppleNotificationBody.payload(sent.body) == sent.token)
    #expect(sent.request().target == "/apple/notifications")
    await #expect(throws: SimulatorError.noConsent) {
      try await place.apple.revokeConsent(account: "ada@example.com", client: Cupertino.app)
    }
  }

  @Test(
    "notifications in every spelling that was seen or documented", arguments: AppleIDBehaviour.Events.allCases
  )
  func spellings(_ events: AppleIDBehaviour.Events) async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn(hidesEmail: true)
    for inSeconds in [false, true] {
      await place.apple.behave {
        $0.events = events
        $0.eventTimesInSeconds = inSeconds
      }
      let off = try await place.apple.setForwarding(false, account: "ada@example.com", client: Cupertino.app)
      let event = try #require(try await place.verify(off).events.first)
      #expect(event.type == .emailDisabled && event.time == place.now * 1_000)
      #expect(event.email == granted.user?.email && event.isPrivateEmail == true)
      let on = try await place.apple.setForwarding(true, account: "ada@example.com", client: Cupertino.app)
      #expect(try await place.verify(on).events.first?.type == .emailEnabled)
      #expect(on.id != off.id)
    }
    let odd = try await place.apple.notification(
      "moon-phase", account: "ada@example.com", client: Cupertino.site, time: place.now - 3_600)
    let read = try await place.verify(odd)
    #expect(read.events.first?.type.isKnown == false && read.client.kind == .web)
    #expect(read.events.first?.time == (place.now - 3_600) * 1_000)
  }

  @Test("a deleted account is gone, and comes back as somebody else")
  func deleted() async throws {
    for old in [false, true] {
      let place = try await Cupertino()
      await place.apple.behave { $0.oldDeletionSpelling = old }
      let before = try await place.signIn()
      let tokens = try await place.exchanged(try await place.signIn())
      _ = try await place.apple.signIn(account: "ada@example.com", client: "com.other.app", nonce: nil)
      let sent = try await place.apple.deleteAccount("ada@example.com")
      #expect(sent.count == 2)
      let ours = try await place.verify(try #require(sent.last))
      #expect(ours.events.first?.type == .accountDeleted && ours.events.first?.subject == before.subject)
      await #expect(throws: SimulatorError.unknownAccount) { try await place.signIn() }
      await #expect(throws: AppleRefusal.self) {
        try await place.tokens(
          place.requests.validate(refreshToken: #require(tokens.refreshToken), secret: place.secret()))
      }
      await place.apple.add(SimulatedAccount.samples[0])
      let after = try await place.signIn()
      #expect(after.subject != before.subject && after.user != nil)
    }
  }

  @Test("forwarding is for relay addresses, and nothing is told of who has not consented")
  func refused() async throws {
    let place = try await Cupertino()
    _ = try await place.signIn()
    await #expect(throws: SimulatorError.noConsent) {
      try await place.apple.setForwarding(false, account: "ada@example.com", client: Cupertino.app)
    }
    await #expect(throws: SimulatorError.noConsent) {
      try await place.apple.notification(
        "consent-revoked", account: "grace@example.com", client: Cupertino.app)
    }
    await #expect(throws: SimulatorError.unknownClient) {
      try await place.apple.revokeConsent(account: "ada@example.com", client: "com.nobody")
    }
    await #expect(throws: SimulatorError.unknownAccount) {
      try await place.apple.deleteAccount("nobody@example.com")
    }
    #expect(try await place.apple.deleteAccount("grace@example.com").isEmpty)
  }

  @Test("what is kept between runs is all there again")
  func state() async throws {
    let place = try await Cupertino()
    let granted = try await place.signIn(hidesEmail: true)
    let tokens = try await place.exchanged(try await place.signIn())
    let kept = try await place.apple.state
    let again = try await Cupertino()
    try await again.apple.restore(kept)
    let published = try await again.published()
    #expect(Set(published.keys) == Set(try await place.published().keys))
    let refreshed = try await again.tokens(
      again.requests.validate(refreshToken: #require(tokens.refreshToken), secret: place.secret()))
    #expect(refreshed.idToken != nil)
    #expect(try await again.apple.teamKeys(of: Cupertino.team).map(\.p8) == [place.teamKey.p8])
    let signedIn = try await again.signIn()
    #expect(signedIn.subject == granted.subject && signedIn.user == nil)
    #expect(try await again.verify(signedIn.identityToken).email == granted.user?.email)
    for broken in ["", "{}", String(decoding: kept, as: UTF8.self).replacing("\"subject\"", with: "\"x\"")] {
      await #expect(throws: SimulatorError.malformedState) {
        try await again.apple.restore(Array(broken.utf8))
      }
    }
    #expect(try await again.signIn().subject == granted.subject, "a failed restore changes nothing")
  }
}
