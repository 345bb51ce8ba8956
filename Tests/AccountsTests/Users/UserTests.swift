import Accounts
import Encodings
import Testing

@Suite("User")
struct UserTests {
  @Test("a ban holds up to its end and no longer")
  func ban() throws {
    let id = try #require(UUID(octets: [UInt8](repeating: 7, count: 16)))
    var user = User(id: id, isAnonymous: true, createdAt: 0, updatedAt: 0)
    #expect(!user.isBanned(at: .max - 1))
    user.bannedUntil = 1_000
    #expect(user.isBanned(at: 999))
    #expect(!user.isBanned(at: 1_000))
    user.bannedUntil = .max
    #expect(user.isBanned(at: 1_000_000_000_000))
  }
}
