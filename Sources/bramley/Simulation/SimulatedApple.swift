import AppleSimulator
import Encodings
import System

/// The simulated Apple of a data directory.
enum SimulatedApple {
  /// The app that runs on the simulated phones.
  static let app = SimulatedApp(id: "SIMULATED0.com.example.bramley")

  /// The authority of the directory, made there when there is none. Its file holds the private key, and is
  /// readable by its owner alone (RULES §1.6).
  static func authority(in data: DataDirectory) throws -> SimulatedAppleCA {
    let path = data.simulatedAuthority
    if !Files.exists(path) {
      try data.create()
      try Files.write(try SimulatedAppleCA(now: WallClock.seconds).state, to: path)
    }
    do {
      let authority = try SimulatedAppleCA(state: try Files.read(path, upTo: 1 << 20))
      if !Files.exists(data.simulatedRoot) {
        try Files.write(pem(ofCertificate: authority.root), to: data.simulatedRoot)
      }
      return authority
    } catch {
      throw CommandFailure(
        message: "cannot read the simulated Apple in \(path): \(error); remove it for a new one")
    }
  }

  /// The textual form of a certificate (RFC 7468).
  private static func pem(ofCertificate der: [UInt8]) -> [UInt8] {
    var lines = ["-----BEGIN CERTIFICATE-----"]
    var rest = Base64.encode(der)[...]
    while !rest.isEmpty {
      lines.append(String(rest.prefix(64)))
      rest = rest.dropFirst(64)
    }
    return Array((lines + ["-----END CERTIFICATE-----", ""]).joined(separator: "\n").utf8)
  }
}
