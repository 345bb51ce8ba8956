import Accounts
import AppleSimulator
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Stores
import Synchronization
import Testing
import UserData

@testable import Server

/// A server with functions that store what they make, asked by phones whose users are signed in.
struct StoringServer: Sendable {
  static let functions = #"""
    { "functions": {
      "note": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 300, "result": "store",
        "sign_in": "anonymous", "policy": "session",
        "template": "Say {{words}}.", "input": { "words": { "type": "string", "max_length": 400 } }
      },
      "facts": {
        "provider": "anthropic", "model": "claude-haiku-4-5", "max_tokens": 300, "result": "store", "output": "json",
        "sign_in": "anonymous", "template": "Say {{words}}.",
        "input": { "words": { "type": "string", "max_length": 400 } }
      },
      "creature": {
        "provider": "fal", "model": "fal-ai/flux/schnell", "kind": "image", "result": "store",
        "sign_in": "anonymous", "template": "A creature called {{name}}.",
        "input": { "name": { "type": "string", "max_length": 400 } },
        "parameters": { "image_size": "square", "num_images": 1 }
      }
    } }
    """#

  let whole: WholeServer

  /// - Parameters:
  ///   - files: answers where the simulated fal has its files; nil for it itself.
  ///   - objects: what stands in the place of the objects in the database.
  init(
    _ change: @escaping (inout Configuration) -> Void = { _ in },
    upstream: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    files: (@Sendable (HTTPRequest) async throws -> HTTPResponse)? = nil,
    objects: (any ObjectStore)? = nil, sharing other: WholeServer? = nil
  ) async throws {
    var over = Configuration()
    over.auth = Configuration.Auth()
    over.anthropic = Configuration.Anthropic(apiKey: Secret(WholeServer.apiKey))
    over.fal = Configuration.Fal(apiKey: Secret(WholeServer.falKey))
    over.fal?.models = [Configuration.Fal.exampleModel]
    try over.add(functions: Self.functions)
    let functions = over.functions
    let fal = SimulatedFal(apiKey: WholeServer.falKey, sleep: { _ in })
    whole = try await WholeServer(
      {
        $0.auth = Configuration.Auth()
        $0.functions = functions
        change(&$0)
      }, upstream: upstream,
      outside: { request in
        if let files { return try await files(request) }
        return try await fal.respond(to: request)
      }, objects: objects, sharing: other)
  }

  var objects: SQLObjectStore { SQLObjectStore(whole.database) }

  /// A guest's session.
  func signUp() async throws -> ClientSession {
    try await ClientSession(
      whole.send(
        HTTPRequest(
          method: .post, target: "/auth/v1/signup", fields: ["x-supabase-api-version": "2024-01-01"],
          body: HTTPBody("{}"), peer: "192.0.2.1")))
  }

  /// Calls a function as a user, from a phone.
  func call(
    _ name: String, _ input: JSONValue, _ phone: Phone, as session: ClientSession?, key: String? = nil
  ) async throws -> HTTPResponse {
    var request = Phone.call(name, input.text)
    if let session { request.fields["authorization"] = "Bearer " + session.accessToken }
    if let key { request.fields["idempotency-key"] = key }
    return try await whole.send(try await phone.sign(request))
  }

  /// Asks below `/storage/v1/object`, with nothing but an access token.
  func storage(
    _ method: HTTPMethod, _ target: String, as session: ClientSession?, _ body: String = ""
  ) async throws -> HTTPResponse {
    var request = HTTPRequest(
      method: method, target: "/storage/v1/object" + target, body: HTTPBody(body), peer: "192.0.2.1")
    if let session { request.fields["authorization"] = "Bearer " + session.accessToken }
    return try await whole.send(request)
  }

  /// What a function stored, which must be one object.
  static func stored(_ response: HTTPResponse) async throws -> JSONNode {
    let json = try await response.json
    try #require(response.status == 200 && json["objects"]?.elements?.count == 1, "\(json.value.text)")
    return try #require(json["objects"]?.elements?.first)
  }
}

/// Objects in the database, with steps that a test takes in between.
final class BentObjectStore: ObjectStore {
  struct Broken: Error {}

  private let inner: SQLObjectStore
  /// Puts that are still to fail, and whether they fail after they kept.
  private let failures = Mutex<(left: Int, keeps: Bool)>((0, false))
  private let beforePut: @Sendable () async throws -> Void
  let puts = Atomic<Int>(0)

  init(_ inner: SQLObjectStore, beforePut: @escaping @Sendable () async throws -> Void = {}) {
    self.inner = inner
    self.beforePut = beforePut
  }

  func fail(_ count: Int, keeping keeps: Bool = false) { failures.withLock { $0 = (count, keeps) } }

  func put(
    _ drafts: [ObjectDraft], within limits: ObjectLimits, noting note: SpendingNote?
  ) async throws -> ObjectRefusal? {
    try await beforePut()
    puts.add(1, ordering: .relaxed)
    let failure = failures.withLock { state -> Bool? in
      guard state.left > 0 else { return nil }
      state.left -= 1
      return state.keeps
    }
    if let failure {
      if failure { _ = try await inner.put(drafts, within: limits, noting: note) }
      throw Broken()
    }
    return try await inner.put(drafts, within: limits, noting: note)
  }

  func standing(of user: UUID) async throws -> ObjectStanding { try await inner.standing(of: user) }

  func object(_ path: ObjectPath, in bucket: String, of user: UUID) async throws -> StoredObject? {
    try await inner.object(path, in: bucket, of: user)
  }

  func objects(of user: UUID, after: StoredObject?, limit: Int64) async throws -> [StoredObject] {
    try await inner.objects(of: user, after: after, limit: limit)
  }

  func objects(
    of user: UUID, in bucket: String, folder: String, after path: String, limit: Int64
  ) async throws -> [StoredObject] {
    try await inner.objects(of: user, in: bucket, folder: folder, after: path, limit: limit)
  }

  func objects(of user: UUID, origin: [UInt8]) async throws -> [StoredObject] {
    try await inner.objects(of: user, origin: origin)
  }

  func piece(_ number: Int64, of id: UUID) async throws -> [UInt8]? { try await inner.piece(number, of: id) }

  func remove(_ paths: [ObjectPath], in bucket: String, of user: UUID) async throws -> [StoredObject] {
    try await inner.remove(paths, in: bucket, of: user)
  }

  func erase(of user: UUID) async throws -> Int { try await inner.erase(of: user) }
}
