import Accounts
import Encodings
import Testing

@Suite("How a user may be reached") struct MailContactTests {
  private static func id(_ number: UInt8) -> UUID {
    UUID(octets: [UInt8](repeating: number, count: 16)) ?? { preconditionFailure() }()
  }

  private static func user(
    _ email: String?, confirmed: Bool = true, isPrivate: Bool? = nil, forwards: Bool? = nil,
    status: Identity.Status = .live
  ) -> User {
    var identity = Identity(
      id: id(2), userID: id(1), provider: "apple", teamID: "T", subject: "s", email: email,
      isPrivateEmail: isPrivate, consentAt: 0, data: [:], createdAt: 0, updatedAt: 0, lastSignInAt: 0)
    identity.forwardsEmail = forwards
    identity.status = status
    return User(
      id: id(1), isAnonymous: false, email: email, emailConfirmedAt: confirmed ? 1 : nil, createdAt: 0,
      updatedAt: 0, identities: [identity])
  }

  @Test("nobody without an address has one")
  func none() {
    #expect(MailContact(Self.user(nil)) == nil)
    #expect(MailContact(Self.user("")) == nil)
  }

  @Test("an own, verified address may be written to")
  func own() throws {
    let contact = try #require(MailContact(Self.user("a@example.com", isPrivate: false)))
    #expect(contact.mayContact && contact.mayMarket && !contact.isPrivate)
  }

  @Test("no marketing to a relay address, whatever the token said of it", arguments: [true, false, nil])
  func relay(isPrivate: Bool?) throws {
    let contact = try #require(
      MailContact(Self.user("x@privaterelay.appleid.com", isPrivate: isPrivate)))
    #expect(contact.isPrivate && contact.mayContact && !contact.mayMarket)
  }

  @Test("nothing to a relay address that forwards nothing, or whose consent is gone")
  func silent() throws {
    for user in [
      Self.user("x@privaterelay.appleid.com", forwards: false),
      Self.user("x@privaterelay.appleid.com", status: .revoked),
      Self.user("a@example.com", confirmed: false),
    ] {
      let contact = try #require(MailContact(user))
      #expect(!contact.mayContact && !contact.mayMarket)
    }
  }
}
