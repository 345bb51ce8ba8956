import Admission
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Testing

@testable import Server

/// Somebody who wants more than their share, at a whole server with every provider.
struct Playbook: Sendable {
  let way: Way
  let ceiling: Int64
  let apple: AppleServer

  var server: WholeServer { apple.server.whole }

  init(
    _ way: Way, on backend: ServerBackend, ceiling: Int64 = 200_000_000_000,
    quotas: [Configuration.QuotaRule] = []
  ) async throws {
    self.way = way
    self.ceiling = ceiling
    let functions = try Self.functions()
    apple = try await AppleServer(
      {
        $0.openAI = FallbackServer.openAI
        $0.functions = functions
        $0.quotas = quotas
        $0.budgets = [.init(name: "money", subject: .everyone, limit: ceiling)]
      }, on: backend.location)
  }

  private static func functions() throws -> [Configuration.Function] {
    var configuration = Configuration()
    configuration.openAI = FallbackServer.openAI
    var provider = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    provider.models = ["claude-haiku-4-5"]
    configuration.anthropic = provider
    var picture = Configuration.Fal(apiKey: Secret(WholeServer.falKey))
    picture.models = [Configuration.Fal.exampleModel]
    configuration.fal = picture
    try configuration.add(functions: Way.functions)
    return configuration.functions
  }

  /// Every way on SQLite, and one of each kind on PostgreSQL.
  static let cases: [(Way, ServerBackend)] =
    Way.allCases.map { ($0, .sqlite) }
    + (ServerBackend.allCases.contains(.postgreSQL) ? [.gpt, .queuedPicture, .streamedFunction] : []).map {
      ($0, .postgreSQL)
    }

  func signed(
    _ prompt: String, by phone: Phone, stream: Bool = false, as session: ClientSession? = nil
  ) async throws -> HTTPRequest {
    var request = way.request(prompt, stream: stream)
    if let session { request.fields["authorization"] = "Bearer " + session.accessToken }
    return try await phone.sign(request)
  }

  /// Asks and reads all that comes; the status.
  func ask(
    _ prompt: String, by phone: Phone, stream: Bool = false, as session: ClientSession? = nil
  ) async throws -> Int {
    let response = try await server.send(try await signed(prompt, by: phone, stream: stream, as: session))
    _ = try? await response.body.collect(upTo: 1 << 22)
    await server.background.drain()
    return response.status
  }

  /// Asks, reads so many pieces, and is gone.
  func leave(_ prompt: String, by phone: Phone, afterPieces pieces: Int) async throws {
    let response = try await server.send(try await signed(prompt, by: phone, stream: true))
    if case .stream(let body, _) = response.body.content {
      for _ in 0..<pieces { _ = try? await body.next() }
      body.cancel()
    }
    await server.background.drain()
  }

  /// Asks, and is gone once the provider was asked.
  func leaveBeforeTheHead(_ prompt: String, by phone: Phone) async throws {
    let request = try await signed(prompt, by: phone)
    let before = server.upstreamRequests.values.count
    await withTaskGroup(of: Void.self) { group in
      group.addTask { _ = try? await server.send(request) }
      while server.upstreamRequests.values.count == before { try? await Task.sleep(for: .milliseconds(1)) }
      group.cancelAll()
    }
    await server.background.drain()
  }

  /// What the providers bill, in pico-dollars.
  func billed() throws -> Int64 {
    let haiku = PriceTable.shipped.row(provider: "anthropic", model: "claude-haiku-4-5", at: .max)
    let mini = PriceTable.shipped.row(provider: "openai", model: "gpt-4.1-mini", at: .max)
    let (claude, gpt) = (server.anthropic.billing, server.openAI.billing)
    return server.falBill
      + (try #require(
        haiku?.cost(of: TokenUsage(input: Int64(claude.inputTokens), output: Int64(claude.outputTokens)))))
      + (try #require(
        mini?.cost(of: TokenUsage(input: Int64(gpt.inputTokens), output: Int64(gpt.outputTokens)))))
  }

  /// fal's queue comes to an end, whoever looks; what it never tells is given up after a day.
  private func endQueue() async throws {
    for _ in 0..<12 where try await server.openReservations() != 0 { await server.attend(minutes: 1) }
    guard try await server.openReservations() != 0 else { return }
    server.clock.advance(milliseconds: QueuedCall.lease)
    await server.attend()
  }

  /// How often a provider was asked for an answer.
  var asked: Int { server.upstreamRequests.values.count { $0.method == .post } }

  /// Looks at the books after an attack: nothing is held, what is booked is one sum wherever it stands, it is within
  /// the ceiling, and covers the bill. Returns it.
  @discardableResult func audit(_ attack: String) async throws -> Int64 {
    if way == .queuedPicture { try await endQueue() }
    let booked = try await server.booked()
    let bill = try billed()
    #expect(booked.line == booked.rows && booked.held == 0, "\(attack)")
    #expect(booked.rows <= ceiling, "\(attack)")
    #expect(booked.rows >= bill, "\(attack): booked \(booked.rows), billed \(bill)")
    #expect(try await server.openReservations() == 0, "\(attack)")
    return booked.rows
  }
}
