import BramleyClient
import System

/// Remembers which key a simulated phone registered with a server, in a file beside the phone's own.
actor StoredKeyID: KeyIDStorage {
  private let path: String

  /// - Parameter server: the base URL; each has a key of its own.
  init(device: String, server: String, in data: DataDirectory) {
    let name = server.unicodeScalars.map { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == ".")
        ? String(scalar) : "_"
    }.joined()
    path = "\(data.devices)/\(device).\(name.prefix(120)).key"
  }

  func load() async throws -> StoredKey? {
    guard Files.exists(path) else { return nil }
    let text = String(decoding: try Files.read(path, upTo: 4_096), as: UTF8.self)
    return StoredKey(text: text.split(separator: "\n").first.map(String.init) ?? "")
  }

  func save(_ key: StoredKey) async throws {
    try Files.write(Array((key.text + "\n").utf8), to: path)
  }
}
