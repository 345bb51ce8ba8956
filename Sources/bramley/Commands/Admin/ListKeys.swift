import Admission
import Encodings
import Stores

/// `bramley admin keys list`
struct ListKeys: Command {
  static let syntax = CommandSyntax(
    words: ["admin", "keys", "list"], summary: "List the registered keys of devices, oldest first.",
    options: OperatedDatabase.options + [
      .init(name: "status", value: "STATUS", summary: "live, banned or revoked", fallback: "all")
    ],
    discussion: """
      Each line has, parted by tabs: the key id, its status, when it was registered, the app, App
      Attest's environment, the version of the system where it is known, the risk metric of Apple's
      newest receipt with the day when that came, and `new` or `known`: whether DeviceCheck had seen
      the device register in the same month before.
      """)

  private static let page = 1_000

  private let arguments: ParsedArguments
  private let status: DeviceState.Status?

  init(_ arguments: ParsedArguments) throws(UsageError) {
    self.arguments = arguments
    status = try arguments.value("status", expected: "live, banned or revoked") { text in
      DeviceState.Status.all.first { $0.word == text }
    }
  }

  func run(_ console: Console) async throws -> ExitCode {
    try await OperatedDatabase(arguments, console).look { database in
      let list = SQLDeviceKeyList(database)
      var last: Int64 = 0
      while true {
        let keys = try await list.keys(after: last, status: status, limit: Self.page)
        for key in keys {
          console.print(
            [
              Base64.encode(key.keyID), key.status.word,
              CivilTime(secondsSince1970: key.registeredAt).rfc3339,
              key.appID, key.environment, key.osVersion ?? "",
              key.riskMetric.map { "\($0)" } ?? "",
              key.receiptAt.map { String(CivilTime(secondsSince1970: $0).rfc3339.prefix(10)) } ?? "",
              key.isKnownDevice.map { $0 ? "known" : "new" } ?? "",
            ].joined(separator: "\t"))
        }
        guard keys.count == Self.page, let id = keys.last?.id else { return }
        last = id
      }
    }
    return .success
  }
}

extension DeviceState.Status {
  fileprivate static let all: [DeviceState.Status] = [.live, .banned, .revoked]

  fileprivate var word: String {
    switch self {
    case .live: "live"
    case .banned: "banned"
    case .revoked: "revoked"
    }
  }
}
