import AppAttest
import Encodings
import Testing

@Suite("Challenges")
struct ChallengeTests {
  private let secret = ChallengeSecret(id: 3, secret: [UInt8](repeating: 9, count: 32))
  private let random = [UInt8](0..<16)
  private let now: Int64 = 1_800_000_000

  private func minted(_ purpose: ChallengePurpose = .request) throws -> Challenge {
    try #require(ChallengeAuthority(secrets: [secret]).mint(purpose: purpose, random: random, now: now))
  }

  @Test("RULES §1.4: key id, purpose, expiry, random and MAC in 42 octets, for 300 s")
  func layout() throws {
    let challenge = try minted()
    #expect(challenge.bytes.count == 42)
    #expect(Array(challenge.bytes[..<2]) == [3, 2])
    #expect(Hex.encode(challenge.bytes[2..<10]) == "000000006b49d32c")
    #expect(Array(challenge.bytes[10..<26]) == random)
    #expect(challenge.expiry == now + 300)
  }

  @Test("it holds for its time and purpose, in any base64 spelling")
  func holds() throws {
    let authority = ChallengeAuthority(secrets: [secret])
    let challenge = try minted()
    for text in [Base64.encode(challenge.bytes), Base64.encodeURL(challenge.bytes)] {
      #expect(try authority.verify(text, purpose: .request, now: now) == challenge)
      #expect(try authority.verify(text, purpose: .request, now: now + 299) == challenge)
      #expect(throws: ChallengeError.expired) {
        try authority.verify(text, purpose: .request, now: now + 300)
      }
      #expect(throws: ChallengeError.wrongPurpose) {
        try authority.verify(text, purpose: .registration, now: now)
      }
    }
  }

  @Test("RULES §1.4: current and previous secrets are honoured, others not")
  func rotation() throws {
    let next = ChallengeSecret(id: 4, secret: [UInt8](repeating: 8, count: 32))
    let other = ChallengeSecret(id: 3, secret: [UInt8](repeating: 7, count: 32))
    let challenge = try minted()
    let both = ChallengeAuthority(secrets: [next, secret])
    #expect(try both.verify(challenge.bytes, purpose: .request, now: now) == challenge)
    #expect(both.mint(purpose: .request, random: random, now: now)?.bytes.first == 4)
    #expect(throws: ChallengeError.unknownSecret) {
      try ChallengeAuthority(secrets: [next]).verify(challenge.bytes, purpose: .request, now: now)
    }
    #expect(throws: ChallengeError.unauthentic) {
      try ChallengeAuthority(secrets: [other]).verify(challenge.bytes, purpose: .request, now: now)
    }
    #expect(ChallengeAuthority(secrets: []).mint(purpose: .request, random: random, now: now) == nil)
    #expect(both.mint(purpose: .request, random: [1], now: now) == nil)
  }

  @Test("any changed bit, any cut and anything added is refused")
  func damage() throws {
    let authority = ChallengeAuthority(secrets: [secret])
    let challenge = try minted(.registration)
    for bit in 0..<challenge.bytes.count * 8 {
      var changed = challenge.bytes
      changed[bit / 8] ^= 1 << UInt8(bit % 8)
      for purpose in ChallengePurpose.allCases {
        #expect(throws: ChallengeError.self) { try authority.verify(changed, purpose: purpose, now: now) }
      }
    }
    for cut in 0..<challenge.bytes.count {
      #expect(throws: ChallengeError.malformed) {
        try authority.verify(Array(challenge.bytes[..<cut]), purpose: .registration, now: now)
      }
    }
    #expect(throws: ChallengeError.malformed) {
      try authority.verify(challenge.bytes + [0], purpose: .registration, now: now)
    }
    #expect(throws: ChallengeError.malformed) { try authority.verify("?", purpose: .request, now: now) }
    #expect(throws: ChallengeError.malformed) {
      try authority.verify(String(repeating: "A", count: 100_000), purpose: .request, now: now)
    }
  }

  @Test("a purpose's MAC key is its own")
  func separation() throws {
    let registration = try minted(.registration).bytes
    let request = try minted(.request).bytes
    let spliced = request[..<26] + registration[26...]
    #expect(throws: ChallengeError.unauthentic) {
      try ChallengeAuthority(secrets: [secret]).verify(Array(spliced), purpose: .request, now: now)
    }
  }

  @Test("RULES §1.11: a derived challenge is another for every other fact, and for every secret")
  func derived() throws {
    let secret = ChallengeSecret(id: 1, secret: [UInt8](repeating: 1, count: 32))
    let next = ChallengeSecret(id: 2, secret: [UInt8](repeating: 2, count: 32))
    let authority = ChallengeAuthority(secrets: [secret])
    let key = [UInt8](repeating: 7, count: 32)
    let now: Int64 = 1_800_000_000
    let first = try #require(authority.derived(clientID: "a", keyID: key, mints: 0, now: now))
    #expect(first.challenge.count == 32)
    var all = [first.challenge]
    for (client, keyID, mints, at) in [
      ("b", key, 0, now), ("a", [UInt8](repeating: 8, count: 32), 0, now), ("a", key, 1, now),
      ("a", key, 0, now + 300), ("", key, 0, now), ("a", key + [0x61], 0, now), ("", key + [0x61], 0, now),
    ] as [(String, [UInt8], Int64, Int64)] {
      let other = try #require(authority.derived(clientID: client, keyID: keyID, mints: mints, now: at))
      all.append(other.challenge)
    }
    let rotated = ChallengeAuthority(secrets: [next, secret])
    all.append(try #require(rotated.derived(clientID: "a", keyID: key, mints: 0, now: now)).challenge)
    #expect(Set(all).count == all.count)
    let derivable = { (authority: ChallengeAuthority, mints: Int64, at: Int64) in
      authority.derivable(clientID: "a", keyID: key, mints: mints, now: at).contains(first.challenge)
    }
    #expect(derivable(authority, 0, now + first.expiresIn - 1) && derivable(rotated, 0, now))
    #expect(!derivable(authority, 0, now + first.expiresIn) && !derivable(authority, 1, now))
    #expect(!derivable(ChallengeAuthority(secrets: [next]), 0, now) && !derivable(authority, 0, now - 300))
    #expect(ChallengeAuthority(secrets: []).derived(clientID: "a", keyID: key, mints: 0, now: now) == nil)
  }
}
