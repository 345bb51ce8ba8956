import Testing

@testable import UserData

@Suite("Objects of users") struct ObjectPathTests {
  @Test(
    "a path is plain segments",
    arguments: ["a", "creature/7c0e.png", "a/b/c", "A-_.9", String(repeating: "a", count: 200)])
  func taken(_ text: String) {
    #expect(ObjectPath(text)?.description == text)
  }

  @Test(
    "what could be another path, or none, is no path",
    arguments: [
      "", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/.b", ".hidden", "a b", "a%2Fb", "a\\b", "ä",
      "a\u{0}",
      "a?b", "a#b", "a\nb", "a:b", String(repeating: "a", count: 201),
    ])
  func refused(_ text: String) {
    #expect(ObjectPath(text) == nil)
  }

  @Test("the name is what stands last")
  func name() {
    #expect(ObjectPath("a/b/c.png")?.name == "c.png" && ObjectPath("c.png")?.name == "c.png")
  }

  @Test("limits are met exactly, and sums do not run over")
  func limits() {
    let limits = ObjectLimits(count: 3, bytes: 100)
    let standing = ObjectStanding(count: 2, bytes: 90)
    #expect(standing.refusal(count: 1, bytes: 10, limits) == nil)
    #expect(standing.refusal(count: 1, bytes: 11, limits) == .bytes(limit: 100))
    #expect(standing.refusal(count: 2, bytes: 0, limits) == .count(limit: 3))
    #expect(standing.refusal(count: .max, bytes: 0, limits) == .count(limit: 3))
    #expect(standing.refusal(count: 0, bytes: .max, limits) == .bytes(limit: 100))
  }

  @Test("RULES §6.2: only pictures, films and sound are shown, and no type that can run is known")
  func types() {
    #expect(
      Set(ObjectType.allCases.filter(\.isShown).map(\.suffix)) == [
        "png", "jpg", "gif", "webp", "heic", "mp4", "m4a",
      ])
    for type in ["text/html", "image/svg+xml", "application/xhtml+xml", "text/xml", "application/pdf"] {
      #expect(ObjectType(rawValue: type) == nil)
    }
  }
}
