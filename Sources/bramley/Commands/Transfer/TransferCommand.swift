import Accounts
import Encodings
import SQL
import Server
import SignInWithApple
import Stores
import System
import Transport

/// What the commands of `admin transfer` share.
struct TransferCommand: Sendable {
  static let options: [CommandSyntax.Option] = [
    .init(
      name: "client", value: "ID", summary: "the bundle id of the app that moves",
      fallback: "the first native client of the configuration"),
    .init(
      name: "accepted", value: "DATE",
      summary: "the day on which the recipient accepted the transfer, in UTC"),
    .init(name: "again", summary: "also ask about users that were refused before"),
    .init(name: "dry-run", summary: "ask Apple whether it takes the key, and change nothing"),
    .init(name: "json", summary: "print every user's result, a JSON document a line"),
    .init(
      name: "config", value: "FILE", summary: "the server's configuration", fallback: "as for serve"),
  ]

  let step: TransferStep
  /// The other team, as it was given.
  let other: String
  private let client: String?
  private let acceptedAt: Int64?
  private let again: Bool
  private let isDry: Bool
  private let isJSON: Bool
  private let config: String?

  init(_ arguments: ParsedArguments, _ step: TransferStep, team option: String) throws(UsageError) {
    self.step = step
    other =
      try arguments.value(option, expected: "a team id: ten letters and digits") { text in
        let isID = text.utf8.allSatisfy {
          (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
        }
        return text.utf8.count == 10 && isID ? text.uppercased() : nil
      } ?? ""
    client = arguments.value("client")
    acceptedAt = try arguments.value("accepted", expected: "a day such as 2026-10-09") { text in
      text.utf8.count == 10 ? AuditTime.seconds(text).map { $0 * 1_000 } : nil
    }
    again = arguments.flag("again")
    isDry = arguments.flag("dry-run")
    isJSON = arguments.flag("json")
    config = arguments.value("config")
  }

  /// - Parameter before: what is done first, where it is no dry run.
  func run(
    _ console: Console, before: (SQLTransferStore, AccountTransfer) async throws -> Void = { _, _ in }
  ) async throws -> ExitCode {
    let configuration = try ConfigurationFile.read(config, console)
    let operated = OperatedDatabase(configuration: configuration)
    try operated.requireDatabase()
    guard let apple = configuration.auth?.apple, let keyID = apple.keyID, let text = apple.privateKey,
      let key = try? ApplePrivateKey.read(text.value)
    else { throw CommandFailure(message: "auth.apple has no key: key_id and private_key are needed") }
    guard let clientID = client ?? apple.clients.first(where: { $0.kind == .native })?.clientID,
      apple.clients.contains(where: { $0.clientID == clientID })
    else { throw CommandFailure(message: "auth.apple.clients does not name the app that moves") }
    let own = apple.teamID
    let (source, target) = step == .export ? (own, other) : (other, own)
    guard source.uppercased() != target.uppercased() else {
      throw CommandFailure(message: "\(other) is the team of the configuration: a transfer needs two")
    }
    let loops = try EventLoopGroup(loops: 1)
    defer { loops.stop() }
    let network = try HTTPClient(on: loops)
    return try await operated.open { database in
      let store = SQLTransferStore(database)
      let run = TransferRun(
        apple: network, service: apple.service, key: AppleSigningKey(teamID: own, keyID: keyID, key: key),
        clientID: clientID, store: store, now: { WallClock.milliseconds })
      return try await carryOut(run, store, source: source, target: target, console, before: before)
    }
  }

  private func carryOut(
    _ run: TransferRun, _ store: SQLTransferStore, source: String, target: String, _ console: Console,
    before: (SQLTransferStore, AccountTransfer) async throws -> Void
  ) async throws -> ExitCode {
    let transfer = try await store.transfer(
      from: source, to: target, acceptedAt: acceptedAt, now: WallClock.milliseconds)
    if let left = transfer.remaining(at: WallClock.milliseconds) {
      console.note("\(max(left, 0) / 86_400_000) days are left of the sixty after the acceptance")
    }
    do {
      if isDry {
        try await run.probe(transfer, step)
        let count = try await store.count(transfer, step, again: again)
        console.note("Apple takes the key; \(count) users are to be asked about. Nothing was changed")
        return .success
      }
      try await before(store, transfer)
      _ = try await run.run(transfer, step, again: again) { console.note("\($0) done") }
    } catch let stop as TransferRun.Stop {
      _ = try await report(store, transfer, console)
      throw CommandFailure(message: Self.words(stop))
    }
    return try await report(store, transfer, console)
  }

  /// Counts what became of whom, and prints every user where that is asked; fails where somebody is left.
  private func report(
    _ store: SQLTransferStore, _ transfer: AccountTransfer, _ console: Console
  ) async throws -> ExitCode {
    var counts: [TransferResult: Int] = [:]
    var after: UUID?
    while true {
      let users = try await store.results(transfer, after: after, limit: 500)
      for user in users {
        counts[user.result, default: 0] += 1
        if isJSON { console.print(TransferLine(user).json.text) }
      }
      guard users.count == 500, let last = users.last else { break }
      after = last.identity
    }
    let words = TransferResult.allCases.filter { counts[$0] != nil }.map {
      "\($0.rawValue.split(separator: "_").joined(separator: " ")): \(counts[$0] ?? 0)"
    }
    console.note(
      words.isEmpty ? "no user has an identity of \(transfer.source)" : words.joined(separator: ", "))
    let left = (counts[.refused] ?? 0) + (counts[.conflict] ?? 0)
    return left == 0 ? .success : .failure
  }

  private static func words(_ stop: TransferRun.Stop) -> String {
    switch stop {
    case .ownTeam: "the target is the sender's own team: users would be stuck for good"
    case .noTeam: "the target is no team id of Apple's"
    case .tooLate: "the transfer was accepted more than sixty days ago: transfer the app back and do it again"
    case .configuration(let words): "\(words): compare team_id, key_id and the client with Apple's portal"
    case .unavailable(let words): "\(words): run it again later, it goes on where it stopped"
    }
  }
}

/// A user's result as a line of JSON. It holds no subject and no address (Apple: export the transfer identifier alone).
struct TransferLine: Sendable, Equatable {
  var identity: UUID
  var user: UUID?
  var identifier: String?
  var result: String?
  var reason: String?

  init(_ user: TransferUser) {
    identity = user.identity
    self.user = user.user
    identifier = user.identifier
    result = user.result.rawValue
    reason = user.reason
  }

  /// nil for a line that names no identity, or no transfer identifier.
  init?(_ line: some Sequence<UInt8>) {
    guard let node = try? JSONReader.read(Array(line)),
      let identity = node["identity"]?.string.flatMap({ UUID($0) }),
      let identifier = node["transfer_sub"]?.string, !identifier.isEmpty, identifier.utf8.count <= 255
    else { return nil }
    self.identity = identity
    self.identifier = identifier
  }

  var json: JSONValue {
    var members: [(String, JSONValue)] = [("identity", .string(identity.description))]
    if let user { members.append(("user", .string(user.description))) }
    if let identifier { members.append(("transfer_sub", .string(identifier))) }
    if let result { members.append(("result", .string(result))) }
    if let reason { members.append(("reason", .string(reason))) }
    return .object(members)
  }
}
