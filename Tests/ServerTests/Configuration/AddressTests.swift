import Testing

@testable import Server

@Suite struct AddressTests {
  @Test(
    "addresses are read strictly",
    arguments: [
      ("127.0.0.1", "127.0.0.1"), ("::1", "0000000000000000/64"), ("::ffff:10.1.2.3", "10.1.2.3"),
      ("2001:db8:1:2:3:4:5:6", "20010db800010002/64"), ("fe80::1%eth0", "fe80000000000000/64"),
      ("::", "0000000000000000/64"), ("1::", "0001000000000000/64"),
      ("1:2:3:4:5:6:7::", "0001000200030004/64"),
      ("127.1", nil), ("1.2.3.4.5", nil), ("01.2.3.4", nil), ("256.1.1.1", nil), ("", nil), (":", nil),
      (":::", nil), ("1::2::3", nil), ("1:2:3:4:5:6:7:8:9", nil), ("12345::", nil), ("+1::", nil),
      ("1:2:3:4:5:6:7", nil), (":1:2:3:4:5:6:7", nil), ("::1.2.3", nil), ("1.2.3.4:80", nil),
    ] as [(String, String?)])
  func addresses(_ text: String, _ name: String?) {
    #expect(IPAddress(text)?.countingName == name)
  }

  @Test("RULES §5.1: the /48 of a /64, and of nothing else")
  func sites() throws {
    let name = try #require(IPAddress("2001:db8:1:2:3:4:5:6")).countingName
    #expect(IPAddress.siteName(of: name) == "20010db80001/48")
    for other in ["10.0.0.1", "unknown", "", "/64", "1/64", "20010db80001/48"] {
      #expect(IPAddress.siteName(of: other) == nil)
    }
  }

  @Test("blocks hold what they should")
  func blocks() throws {
    let ten = try #require(AddressBlock("10.0.0.0/9"))
    #expect(ten.contains(try #require(IPAddress("10.127.255.255"))))
    #expect(!ten.contains(try #require(IPAddress("10.128.0.0"))))
    #expect(!ten.contains(try #require(IPAddress("::1"))))
    let all = try #require(AddressBlock("::/0"))
    #expect(all.contains(try #require(IPAddress("2001:db8::1"))))
    #expect(!all.contains(try #require(IPAddress("10.0.0.1"))))
    #expect(AddressBlock("10.0.0.1/33") == nil)
    #expect(AddressBlock("10.0.0.1/-1") == nil)
    #expect(AddressBlock("10.0.0.1/") == nil)
    #expect(AddressBlock("x/8") == nil)
  }

  @Test(
    "a base URL has no more than a base",
    arguments: [
      "https://a", "http://127.0.0.1:8080", "https://[::1]:1/base", "https://a.example/x/y",
    ])
  func baseURLs(_ text: String) { #expect(BaseURL(text) != nil) }

  @Test(
    "what is no base URL is refused",
    arguments: [
      "", "https://", "ftp://a", "https://a/", "https://u@a", "https://a?q", "https://a#f", "https://a/../b",
      "https://a//b", "https://a:0", "https://a:99999", "https://a:", "https://[x]", "https://a b",
      "https://ä",
      "https://a/%2e%2e",
    ])
  func noBaseURLs(_ text: String) { #expect(BaseURL(text) == nil) }
}
