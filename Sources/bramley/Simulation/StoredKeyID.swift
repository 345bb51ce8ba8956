import BramleyClient
import System

/// Remembers which key a simulated phone registered with a server, in a file beside the phone's own.
actor StoredKeyID: KeyIDStorage {
  private let path: String

  /// - Parameter server: the base URL; each has a key of its own.
  init(device: String, server: String, in data: DataDirectory) {
    path = data.file(ofDevice: device, server: server, kind: "key")
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
