import Testing

@testable import Server

@Suite struct RedirectListTests {
  private func list(_ rules: String...) -> RedirectList { RedirectList(rules.compactMap { .init($0) }) }

  @Test("RULES §3.1: an exact URL is allowed, and nothing that looks like it")
  func exact() {
    let list = list("https://app.example.com/in", "com.example.app://signed-in", "https://example.org")
    #expect(list.allows("https://app.example.com/in"))
    #expect(list.allows("com.example.app://signed-in"))
    #expect(list.allows("https://example.org") && list.allows("https://example.org/"))
    for url in [
      "https://app.example.com/in/", "https://app.example.com/in?x=1", "https://app.example.com/in#x",
      "https://app.example.com:444/in", "http://app.example.com/in", "https://APP.example.com/in",
      "https://app.example.com.evil.example/in", "https://evil.example/https://app.example.com/in",
      "https://app.example.com@evil.example/in", "//app.example.com/in", "/in", "", "in",
      "com.example.app://signed-in.evil", "com.example.app:signed-in", "COM.example.app://signed-in",
      "https://app.example.com/%69n", "https://app.example.com/a/../in", "https://app.example.com\\in",
      "https://app.example.com/in\n", "javascript://app.example.com/in", "https:app.example.com/in",
    ] {
      #expect(!list.allows(url), "\(url)")
    }
  }

  @Test("RULES §3.1: a pattern gives paths of its own host or scheme alone")
  func patterns() {
    let list = list("https://app.example.com/a/*", "https://app.example.com/b/**", "com.example.app://*")
    #expect(list.allows("https://app.example.com/a/one"))
    #expect(!list.allows("https://app.example.com/a/one/two"))
    #expect(list.allows("https://app.example.com/b/one/two"))
    #expect(list.allows("com.example.app://signed-in"))
    for url in [
      "https://evil.example/a/one", "https://app.example.com/b/one?next=https://evil.example",
      "https://app.example.com/b/../c", "https://app.example.com/a/*", "com.example.other://signed-in",
      "https://app.example.com.evil.example/a/one",
    ] {
      #expect(!list.allows(url), "\(url)")
    }
    for rule in ["https://*/in", "https://*.example.com/in", "*://x", "com.*://x", "javascript://x", "x"] {
      #expect(RedirectList.Rule(rule) == nil, "\(rule)")
    }
  }

  @Test("the parameter that supabase-js appends does not matter")
  func flowID() {
    let list = list("https://app.example.com/in", "https://app.example.com/in?a=1")
    #expect(list.allows("https://app.example.com/in?sb_flow_id=abc"))
    #expect(list.allows("https://app.example.com/in?a=1&sb_flow_id=abc"))
    #expect(!list.allows("https://app.example.com/in?b=1&sb_flow_id=abc"))
  }

  @Test("RULES §3.1: this machine is allowed in dev alone")
  func loopback() {
    let list = RedirectList(allowsLoopback: true)
    for url in ["http://localhost:3000/in", "http://127.0.0.1:8080/a?b=1", "http://[::1]:1/"] {
      #expect(list.allows(url), "\(url)")
      #expect(!RedirectList().allows(url), "\(url)")
    }
    for url in [
      "http://localhost.evil.example/", "http://localhost@evil.example/", "com.example.app://localhost",
    ] {
      #expect(!list.allows(url), "\(url)")
    }
  }

  @Test("an empty list allows nothing")
  func empty() { #expect(!RedirectList().allows("https://app.example.com/")) }
}
