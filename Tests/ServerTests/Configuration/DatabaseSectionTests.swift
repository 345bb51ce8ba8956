import Testing

@testable import Server

@Suite("database") struct DatabaseSectionTests {
  private func read(_ url: String, variables: [String: String] = [:]) throws -> Secret? {
    try Configuration.read(
      ConfigurationSources(
        text: Array("{ \"database\": { \"url\": \(url) } }".utf8), variables: variables,
        readFile: { $0 == "/url" ? Array("postgresql://u:p@h/d\n".utf8) : nil }, zoneExists: { _ in true })
    ).databaseURL
  }

  @Test("A URL without a password may stand in the file; one with it comes from elsewhere")
  func places() throws {
    #expect(
      try read("\"postgresql:///d?host=/run/postgresql\"")?.value == "postgresql:///d?host=/run/postgresql")
    #expect(
      try read("{ \"env\": \"DB\" }", variables: ["DB": "postgres://u:p@h/d"])?.value == "postgres://u:p@h/d")
    #expect(try read("{ \"file\": \"/url\" }")?.value == "postgresql://u:p@h/d")
    let variables = ["BRAMLEY_DATABASE_URL": "postgresql://v/d"]
    #expect(try read("\"postgresql://file/d\"", variables: variables)?.value == "postgresql://v/d")
    #expect(
      try Configuration.read(
        ConfigurationSources(
          text: nil, variables: variables, readFile: { _ in nil }, zoneExists: { _ in true })
      ).databaseURL?.value == "postgresql://v/d")
  }

  @Test(
    "A password in the file and what is no such URL are mistakes, and no mistake shows the password",
    arguments: [
      "\"postgresql://u:hunter2@h/d\"", "\"postgresql://h/d?password=hunter2\"", "\"mysql://hunter2\"", "7",
      "{ \"env\": \"NONE\" }", "{}",
    ])
  func mistakes(_ url: String) throws {
    #expect {
      try read(url)
    } throws: {
      let mistakes = ($0 as? ConfigurationMistakes)?.mistakes ?? []
      return !mistakes.isEmpty && !"\(mistakes)".contains("hunter2")
    }
  }
}
