import Encodings
import HTTPMessages
import SQL
import Server
import System
import Transport

/// A server that runs: its parts, its listeners and its jobs.
struct LiveServer: Sendable {
  private let parts: Compose
  let listener: HTTPServer
  let adminListener: HTTPServer

  /// How long running answers may go on after the server was asked to stop.
  private static let patience = Duration.seconds(30)

  /// How many connections are taken with so many descriptors. Whoever opens connections and says nothing may not
  /// take those that the database, the other listener and the calls to providers need: one for each call.
  static func connections(descriptors: Int) -> Int { max(8, (descriptors - 64) / 2) }

  /// Binds both listeners and starts the jobs.
  ///
  /// - Parameter handler: who answers, where that is not the server alone.
  init(_ server: Server, _ parts: Compose, handler: (any HTTPHandler)? = nil) async throws {
    self.parts = parts
    var settings = HTTPServer.Configuration()
    settings.onFailure = { Compose.log("handler", [("kind", .string("\(type(of: $0))"))]) }
    settings.connectionLimit = min(
      settings.connectionLimit, Self.connections(descriptors: DescriptorLimit.current.soft))
    let configuration = parts.configuration
    try await server.prepare()
    listener = try await Self.listen(
      handler ?? server.handler, on: configuration.listen, parts.loops, settings)
    adminListener = try await Self.listen(
      server.adminHandler, on: configuration.adminListen, parts.loops, settings)
    for job in server.jobs {
      switch job.nodes {
      case .everyNode: parts.background.every(.seconds(job.interval)) { await job.run() }
      case .oneNode:
        let runner = JobRunner(job, parts.jobContext)
        parts.background.every(runner.pause) { await runner.attempt() }
      }
    }
  }

  private static func listen(
    _ handler: any HTTPHandler, on address: ListenAddress, _ loops: EventLoopGroup,
    _ settings: HTTPServer.Configuration
  ) async throws -> HTTPServer {
    let text = address.host == "localhost" ? "127.0.0.1:\(address.port)" : "\(address)"
    guard let socket = SocketAddress(text) else {
      throw CommandFailure(message: "\(address) is no address to listen on", code: .configuration)
    }
    do {
      return try await HTTPServer(handler, on: [socket], loops: loops, configuration: settings)
    } catch {
      throw CommandFailure(message: "cannot listen on \(address): \(error)")
    }
  }

  /// Serves until SIGTERM or SIGINT, then lets running answers end. A second signal ends it at once.
  func run() async throws {
    let signals = try Signals(on: parts.loops.next())
    repeat {} while try await signals.next() == .hangUp
    // By the log's way: who does not read it may not keep the server from ending.
    Compose.lines.write(
      "stopping: running answers may end, for \(Self.patience.components.seconds) seconds at most")
    await withTaskGroup { group in
      group.addTask { await finish() }
      group.addTask {
        while let signal = try? await signals.next() {
          if signal != .hangUp { CurrentProcess.exit(ExitCode.failure.rawValue) }
        }
      }
      await group.next()
      group.cancelAll()
    }
    // Only now: whoever waits on a loop could not be told any more.
    parts.loops.stop()
    Compose.lines.flush(within: .seconds(1))
  }

  /// Takes no new connection, waits for running answers and their settlements, and closes the database.
  private func finish() async {
    await listener.shutdown(within: Self.patience)
    _ = await parts.background.drain(within: .seconds(10))
    await adminListener.shutdown(within: .seconds(1))
    parts.database.close()
  }
}
