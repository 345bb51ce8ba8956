import Encodings

extension Configuration {
  /// Who reads a configuration.
  package enum Reader: Sendable {
    /// The server, which needs all of it.
    case server
    /// A command that works on the database. It runs without the server's environment, so the sections that
    /// hold the secrets of others, such as `auth` and `providers`, are not judged.
    case databaseCommand

    fileprivate func minds(_ mistake: ConfigurationMistake) -> Bool {
      let section = mistake.path.prefix { $0 != "." }
      return self == .server
        || !mistake.path.hasPrefix("attest.apple_key")
          && !["auth", "providers", "functions", "events", "hooks"].contains(section)
    }
  }

  /// Reads and checks the whole: either every value is good, or every mistake is named at once.
  package static func read(
    _ sources: ConfigurationSources, for reader: Reader = .server
  ) throws(ConfigurationMistakes) -> Configuration {
    let bytes = sources.text ?? []
    var node: JSONNode?
    if sources.text != nil {
      do {
        node = try JSONReader.read(bytes, comments: true)
      } catch {
        throw ConfigurationMistakes([
          ConfigurationMistake(
            path: "", place: .file(line: error.line, column: error.column), problem: error.reason.rawValue,
            remedy: "write JSON; // and /* */ comments are allowed, trailing commas are not")
        ])
      }
    }
    let reading = ConfigurationReading(bytes: bytes, sources: sources)
    let configuration = configuration(
      ConfigurationSection(
        node: node, place: node.map { reading.place(of: $0.range.lowerBound) } ?? .missing, reading: reading))
    let mistakes = reading.mistakes.filter { reader.minds($0) }
    if !mistakes.isEmpty { throw ConfigurationMistakes(mistakes) }
    return configuration
  }

  /// Every key that the reader knows; `[]` stands for an element of a list.
  package static var keys: Set<String> {
    let reading = ConfigurationReading(bytes: [], sources: ConfigurationSources(), survey: true)
    _ = configuration(ConfigurationSection(node: nil, reading: reading))
    return reading.keys
  }

  /// Variables that look like ours and set nothing: a slip of the pen that must not pass in silence.
  package static func unknownVariables(_ sources: ConfigurationSources) -> [String] {
    let reading = ConfigurationReading(
      bytes: sources.text ?? [], sources: sources, survey: false)
    let node = try? JSONReader.read(sources.text ?? [], comments: true)
    _ = configuration(ConfigurationSection(node: node, reading: reading))
    return sources.variables.keys
      .filter { $0.hasPrefix("BRAMLEY_") && !reading.usedVariables.contains($0) }.sorted()
  }

  private static func configuration(_ root: ConfigurationSection) -> Configuration {
    var out = Configuration()
    if let value = root.entry("environment")?.choice(Deployment.self) { out.deployment = value }
    if let value = root.listenAddress("listen") { out.listen = value }
    let admin = root.section("admin")
    if let value = admin.listenAddress("listen") { out.adminListen = value }
    admin.finish()
    if let entry = root.entry("data"), let value = entry.string() {
      out.data = value
      if value.isEmpty { root.reading.mistake(entry, "this is empty", "name a directory") }
    }
    let database = root.section("database")
    if database.isPresent { out.databaseURL = databaseURL(database) }
    if let value = database.entry("connections")?.integer(1...200) { out.databaseConnections = Int(value) }
    if let value = database.entry("statement_timeout")?.integer(1...300) {
      out.databaseStatementTimeout = value
    }
    database.finish()
    if let entry = root.entry("trusted_proxies") { out.trustedProxies = addressBlocks(entry) }
    let outside = root.section("outside")
    if let entry = outside.entry("allowed_addresses") { out.allowedAddresses = addressBlocks(entry) }
    outside.finish()
    if let entry = root.entry("time_zone"), let value = entry.string() {
      out.timeZone = value
      if !root.reading.sources.zoneExists(value) {
        root.reading.mistake(
          entry, "there is no such time zone here",
          "write a name like \"Europe/Berlin\", and install the package tzdata")
      }
    }
    out.attest = attest(root.section("attest"), out)
    let auth = root.section("auth")
    if auth.isPresent { out.auth = Self.auth(auth, out) }
    let bare = providers(root.section("providers"), into: &out)
    storage(root.section("storage"), into: &out)
    functions(root, into: &out)
    checkModels(bare, root, out)
    checkClients(root, out)
    checkStepUpRoutes(root, out)
    limits(root, into: &out)
    events(root.section("events"), into: &out)
    hooks(root.section("hooks"), into: &out)
    let cors = root.section("cors")
    if let entry = cors.entry("origins") { out.corsOrigins = origins(entry) }
    cors.finish()
    let log = root.section("log")
    if let value = log.entry("level")?.choice(LogLevel.self) { out.logLevel = value }
    log.finish()
    root.finish()
    return out
  }

