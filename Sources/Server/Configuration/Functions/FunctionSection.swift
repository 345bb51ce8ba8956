import Encodings
import Gateway
import HTTPMessages

extension Configuration {
  /// Names under `/functions/v1/` that are no function's.
  private static let takenNames: Set<String> = ["quota"]

  /// Reads `functions`, after the providers are known.
  static func functions(_ root: ConfigurationSection, into out: inout Configuration) {
    let providers = out.providers
    out.functions =
      root.named("functions", "{ \"calories\": { … } }") { name, section in
        function(name, section, providers)
      } ?? []
  }

  /// What must hold between functions and the rest (RULES §1.7).
  static func checkFunctions(_ root: ConfigurationSection, _ out: Configuration) {
    let rules = out.quotas + out.budgets
    let names = out.functions.map(\.definition.name)
    for rule in rules {
      guard let name = rule.function, !names.contains(name) else { continue }
      let nearest = Suggestion.nearest(to: name, among: names)
      root.reading.mistake(
        "functions.\(name)", .missing,
        "there is no such function, but the limit \"\(rule.name)\" counts its calls",
        nearest.map { "did you mean \"\($0)\"?" } ?? "add it to functions, or remove it here")
    }
    for function in out.functions {
      let path = "functions.\(function.definition.name)"
      // Whoever of its providers answers.
      let isCapped = function.definition.chain.allSatisfy { link in
        rules.contains {
          $0.subject == .everyone && $0.function == link.name && $0.window != .month && $0.window != .lifetime
            && $0.counts(function: link.name, provider: link.provider)
        }
      }
      if function.policy == .none, !isCapped {
        root.reading.mistake(
          "\(path).policy", .missing, "a function without proof needs a daily cap of its own",
          "add { \"name\": …, \"subject\": \"everyone\", \"function\": \"\(function.definition.name)\", \"limit\": … }"
            + " to quotas, or demand \"assertion\"")
      }
      if function.signIn != .none, out.auth == nil {
        root.reading.mistake(
          "\(path).sign_in", .missing, "nobody can sign in here", "add the section auth, or write \"none\"")
      }
    }
  }

  private static func function(
    _ name: String, _ section: ConfigurationSection, _ providers: [any ConfiguredProvider]
  ) -> Function? {
    if !section.survey, !FunctionField.isName(name) || takenNames.contains(name) {
      section.reading.mistake(
        section.path, section.here, "this is no name for a function",
        "write a small letter, then small letters, digits and underscores, 32 at most; not \"quota\"")
    }
    let provider = section.entry("provider")
    let model = section.entry("model")
    let fallbacks = section.fallbacks()
    let kind = section.entry("kind")?.choice(FunctionKind.self) ?? .text
    let fields = section.fields("input")
    let prompt = section.prompt(kind)
    var definition = FunctionDefinition(
      name: name, provider: "", model: "", prompt: .messages(system: nil, []))
    definition.fields = fields
    section.form(kind, into: &definition)
    var function = Function(definition)
    if let value = section.entry("policy")?.choice(RoutePolicy.self) { function.policy = value }
    section.signIn(into: &function)
    if section.survey { return nil }
    guard let provider, let model else {
      section.reading.mistake(
        section.path, section.here, "provider and model belong together",
        "write \"provider\": \"anthropic\", \"model\": \"claude-haiku-4-5\"")
      return nil
    }
    guard let prompt, let providerName = provider.string(), let modelName = model.string() else { return nil }
    guard let configured = providers.first(where: { $0.name == providerName }),
      let dialect = FunctionDialects.of(providerName)
    else {
      let all = providers.map { "\"\($0.name)\"" }.joined(separator: ", ")
      section.reading.mistake(
        provider, "there is no such provider",
        all.isEmpty ? "add it to providers" : "write one of \(all), or add it to providers")
      return nil
    }
    guard dialect.draws == (kind == .image) else {
      section.reading.mistake(
        provider, dialect.draws ? "this provider draws images" : "this provider draws no images",
        dialect.draws ? "write \"kind\": \"image\"" : "take another kind or provider")
      return nil
    }
    function.definition.provider = providerName
    function.definition.model = modelName
    function.definition.prompt = prompt
    if function.definition.result == .store, function.signIn == .none {
      section.reading.mistake(
        "\(section.path).sign_in", section.here, "what is stored belongs to a user, and nobody has to be one",
        "write \"sign_in\": \"anonymous\", or \"identity\"")
    }
    guard section.checkPlaces(function.definition) else { return nil }
    section.trial(function.definition, dialect, configured, model)
    section.check(fallbacks, of: &function.definition, providers)
    return function
  }
}

