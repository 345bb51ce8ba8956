import System

/// Where a server keeps its database, and `dev` the simulated Apple and the simulated phones.
struct DataDirectory: Sendable, Equatable {
  let path: String

  /// What `dev` and `simulate` use unless they are told otherwise: `bramley/dev` below `XDG_DATA_HOME`, which is
  /// `~/.local/share` where it is not set (XDG Base Directory Specification).
  static func forDevelopment(_ environment: [String: String]) -> DataDirectory {
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      return DataDirectory(path: data + "/bramley/dev")
    }
    if let home = environment["HOME"], home.hasPrefix("/") {
      return DataDirectory(path: home + "/.local/share/bramley/dev")
    }
    return DataDirectory(path: ".bramley")
  }

  /// How the help spells the default.
  static let developmentDefault = "~/.local/share/bramley/dev"

  /// The database's file.
  var database: String { path + "/bramley.sqlite" }
  /// What servers and commands share while they use the database, and `restore` has alone.
  var lock: String { path + "/bramley.lock" }
  /// The simulated Apple's authority, with its private key.
  var simulatedAuthority: String { path + "/simulated-apple.json" }
  /// Its root certificate in PEM, for the configuration of a server that is to trust it.
  var simulatedRoot: String { path + "/simulated-apple.pem" }
  /// The simulated Apple ID: keys, accounts and consents.
  var simulatedAppleID: String { path + "/simulated-apple-id.json" }
  /// The directory of the simulated phones.
  var devices: String { path + "/devices" }

  /// A file of what a simulated phone keeps for a server.
  func file(ofDevice device: String, server: String, kind: String) -> String {
    let name = server.unicodeScalars.map { scalar in
      scalar.isASCII
        && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil || scalar == ".")
        ? String(scalar) : "_"
    }.joined()
    return "\(devices)/\(device).\(name.prefix(120)).\(kind)"
  }

  /// Makes the directory, readable by its owner alone, where there is none.
  func create(_ subdirectory: String? = nil) throws(CommandFailure) {
    let path = subdirectory ?? path
    do {
      try Files.createDirectory(path)
    } catch {
      throw CommandFailure(message: "cannot make the directory \(path): \(error)")
    }
  }
}

extension ParsedArguments {
  /// The data directory of `dev` and of the simulated phones: `--data`, or the default.
  var dataDirectory: DataDirectory {
    value("data").map { DataDirectory(path: $0) } ?? .forDevelopment(CurrentProcess.environment)
  }
}
