import BramleyAPI
import Encodings
import HTTPMessages
import UserData

/// `GET /storage/v1/object/…`: an object of the bearer's user. With `?download` it is a file to be saved, whatever it is.
struct ObjectRoute: Endpoint {
  let method = HTTPMethod.get
  let path: String
  let store: any ObjectStore
  let bearers: BearerCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let object = try await store.object(of: request, exchange, bearers)
    let isSaved = FormParameters(parsing: request.query ?? "")?.parameters.contains { $0.name == "download" }
    let disposition = object.contentType.isShown && isSaved != true ? "inline" : "attachment"
    let body =
      object.size == 0
      ? HTTPBody.empty
      : HTTPBody(stream: ObjectBody(object, store), length: Int(exactly: object.size))
    return HTTPResponse(
      status: 200,
      fields: [
        "content-type": object.contentType.rawValue,
        // Its name is plain: nothing in it needs an escape (RFC 6266).
        "content-disposition": "\(disposition); filename=\"\(object.path.name)\"",
        "content-security-policy": "sandbox; default-src 'none'",
      ], body: body)
  }
}

/// An object's content, a piece at a time as it is pulled.
private actor ObjectBody: HTTPBodyStream {
  private let object: StoredObject
  private let store: any ObjectStore
  private var number: Int64 = 0
  private var left: Int64

  init(_ object: StoredObject, _ store: any ObjectStore) {
    self.object = object
    self.store = store
    left = object.size
  }

  func next() async throws -> [UInt8]? {
    guard left > 0 else { return nil }
    let piece = try await store.piece(number, of: object.id)
    // It was removed meanwhile: the answer breaks off, and is not taken for the whole.
    guard let piece, !piece.isEmpty, Int64(piece.count) <= left else { throw HTTPBodyError.incomplete }
    number += 1
    left -= Int64(piece.count)
    return piece
  }

  nonisolated func cancel() {}
}

/// `GET /storage/v1/object/info/…`: what is known of an object.
struct ObjectInformationRoute: Endpoint {
  let method = HTTPMethod.get
  let path = StorageTargets.information
  let store: any ObjectStore
  let bearers: BearerCheck

  func respond(to request: HTTPRequest, _ exchange: inout Exchange) async throws -> HTTPResponse {
    let object = try await store.object(of: request, exchange, bearers)
    return .json([
      "id": .string(object.id.description), "name": .string(object.path.description),
      "bucket_id": .string(object.bucket), "size": .integer(object.size),
      "content_type": .string(object.contentType.rawValue), "created_at": .time(object.createdAt),
      "last_modified": .time(object.createdAt),
    ])
  }
}