  private static func addressBlocks(_ entry: ConfigurationEntry) -> [AddressBlock] {
    entry.strings().compactMap { text, entry in
      if let block = AddressBlock(text) { return block }
      entry.reading.mistake(
        entry, "this is no address block", "write an address or CIDR block such as \"10.0.0.0/8\"")
      return nil
    }
  }

  private static func origins(_ entry: ConfigurationEntry) -> [String] {
    entry.strings().compactMap { text, entry in
      guard let base = BaseURL(text), base.path.isEmpty, text != "*" else {
        entry.reading.mistake(
          entry, "this is no origin", "write scheme and host such as \"https://app.example.com\"")
        return nil
      }
      return text
    }
  }
}

extension ConfigurationSection {
  /// The address that the key holds.
  func listenAddress(_ key: String) -> ListenAddress? {
    guard let entry = entry(key), let text = entry.string() else { return nil }
    if let address = ListenAddress(text) { return address }
    reading.mistake(
      entry, "this is no address to listen on", "write IP address and port such as \"127.0.0.1:8080\"")
    return nil
  }

  /// The secret that the key names by `{ "env": NAME }` or `{ "file": PATH }`; its own variable holds it
  /// as it is.
  ///
  /// - Parameter isText: whether it may have blanks and lines inside, as a PEM file has.
  func secret(_ key: String, isText: Bool = false) -> Secret? {
    let remedy = "write { \"env\": \"NAME\" } or { \"file\": \"/path\" }"
    let own = "BRAMLEY_" + fullPath(key).replacing(".", with: "_").uppercased()
    if let text = reading.variable(own) {
      takeWithoutReading(key)
      return checked(text, isText, path: fullPath(key), place: .variable(own))
    }
    let inner = section(key)
    let variable = inner.entry("env")
    let file = inner.entry("file")
    defer { inner.finish() }
    if let variable, let name = variable.string() {
      guard file == nil else {
        reading.mistake(variable, "there are two sources", "keep one of env and file")
        return nil
      }
      guard let text = reading.variable(name) else {
        reading.mistake(variable, "the variable \(name) is not set", "set it, or name another")
        return nil
      }
      return checked(text, isText, path: inner.path, place: variable.place)
    }
    if let file, let path = file.string() {
      guard let bytes = reading.sources.readFile(path) else {
        reading.mistake(file, "the file cannot be read", "name a file that the server's user may read")
        return nil
      }
      return checked(String(decoding: bytes, as: UTF8.self), isText, path: inner.path, place: file.place)
    }
    if !reading.survey { reading.mistake(inner.path, inner.here, "the secret is missing", remedy) }
    return nil
  }

  /// Whether the secret is written, in the file or by its variable.
  func hasSecret(_ key: String) -> Bool {
    let own = "BRAMLEY_" + fullPath(key).replacing(".", with: "_").uppercased()
    return reading.variable(own) != nil || section(key).isPresent
  }

  /// Whether only the keys are wanted.
  var survey: Bool { reading.survey }

  private func checked(
    _ text: String, _ isText: Bool, path: String, place: ConfigurationMistake.Place
  ) -> Secret? {
    let trimmed = text.utf8.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
    // Most values become a header field: visible ASCII alone.
    let isVisible = { (octet: UInt8) in octet > 0x20 && octet < 0x7F }
    guard !trimmed.isEmpty, isText || trimmed.allSatisfy(isVisible) else {
      reading.mistake(
        path, place, "the secret is empty or has blanks inside", "give the key and nothing else")
      return nil
    }
    return Secret(String(decoding: Array(trimmed), as: UTF8.self))
  }
}
