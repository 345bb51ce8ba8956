import Accounts
import BramleyAPI
import Encodings
import HTTPMessages
import UserData

/// `POST /storage/v1/object/list/{bucket}` {`prefix`?, `limit`?, `offset`?, `search`?, `sortBy`?}: what is in a folder of
/// the bearer's user, as Supabase Storage lists it.
struct ObjectListRoute: Endpoint {
  let method = HTTPMethod.post
  let path = StorageTargets.list
  let store: any ObjectStore
  let bearers: BearerCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let user = try await bearers.require(request, now: exchange.startedAt).user
    let body = try await AccountBody(of: request)
    let folder = try body.text("prefix") ?? ""
    let search = try body.text("search") ?? ""
    let (limit, offset) = (try Self.number(body["limit"], or: 100), try Self.number(body["offset"], or: 0))
    let order = body["sortBy"]
    var entries = try await storage { try await contents(of: folder, of: user.id) }.filter {
      search.isEmpty || $0.name.contains(search)
    }
    if order?["column"]?.string?.hasSuffix("_at") == true {
      entries.sort { ($0.createdAt, $0.name) < ($1.createdAt, $1.name) }
    }
    if order?["order"]?.string == "desc" { entries.reverse() }
    return .json(.array(entries.dropFirst(offset).prefix(min(limit, 1_000)).map(\.json)))
  }

  /// What is in the folder itself, by name. Of what lies in folders below it no more than a page each is read.
  private func contents(of folder: String, of user: UUID) async throws -> [ObjectEntry] {
    let trimmed = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
    guard trimmed.isEmpty || ObjectPath(trimmed) != nil else { return [] }
    let prefix = trimmed.isEmpty ? "" : trimmed + "/"
    var (entries, last): ([ObjectEntry], String) = ([], "")
    while true {
      let page = try await store.objects(
        of: user, in: StorageTargets.functionBucket, folder: prefix, after: last, limit: Self.page)
      for object in page {
        let entry = ObjectEntry(object, in: prefix)
        if case .folder = entry, entry == entries.last { continue }
        entries.append(entry)
      }
      guard page.count == Int(Self.page), let end = page.last else { break }
      switch entries.last {
      case .folder(let name)?: last = prefix + name + "/" + ObjectPath.last
      default: last = end.path.description
      }
    }
    return entries.sorted { $0.name < $1.name }
  }

  private static let page: Int64 = 500

  private static func number(_ node: JSONNode?, or fallback: Int) throws(Failure) -> Int {
    guard let node else { return fallback }
    guard let number = node.integer, (0...1_000_000).contains(number) else {
      throw .validation("limit and offset are whole numbers from 0 to 1000000")
    }
    return Int(number)
  }
}

/// A file or a folder in a list.
enum ObjectEntry: Sendable, Equatable {
  case file(StoredObject, name: String)
  case folder(String)

  var name: String {
    switch self {
    case .file(_, let name), .folder(let name): name
    }
  }

  var createdAt: Int64 { if case .file(let object, _) = self { object.createdAt } else { 0 } }

  /// - Parameter prefix: the folder that it is in, with its slash.
  init(_ object: StoredObject, in prefix: String) {
    let rest = object.path.description.dropFirst(prefix.count)
    if let slash = rest.firstIndex(of: "/") {
      self = .folder(String(rest[..<slash]))
    } else {
      self = .file(object, name: String(rest))
    }
  }

  var json: JSONValue {
    guard case .file(let object, let name) = self else {
      return [
        "name": .string(name), "id": .null, "updated_at": .null, "created_at": .null,
        "last_accessed_at": .null, "metadata": .null,
      ]
    }
    let created = JSONValue.time(object.createdAt)
    return [
      "name": .string(name), "id": .string(object.id.description), "bucket_id": .string(object.bucket),
      "updated_at": created, "created_at": created, "last_accessed_at": created,
      "metadata": [
        "size": .integer(object.size), "contentLength": .integer(object.size),
        "mimetype": .string(object.contentType.rawValue), "lastModified": created,
      ],
    ]
  }
}
