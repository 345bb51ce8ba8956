import BramleyAPI
import Testing

@testable import BramleyClient

@Suite("Base URLs")
struct ServerAddressTests {
  @Test(
    "taken",
    arguments: [
      ("https://api.example.com", "https://api.example.com", ""),
      ("https://api.example.com/", "https://api.example.com", ""),
      ("https://api.example.com:8443/a/b//", "https://api.example.com:8443/a/b", "/a/b"),
      ("http://127.0.0.1:8080", "http://127.0.0.1:8080", ""),
      ("http://localhost:8080/x", "http://localhost:8080/x", "/x"),
      ("http://[::1]:80", "http://[::1]:80", ""),
    ])
  func taken(url: String, text: String, prefix: String) throws {
    let address = try ServerAddress(url, allowsPlainHTTP: false)
    #expect(address.text == text)
    #expect(address.prefix == prefix)
  }

  @Test(
    "refused",
    arguments: [
      "", "api.example.com", "ftp://x", "https://", "https:///x", "https://:443", "https://u:p@host",
      "https://host/?a", "https://host/#a", "https://ho st", "https://host/a b", "https://host\n",
      "http://api.example.com", "http://127.0.0.1.evil.example", "http://localhost.evil.example",
      "http://127.evil.example.com", "HTTPS://host",
    ])
  func refused(url: String) {
    #expect(throws: BramleyError(.invalidBaseURL)) { try ServerAddress(url, allowsPlainHTTP: false) }
  }

  @Test("plain http elsewhere only where it is allowed, and stored keys are one line")
  func others() throws {
    #expect(try ServerAddress("http://bramley:8080", allowsPlainHTTP: true).authority == "bramley:8080")
    let key = StoredKey(keyID: "AbC+/=", registeredAt: 12)
    #expect(StoredKey(text: key.text) == key)
    for text in ["", " ", "a", "a b", "a 1 2", " 1"] { #expect(StoredKey(text: text) == nil) }
  }
}
