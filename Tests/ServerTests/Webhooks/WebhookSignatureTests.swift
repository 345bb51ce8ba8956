import Encodings
import HTTPMessages
import Testing

@testable import Server

@Suite("Signatures of Standard Webhooks") struct WebhookSignatureTests {
  @Test("the example of the specification's libraries")
  func example() throws {
    let secret = try #require(WebhookSecret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"))
    let signature = secret.signature(
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp: 1_614_265_330,
      body: Array(#"{"test": 2432232314}"#.utf8))
    #expect(signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
  }

  @Test("secrets that are none, and lists of them")
  func secrets() {
    let good = "whsec_" + Base64.encode([UInt8](repeating: 7, count: 32))
    #expect(WebhookSecret("v1," + good) == WebhookSecret(good))
    for text in [
      "", "whsec_", "whsec_!", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v2," + good,
      "whsec_" + Base64.encode([UInt8](repeating: 7, count: 23)),
      "whsec_" + Base64.encode([UInt8](repeating: 7, count: 65)),
    ] { #expect(WebhookSecret(text) == nil) }
    #expect(WebhookSecret.list("\(good)|v1,\(good)")?.count == 2)
    for text in ["", "|", good + "|", "|" + good, [String](repeating: good, count: 5).joined(separator: "|")]
    {
      #expect(WebhookSecret.list(text) == nil)
    }
  }

  @Test("no description shows a secret")
  func descriptions() throws {
    let text = Base64.encode([UInt8](repeating: 0x41, count: 32))
    let secret = try #require(WebhookSecret("whsec_" + text))
    let target = try #require(WebhookTarget("https://a.example/h", secrets: [secret]))
    for shown in ["\(target)", String(reflecting: target)] {
      #expect(!shown.contains("65, 65") && !shown.contains(text))
    }
  }

  @Test("each secret signs")
  func request() throws {
    let first = "whsec_" + Base64.encode([UInt8](repeating: 1, count: 32))
    let second = "whsec_" + Base64.encode([UInt8](repeating: 2, count: 32))
    let secrets = try #require(WebhookSecret.list("\(first)|\(second)"))
    let target = try #require(WebhookTarget("https://a.example/h?key=1", secrets: secrets))
    let request = target.request(id: "evt_1", time: 17, body: Array("{}".utf8))
    #expect(request.target == "/h?key=1" && request.authority == "a.example" && request.method == .post)
    let signatures = try #require(request.fields["webhook-signature"]).split(separator: " ")
    #expect(
      signatures.map(String.init)
        == [first, second].compactMap {
          WebhookSecret($0)?.signature(id: "evt_1", timestamp: 17, body: Array("{}".utf8))
        })
    #expect(request.fields["webhook-id"] == "evt_1" && request.fields["webhook-timestamp"] == "17")
  }

  @Test(
    "URLs and what is none",
    arguments: [
      ("https://a.example", "/"), ("https://a.example/", "/"), ("https://a.example/x/", "/x/"),
      ("https://a.example?x=1", "/?x=1"), ("https://a.example:443/x", "/x"), ("https://u@a.example/", nil),
      ("https://a.example/#x", nil), ("https://a.example/ x", nil), ("ftp://a.example/", nil),
      ("https:///x", nil),
      ("https://a.example/\u{0D}\u{0A}x", nil), ("", nil), ("https", nil),
    ] as [(String, String?)])
  func urls(url: String, target: String?) { #expect(WebhookTarget(url, secrets: [])?.target == target) }
}
