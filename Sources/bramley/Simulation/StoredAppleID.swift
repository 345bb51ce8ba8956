import AppleSimulator
import Encodings
import HTTPMessages
import SignInWithApple
import System

/// The simulated Sign in with Apple of a data directory. Its keys, accounts and consents are in a file there, so that
/// a user of yesterday is the same today.
struct StoredAppleID: Sendable {
  static let teamID = "SIMULATED0"
  /// The bundle id of the app on the simulated phones.
  static let app = "com.example.bramley"
  /// The Services ID.
  static let site = "com.example.bramley.web"
  /// Where it stands on the server of `dev`.
  static let path = "/simulated-apple"

  /// Apple's endpoints, below ``path``.
  var handler: any HTTPHandler { Below(path: Self.path, handler: control { _ in }) }
  /// The team's key for client secrets.
  let key: SimulatedTeamKey
  private let apple: SimulatedAppleID
  private let file: AppleIDFile

  /// - Parameters:
  ///   - callbacks: where browsers may be answered to.
  ///   - sleep: waits.
  init(
    in data: DataDirectory, callbacks: [String], sleep: @escaping @Sendable (Duration) async throws -> Void
  ) async throws {
    let path = data.simulatedAppleID
    let apple: SimulatedAppleID
    do {
      try data.create()
      let isThere = Files.exists(path)
      // What is restored brings its own keys: making some first takes a while.
      apple = try SimulatedAppleID(
        clients: [
          SimulatedAppleClient(clientID: Self.app, kind: .native, teamID: Self.teamID),
          SimulatedAppleClient(
            clientID: Self.site, kind: .web, teamID: Self.teamID, redirectURIs: callbacks),
        ], now: { WallClock.seconds }, sleep: sleep)
      if isThere { try await apple.restore(try Files.read(path, upTo: 1 << 24)) }
    } catch let error as SimulatorError {
      throw CommandFailure(
        message: "cannot read the simulated Apple ID in \(path): \(error); remove it for a new one")
    }
    if let kept = try await apple.teamKeys(of: Self.teamID).last {
      key = kept
    } else {
      key = try await apple.makeKey(team: Self.teamID)
    }
    file = AppleIDFile(path)
    self.apple = apple
    await file.save(apple)
  }

  /// A server with Apple beside it, for browsers and for the commands of `simulate apple`. Apple tells the server
  /// what happens in its settings.
  func beside(_ server: any HTTPHandler) -> any HTTPHandler {
    let doors = control { notification in
      let answer = try? await server.respond(to: notification.request())
      guard answer?.status != 200 else { return }
      Compose.log(
        "simulated_notification_refused", [("status", answer.map { .integer(Int64($0.status)) } ?? .null)])
    }
    return Below(path: Self.path, handler: doors, elsewhere: server)
  }

  private func control(
    _ notify: @escaping @Sendable (SimulatedNotification) async -> Void
  ) -> SimulatedAppleControl {
    let file = file
    return SimulatedAppleControl(apple, changed: { await file.save($0) }, notify: notify)
  }

  /// For whom the server takes identity tokens.
  static let clients = [
    AppleClient(clientID: app, kind: .native, teamID: teamID),
    AppleClient(clientID: site, kind: .web, teamID: teamID),
  ]
}

/// Writes the state of a simulated Apple ID, and none over one that was taken later.
private actor AppleIDFile {
  private let path: String
  private var lastSave = 0
  private var lastWritten = 0

  init(_ path: String) { self.path = path }

  /// What cannot be written is gone with this process, which is said; nobody's request fails for it.
  func save(_ apple: SimulatedAppleID) async {
    lastSave += 1
    let number = lastSave
    do {
      let state = try await apple.state
      guard number > lastWritten else { return }
      try Files.write(state, to: path)
      lastWritten = number
    } catch {
      Compose.log("simulated_apple_not_saved", [("error", .string("\(error)"))])
    }
  }
}

/// A handler below a path.
struct Below: HTTPHandler {
  let path: String
  let handler: any HTTPHandler
  /// Who answers elsewhere; nobody, when nil.
  var elsewhere: (any HTTPHandler)?

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard request.path.hasPrefix(path + "/") else {
      return try await elsewhere?.respond(to: request) ?? HTTPResponse(status: 404)
    }
    var request = request
    request.target.removeFirst(path.count)
    return try await handler.respond(to: request)
  }
}
