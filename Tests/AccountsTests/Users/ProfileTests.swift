import Accounts
import Encodings
import Testing

@Suite("Profile")
struct ProfileTests {
  private let now = Example.now
  private let relay = "abc@privaterelay.appleid.com"

  @Test("name and address are kept when they first come, and never overwritten by nothing")
  func kept() {
    var signIn = Example.signIn()
    signIn.assertion.fullName = PersonName(given: "Ada", family: "")
    let identity = Profile.identity(signIn, of: Example.id(1))
    let user = Profile.updated(Example.user(), by: signIn.assertion, before: nil, now: now)
    #expect(Metadata.member("full_name", of: user.userMetadata) == "Ada")
    #expect(Metadata.member("family_name", of: user.userMetadata) == nil)
    #expect(Metadata.member("given_name", of: identity.data) == "Ada")
    for email in [nil, ""] {
      for name in [nil, PersonName(), PersonName(given: "", family: "")] {
        var later = Example.assertion()
        later.email = email
        later.isEmailVerified = false
        later.fullName = name
        later.authTime = nil
        #expect(Profile.updated(user, by: later, before: identity.email, now: now) == user)
        var known = identity
        known.consentAt = max(known.consentAt, later.issuedAt)
        #expect(Profile.updated(identity, by: later, now: now) == known)
      }
    }
    // What the person corrected in the app stays.
    var corrected = user
    corrected.userMetadata = Metadata.merge(["full_name": "A. L."], into: user.userMetadata)
    signIn.assertion.fullName = PersonName(given: "Ada", family: "Lovelace")
    let again = Profile.updated(corrected, by: signIn.assertion, before: identity.email, now: now)
    #expect(Metadata.member("full_name", of: again.userMetadata) == "A. L.")
    #expect(Metadata.member("family_name", of: again.userMetadata) == "Lovelace")
  }

  @Test("mail follows the identity it came from; the person's own address is kept when they hide it")
  func addresses() {
    var assertion = Example.assertion()
    let open = Profile.updated(Example.user(), by: assertion, before: nil, now: now)
    #expect(open.email == "1@example.com")
    #expect(open.realEmail == "1@example.com")
    assertion.email = relay
    // The address tells, whatever the claim.
    assertion.isPrivateEmail = nil
    let hidden = Profile.updated(open, by: assertion, before: "1@example.com", now: now + 5)
    #expect(hidden.email == relay)
    #expect(hidden.emailConfirmedAt == now + 5)
    #expect(hidden.realEmail == "1@example.com")
    var own = open
    own.email = "operator@example.com"
    #expect(Profile.updated(own, by: assertion, before: "1@example.com", now: now).email == own.email)
    assertion.email = "2@example.com"
    assertion.isEmailVerified = false
    let unverified = Profile.updated(Example.user(), by: assertion, before: nil, now: now)
    #expect(unverified.email == "2@example.com")
    #expect(unverified.emailConfirmedAt == nil)
    #expect(unverified.realEmail == nil)
    #expect(Metadata.member("email_verified", of: unverified.userMetadata) == false)
    var silent = Example.assertion()
    silent.email = nil
    let nameless = Profile.updated(Example.user(), by: silent, before: nil, now: now)
    #expect(nameless.email == nil)
    // auth#1032: nothing is verified where there is no address.
    #expect(Metadata.member("email_verified", of: nameless.userMetadata) == false)
  }

  @Test("identity_data is what Supabase's clients expect, with the claims that come now and then kept")
  func data() {
    var signIn = Example.signIn()
    signIn.assertion.isPrivateEmail = false
    let identity = Profile.identity(signIn, of: Example.id(1))
    #expect(
      identity.data == [
        "iss": "https://appleid.apple.com", "sub": "000001.sub", "provider_id": "000001.sub",
        "email": "1@example.com", "email_verified": true, "phone_verified": false,
        "custom_claims": ["auth_time": .integer((now - 6_000) / 1_000), "is_private_email": false],
      ])
    var later = Example.assertion()
    (later.email, later.authTime, later.isEmailVerified) = (nil, nil, false)
    later.transferSubject = "t"
    let updated = Profile.updated(identity, by: later, now: now)
    #expect(Metadata.member("email", of: updated.data) == "1@example.com")
    #expect(Metadata.member("email_verified", of: updated.data) == true)
    #expect(
      Metadata.member("custom_claims", of: updated.data) == [
        "auth_time": .integer((now - 6_000) / 1_000), "is_private_email": false, "transfer_sub": "t",
      ])
    later.issuedAt = 0
    #expect(Profile.updated(updated, by: later, now: now).consentAt == updated.consentAt)
  }

  @Test("RULES §3.9: a long name never makes user_metadata too large")
  func size() {
    var user = Example.user()
    user.userMetadata = ["a": .string(String(repeating: "x", count: Metadata.limit - 60))]
    var assertion = Example.assertion()
    assertion.fullName = PersonName(given: String(repeating: "y", count: 40), family: "z")
    let updated = Profile.updated(user, by: assertion, before: nil, now: now)
    #expect(Metadata.fits(updated.userMetadata))
    #expect(Metadata.member("family_name", of: updated.userMetadata) == "z")
    user.userMetadata = ["a": .string(String(repeating: "x", count: Metadata.limit - 8))]
    let full = Profile.updated(user, by: assertion, before: nil, now: now)
    #expect(full.userMetadata == user.userMetadata)
  }

  @Test("unlinking sends mail to an address that is left")
  func unlinking() {
    let (first, second) = (Example.identity(1), Example.identity(2))
    var user = Example.user(isAnonymous: false)
    user.identities = [first, second]
    user.email = "1@example.com"
    user.emailConfirmedAt = 5
    #expect(Profile.updated(user, unlinking: first, now: now).email == "2@example.com")
    #expect(Profile.updated(user, unlinking: second, now: now).email == "1@example.com")
    user.identities = [first]
    let bare = Profile.updated(user, unlinking: first, now: now)
    #expect(bare.email == nil)
    #expect(bare.emailConfirmedAt == nil)
  }
}
