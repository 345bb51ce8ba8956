import Gateway
import HTTPMessages
import Testing

@Suite("Paths of a provider's API")
struct ProviderPathTests {
  @Test("An identifier stands in the place of the braces, and nowhere else")
  func parameter() {
    let status = ProviderPath(.get, "/a/b/requests/{id}/status")
    #expect(status.path(parameter: "x-1") == "/a/b/requests/x-1/status")
    #expect(status.path(parameter: nil) == "/a/b/requests/{id}/status")
    #expect(ProviderPath(.post, "/v1/messages").path(parameter: "x") == "/v1/messages")
    #expect(ProviderPath(.post, "/}{").path(parameter: "x") == "/}{")
  }
}
