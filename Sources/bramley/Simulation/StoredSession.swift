import Encodings
import System

/// The session of a simulated phone with a server, in a file beside the phone's own: what an app keeps in the
/// Keychain.
struct StoredSession: Sendable {
  private let path: String

  init(device: String, server: String, in data: DataDirectory) {
    path = data.file(ofDevice: device, server: server, kind: "session")
  }

  /// The refresh token; nil where there is none.
  var refreshToken: String? {
    guard let bytes = try? Files.read(path, upTo: 65_536) else { return nil }
    return (try? JSONReader.read(bytes))?["refresh_token"]?.string
  }

  /// Keeps the session that the server answered.
  func keep(_ session: [UInt8]) throws { try Files.write(session, to: path) }
}
