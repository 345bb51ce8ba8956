import Encodings
import FoundationEssentials
import Gateway
import Testing

@testable import Server

private func file(_ name: String) throws -> [UInt8] {
  let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()
  return Array(try Data(contentsOf: root.appending(path: "Configuration/\(name)")))
}

/// Every key of a schema; `[]` stands for an element of a list, `*` for a name of the operator's own.
private func keys(_ schema: JSONNode, _ path: String = "") -> Set<String> {
  var out: Set<String> = []
  for member in schema["properties"]?.members ?? [] where member.name != "$schema" {
    let inner = path.isEmpty ? member.name : "\(path).\(member.name)"
    out.insert(inner)
    out.formUnion(keys(member.value, inner))
    if let items = member.value["items"] { out.formUnion(keys(items, inner + "[]")) }
    if let named = member.value["additionalProperties"] { out.formUnion(keys(named, inner + ".*")) }
  }
  return out
}

/// Whether every object of a schema says that other keys are wrong.
private func closed(_ schema: JSONNode) -> Bool {
  if schema["type"]?.string == "object", schema["additionalProperties"] == nil { return false }
  let properties = (schema["properties"]?.members ?? []).allSatisfy { closed($0.value) }
  return properties && schema["items"].map(closed) ?? true
    && schema["additionalProperties"].map(closed) ?? true
}

@Suite struct SchemaTests {
  @Test("the schema and the reader know the same keys")
  func agreement() throws {
    let schema = try JSONReader.read(try file("bramley.schema.json"))
    let inSchema = keys(schema)
    #expect(inSchema.subtracting(Configuration.keys) == [], "the reader does not know these")
    #expect(Configuration.keys.subtracting(inSchema) == [], "the schema does not know these")
    #expect(closed(schema))
  }

  @Test(
    "every shipped example is good",
    arguments: ["bramley.example.jsonc", "development.example.jsonc", "functions.example.jsonc"])
  func examples(_ name: String) throws {
    let configuration = try Configuration.read(
      ConfigurationSources(
        text: try file(name),
        variables: [
          "ANTHROPIC_API_KEY": "sk-ant-example", "OPENAI_API_KEY": "sk-example", "FAL_KEY": "id:secret",
        ],
        readFile: { _ in Array("text".utf8) }, zoneExists: { _ in true }))
    #expect(configuration.anthropic != nil)
  }

  @Test("the functions of the example are those that dev brings")
  func functions() throws {
    let configuration = try Configuration.read(
      ConfigurationSources(
        text: try file("functions.example.jsonc"),
        variables: ["ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "FAL_KEY": "c"]))
    #expect(configuration.functions.count == 4)
    #expect(try configuration.functions == ExampleFunctions.functions(over: configuration))
    for rule in ExampleFunctions.quotas(of: configuration.functions) {
      #expect(configuration.quotas.contains(rule))
    }
  }

  @Test("the defaults of the schema are the reader's")
  func defaults() throws {
    let schema = try JSONReader.read(try file("bramley.schema.json"))
    let configuration = Configuration()
    let properties = schema["properties"]
    #expect(properties?["environment"]?["default"]?.string == configuration.deployment.rawValue)
    #expect(properties?["listen"]?["default"]?.string == configuration.listen.description)
    #expect(properties?["in_flight"]?["default"]?.integer == configuration.inFlight)
    #expect(properties?["ipv6_site_factor"]?["default"]?.integer == configuration.ipv6SiteFactor)
    #expect(
      properties?["usage"]?["properties"]?["retention_days"]?["default"]?.integer
        == configuration.usageRetentionDays)
    let database = properties?["database"]?["properties"]
    #expect(database?["connections"]?["default"]?.integer == Int64(configuration.databaseConnections))
    #expect(database?["statement_timeout"]?["default"]?.integer == configuration.databaseStatementTimeout)
    let attest = properties?["attest"]?["properties"]
    #expect(attest?["receipt_maximum_age"]?["default"]?.integer == configuration.attest.receiptMaximumAge)
    #expect(attest?["session_lifetime"]?["default"]?.integer == configuration.attest.sessionLifetime)
    #expect(attest?["challenges_per_minute"]?["default"]?.integer == configuration.attest.challengesPerMinute)
    #expect(
      attest?["registrations_per_hour"]?["default"]?.integer == configuration.attest.registrationsPerHour)
    let provider = properties?["providers"]?["properties"]?["anthropic"]?["properties"]
    let anthropic = Configuration.Anthropic(apiKey: Secret(""))
    #expect(provider?["max_tokens"]?["default"]?.integer == anthropic.maxTokens)
    #expect(provider?["body_limit"]?["default"]?.integer == Int64(anthropic.bodyLimit))
    #expect(provider?["base_url"]?["default"]?.string == anthropic.baseURL)
    let openAI = properties?["providers"]?["properties"]?["openai"]?["properties"]
    let other = Configuration.OpenAI(apiKey: Secret(""))
    #expect(openAI?["max_tokens"]?["default"]?.integer == other.maxTokens)
    #expect(openAI?["max_choices"]?["default"]?.integer == other.maxChoices)
    #expect(openAI?["base_url"]?["default"]?.string == other.baseURL)
    let fal = properties?["providers"]?["properties"]?["fal"]?["properties"]
    let pictures = Configuration.Fal(apiKey: Secret(""))
    #expect(fal?["base_url"]?["default"]?.string == pictures.baseURL)
    #expect(fal?["queue_url"]?["default"]?.string == pictures.queueURL)
    #expect(fal?["body_limit"]?["default"]?.integer == Int64(pictures.bodyLimit))
    #expect(fal?["file_limit"]?["default"]?.integer == Int64(pictures.fileLimit))
    let hosts = fal?["file_hosts"]?["default"]?.elements?.compactMap(\.string)
    #expect(hosts.map(Set.init) == pictures.fileHosts)
    let input = fal?["inputs"]?["items"]?["properties"]
    let standard = Configuration.Fal.Input(model: "")
    #expect(input?["max_images"]?["default"]?.integer == standard.maximumImages)
    #expect(input?["max_pixels"]?["default"]?.integer == standard.maximumPixels)
    #expect(input?["max_steps"]?["default"]?.integer == standard.maximumSteps)
    #expect(input?["prompt_limit"]?["default"]?.integer == Int64(standard.promptLimit))
    for (section, keys) in [(provider, TokenPriceKeys.anthropic), (openAI, .openAI)] {
      let image = section?["prices"]?["items"]?["properties"]?["image_tokens"]?["default"]?.integer
      #expect(image == keys.imageTokens)
    }
    let written = try Configuration.read(
      ConfigurationSources(
        text: JSONValue.object([
          ("quotas", properties?["quotas"]?["default"]?.value ?? nil),
          ("budgets", properties?["budgets"]?["default"]?.value ?? nil),
        ]).bytes))
    #expect(written.quotas == configuration.quotas && written.budgets == configuration.budgets)
  }
}
