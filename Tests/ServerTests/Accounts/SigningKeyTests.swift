import Accounts
import BramleyTesting
import Cryptography
import Encodings
import HTTPMessages
import Stores
import Testing

@testable import Server

@Suite struct SigningKeyTests {
  private func sealed(_ names: String...) -> [Configuration.Auth.SealingKey] {
    names.map { name in
      .init(name: name, key: Secret(Base64.encode(SHA256.hash(name))))
    }
  }

  private func published(_ server: AccountServer) async throws -> [String] {
    let response = try await server.ask(.get, "/.well-known/jwks.json")
    return try await response.json["keys"]?.elements?.compactMap { $0["kid"]?.string } ?? []
  }

  private func kid(_ session: ClientSession) throws -> String? {
    try JWS.Compact(parsing: session.accessToken).header.kid
  }

  @Test("contract 0.8: a new key is published ten minutes before it signs, the old one a token's life after")
  func rotation() async throws {
    let server = try await AccountServer()
    let first = try await server.signUp()
    let old = try #require(try kid(first))
    #expect(try await published(server) == [old])
    let job = server.whole.server.jobs.first { $0.name == "rotate_signing_key" }
    _ = await job?.run()
    #expect(try await published(server) == [old], "not before its time")
    server.whole.clock.advance(seconds: 30 * 86_400)
    _ = await job?.run()
    #expect(try await published(server).count == 2)
    let second = try await server.signUp()
    #expect(try kid(second) == old)
    server.whole.clock.advance(seconds: 600)
    #expect(try kid(try await server.signUp()) == old)
    server.whole.clock.advance(seconds: 300)
    let third = try await server.signUp()
    let new = try #require(try kid(third))
    #expect(new != old)
    #expect(try await server.ask(.get, "/user", bearer: second.accessToken).status == 200)
    server.whole.clock.advance(seconds: 3_600)
    #expect(try await published(server).contains(old))
    server.whole.clock.advance(seconds: 200)
    #expect(try await published(server) == [new])
  }

  @Test("two nodes that begin at once sign with one key")
  func nodes() async throws {
    let server = try await AccountServer()
    let store = SQLSigningKeyStore(server.whole.database)
    let now = server.whole.clock.now
    let kids = try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let token = try await SigningKeys(store, Configuration.Auth()).sign(["a": 1], now: now)
          return try JWS.Compact(parsing: token).header.kid ?? ""
        }
      }
      return try await group.reduce(into: Set<String>()) { $0.insert($1) }
    }
    #expect(kids.count == 1)
  }

  @Test("the scalar is sealed where a key is configured, opens under the previous one, and under no other")
  func sealing() async throws {
    let server = try await AccountServer { $0.auth?.sealingKeys = sealed("a") }
    _ = try await server.signUp()
    let store = SQLSigningKeyStore(server.whole.database)
    let now = server.whole.clock.now
    let fresh = StoredSigningKey(kid: "x", material: [], activeFrom: now)
    let row = try #require(try await store.signingKeys(fresh: fresh, now: now).first)
    #expect(row.sealingKey == "a" && row.material.count == 60)
    var auth = Configuration.Auth()
    auth.sealingKeys = sealed("b", "a")
    #expect(try await SigningKeys(store, auth).published(now: now).keys.first?.kid == row.kid)
    for keys in [sealed("b"), []] {
      auth.sealingKeys = keys
      await #expect(throws: Failure.self) { try await SigningKeys(store, auth).published(now: now) }
    }
    let secrets = try await store.refreshSecrets(fresh: StoredRefreshSecret(material: []))
    #expect(secrets.map(\.sealingKey) == ["a"] && secrets.map(\.material.count) == [60])
    for (keys, opens) in [(sealed("b", "a"), true), (sealed("b"), false), ([], false)] {
      let refresh = RefreshSecrets(store, sealer: Sealer(keys), random: { _ in [] })
      let session = Session(
        id: try #require(UUID(octets: [UInt8](repeating: 1, count: 16))),
        userID: try #require(UUID(octets: [UInt8](repeating: 2, count: 16))), createdAt: now,
        refreshedAt: now, authTime: 0, methods: [])
      if opens {
        let text = try await refresh.current(of: session, now: now)
        #expect(try await refresh.read(text, now: now)?.session == session.id)
      } else {
        await #expect(throws: Failure.self) { try await refresh.current(of: session, now: now) }
      }
    }
    let sealer = Sealer(sealed("a"))
    let made = try #require(try sealer.seal([1, 2, 3], .appleToken, place: "one"))
    #expect(try sealer.open(made.sealed, key: "a", .appleToken, place: "one") == [1, 2, 3])
    #expect(throws: CryptographyError.self) {
      try sealer.open(made.sealed, key: "a", .appleToken, place: "two")
    }
    #expect(throws: CryptographyError.self) {
      try sealer.open(made.sealed, key: "a", .signingKey, place: "one")
    }
  }

  @Test("a token that says another algorithm, or no key, is no token")
  func algorithms() async throws {
    let server = try await AccountServer()
    let session = try await server.signUp()
    let parts = session.accessToken.split(separator: ".").map(String.init)
    let kid = try kid(session) ?? ""
    for header in [
      #"{"alg":"none"}"#, #"{"alg":"none","kid":"\#(kid)"}"#, #"{"alg":"HS256","kid":"\#(kid)"}"#,
      #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"x"}"#, #"{"alg":"ES256","kid":"\#(kid)","crit":["x"]}"#,
    ] {
      for signature in [parts[2], ""] {
        let token = [Base64.encodeURL(header.utf8), parts[1], signature].joined(separator: ".")
        #expect(try await Outcome(server.ask(.get, "/user", bearer: token)) == Outcome(403, "bad_jwt"))
      }
    }
  }
}
