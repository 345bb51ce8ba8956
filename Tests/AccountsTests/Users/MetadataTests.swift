import Accounts
import Encodings
import Testing

@Suite("Metadata")
struct MetadataTests {
  @Test("merging is shallow, keeps the order, and null removes")
  func merge() {
    let old: JSONValue = ["a": 1, "b": ["c": 1, "d": 2], "e": "x"]
    #expect(Metadata.merge(["b": ["c": 3], "f": 4], into: old) == ["a": 1, "b": ["c": 3], "e": "x", "f": 4])
    #expect(Metadata.merge(["a": nil, "z": nil], into: old) == ["b": ["c": 1, "d": 2], "e": "x"])
    #expect(Metadata.merge([:], into: old) == old)
    for other: JSONValue in [nil, "x", 3, ["a"]] { #expect(Metadata.merge(other, into: old) == old) }
    #expect(Metadata.merge(["a": 1], into: nil) == ["a": 1])
    #expect(Metadata.object(["a": nil, "b": 2]) == ["b": 2])
    // Only members of the first level are removed.
    #expect(Metadata.merge(["b": ["c": nil]], into: old) == ["a": 1, "b": ["c": nil], "e": "x"])
  }

  @Test("a body full of members is merged in one go over them", .timeLimit(.minutes(2)))
  func large() {
    let members = (0..<150_000).map { (String($0), JSONValue.integer($0)) }
    let merged = Metadata.merge(.object(members), into: .object(members.reversed()))
    #expect(merged == .object(members.reversed()))
    let removed = Metadata.merge(.object(members.map { ($0.0, .null) }), into: merged)
    #expect(removed == [:])
  }

  @Test("a member may be removed and come back, and its name stays as it first came")
  func again() {
    let change = JSONValue.object([("a", .null), ("a", 3), ("b", .null), ("b", .null)])
    #expect(Metadata.merge(change, into: ["a": 1, "b": 2, "c": 3]) == ["c": 3, "a": 3])
    #expect(Metadata.merge(["e\u{301}": 2], into: ["\u{E9}": 1]).bytes == Array("{\"\u{E9}\":2}".utf8))
  }

  @Test("provider and providers are computed, whatever is stored")
  func app() {
    let kept: JSONValue = ["providers": ["evil"], "role": "editor", "provider": "evil"]
    #expect(Metadata.app(kept, identities: []) == ["role": "editor"])
    var second = Example.identity(2)
    second.provider = "other"
    #expect(
      Metadata.app(kept, identities: [Example.identity(1), second, Example.identity(3)])
        == ["provider": "apple", "providers": ["apple", "other"], "role": "editor"])
  }
}
