import Testing

@testable import Server

@Suite struct PathTemplateTests {
  @Test("a template takes one segment of letters, digits, hyphens and low lines, as it was sent")
  func fits() throws {
    let template = try #require(PathTemplate("/users/{id}/keys"))
    #expect(template.parameter(of: "/users/E106CA9A-b/keys") == "E106CA9A-b")
    for path in [
      "/users//keys", "/users/a/b/keys", "/users/a/keys/", "/users/a/key", "/Users/a/keys", "/users/%61/keys",
      "/users/../keys", "/users/a;x/keys", "/users/{id}/keys", "/users/é/keys", "/users/a", "", "/",
      "/users/keys", "/users/\(String(repeating: "a", count: 65))/keys",
    ] {
      #expect(template.parameter(of: path[...]) == nil, "\(path)")
    }
  }

  @Test("a path without a parameter is no template")
  func none() {
    #expect(PathTemplate("/users") == nil)
    #expect(PathTemplate("/users/}{") == nil)
  }
}
