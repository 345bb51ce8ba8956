/// Where a configuration is read from. The executable gives the real files and variables.
package struct ConfigurationSources: Sendable {
  /// The octets of `bramley.jsonc`; nil without a file.
  package var text: [UInt8]?
  /// The environment's variables.
  package var variables: [String: String]
  /// The content of a file that a key names; nil when it cannot be read.
  package var readFile: @Sendable (String) -> [UInt8]?
  /// Whether there is a time zone of that name.
  package var zoneExists: @Sendable (String) -> Bool

  package init(
    text: [UInt8]? = nil, variables: [String: String] = [:],
    readFile: @escaping @Sendable (String) -> [UInt8]? = { _ in nil },
    zoneExists: @escaping @Sendable (String) -> Bool = { $0 == "UTC" }
  ) {
    self.text = text
    self.variables = variables
    self.readFile = readFile
    self.zoneExists = zoneExists
  }
}
