import HTTPMessages
import Testing

@Suite struct FormParametersTests {
  @Test("a form is read pair by pair, with blanks and percent signs decoded")
  func reading() throws {
    let form = try #require(FormParameters(parsing: "a=1&b=x+y%20z&&c&a=%C3%A9&=e&d=1=2"))
    #expect(form["a"] == "1")
    #expect(form.values("a") == ["1", "é"])
    #expect(form["b"] == "x y z")
    #expect(form["c"] == "")
    #expect(form[""] == "e")
    #expect(form["d"] == "1=2")
    #expect(form["z"] == nil)
    #expect(FormParameters(parsing: "")?.parameters == [])
  }

  @Test("what is no form is none", arguments: ["a=%", "a=%4", "a=%zz", "%=1", "a=%FF", "a=%C3", "a=%+1"])
  func malformed(_ text: String) { #expect(FormParameters(parsing: text) == nil) }

  @Test("what is written is read back")
  func roundTrip() throws {
    let form = FormParameters([("a b", "1&2=3"), ("é", "+%~"), ("", "")])
    #expect(form.text == "a%20b=1%262%3D3&%C3%A9=%2B%25~&=")
    #expect(FormParameters(parsing: form.text) == form)
  }
}