extension ConfigurationSection {
  fileprivate func form(_ kind: FunctionKind, into out: inout FunctionDefinition) {
    let output = entry("output")
    if let value = output?.choice(FunctionDefinition.Form.self) { out.form = value }
    let result = entry("result")
    if let value = result?.choice(FunctionDefinition.Result.self) { out.result = value }
    if let value = entry("max_tokens")?.integer(1...1_000_000) { out.outputLimit = value }
    if let entry = entry("temperature"), let value = entry.number() {
      if !(0...2).contains(value) { reading.mistake(entry, "this is no temperature", "write 0 to 2") }
      out.temperature = "\(value)"
    }
    if let entry = entry("cache") {
      switch entry.string() {
      case "5m": out.cache = .fiveMinutes
      case "1h": out.cache = .hour
      case nil: break
      default: reading.mistake(entry, "this is no time to keep a prompt", "write \"5m\" or \"1h\"")
      }
    }
    if let entry = entry("parameters") {
      guard let members = entry.value.members else {
        reading.mistake(entry, "an object belongs here", "write { \"image_size\": \"square\" }")
        return
      }
      out.parameters = members.map { ($0.name, $0.value.value) }
      if kind != .image { reading.mistake(entry, "parameters are for images", "remove it") }
    }
    guard kind == .image else { return }
    if let result, out.result == .stream {
      reading.mistake(result, "a picture comes at once", "write \"return\" or \"store\"")
    }
    if let output { reading.mistake(output, "a picture is no text", "remove it") }
  }

  fileprivate func signIn(into out: inout Configuration.Function) {
    if let value = entry("sign_in")?.choice(Configuration.Function.SignIn.self) { out.signIn = value }
    guard let entry = entry("max_age"), let age = entry.integer(1...31_536_000) else { return }
    out.maximumAge = age
    if out.signIn != .identity {
      reading.mistake(
        entry, "only a user with an identity can prove themself again", "write \"sign_in\": \"identity\"")
    }
  }

  /// Whether places and fields agree.
  fileprivate func checkPlaces(_ function: FunctionDefinition) -> Bool {
    let places = function.templates.reduce(into: Set<String>()) { $0.formUnion($1.places) }
    let texts = function.fields.filter { !$0.isImage }.map(\.name)
    var holds = true
    func mistake(_ problem: String, _ remedy: String) {
      reading.mistake(path, here, problem, remedy)
      holds = false
    }
    for place in places.subtracting(texts).sorted() {
      if function.fields.contains(where: { $0.name == place }) {
        mistake("{{\(place)}} is an image", "remove the place: images go beside the text")
      } else {
        mistake("{{\(place)}} is no field of input", "add \"\(place)\" to input")
      }
    }
    for name in Set(texts).subtracting(places).sorted() {
      mistake("the field \(name) has no place in the prompt", "write {{\(name)}}, or remove it")
    }
    if function.cache != .none {
      guard case .messages(let system?, _) = function.prompt, system.places.isEmpty else {
        mistake("only a system text without places can be kept", "move the places to template")
        return false
      }
    }
    return holds
  }

  /// Makes the function's request once and lets the provider judge it: what would be refused in every call is a
  /// mistake now.
  func trial(
    _ function: FunctionDefinition, _ dialect: any FunctionDialect, _ configured: any ConfiguredProvider,
    _ model: ConfigurationEntry
  ) {
    guard let input = try? FunctionInput(FunctionInput.sample(function.fields), fields: function.fields)
    else {
      return
    }
    let request = function.request(of: input, in: dialect)
    do throws(ProviderRefusal) {
      let call = try configured.pinned(to: function).provider.prepare(
        ProviderRequest(
          method: .post, path: request.path, fields: request.fields, body: request.body,
          pseudonym: String(repeating: "0", count: 32), now: .max))
      if !dialect.draws, call.outputBound < function.outputLimit {
        reading.mistake(
          fullPath("max_tokens"), here, "no more than \(call.outputBound) tokens pass",
          "write at most that, or raise providers.\(configured.name).max_tokens")
      }
    } catch {
      reading.mistake(
        model, "the provider's rules refuse the function's request (\(error.place ?? error.code))",
        error.message)
    }
  }
}

extension Configuration {
  /// The functions that a text alone writes, a file with that section and no other, over a configuration that was made otherwise.
  package static func functions(
    _ text: [UInt8], over configuration: Configuration
  ) throws(ConfigurationMistakes) -> [Function] {
    let node: JSONNode
    do {
      node = try JSONReader.read(text, comments: true)
    } catch {
      throw ConfigurationMistakes([
        ConfigurationMistake(
          path: "functions", place: .file(line: error.line, column: error.column),
          problem: error.reason.rawValue, remedy: "write JSON")
      ])
    }
    let reading = ConfigurationReading(bytes: text, sources: ConfigurationSources(text: text))
    let root = ConfigurationSection(
      node: node, place: .file(line: 1, column: 1), overridable: false, reading: reading)
    var out = configuration
    functions(root, into: &out)
    checkFunctions(root, out)
    if !reading.mistakes.isEmpty { throw ConfigurationMistakes(reading.mistakes) }
    return out.functions
  }
}
