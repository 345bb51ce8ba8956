import AppleSimulator
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
      return try SimulatedAppleCA(state: try Files.read(path, upTo: 1 << 20))
    } catch {
      throw CommandFailure(
        message: "cannot read the simulated Apple in \(path): \(error); remove it for a new one")
    }
  }
}
