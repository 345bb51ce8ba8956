import Encodings
import HTTPMessages

/// The body of a request for an account: one JSON object, in which null is as good as nothing.
struct AccountBody: Sendable {
  /// Octets that are read. Supabase reads 1 MiB, but no client sends a sixteenth of it, and here strangers send.
  static let limit = 65_536

  /// As they came: evidence is signed over them.
  let octets: [UInt8]
  private let node: JSONNode?

  /// Reads the request's.
  ///
  /// - Parameter isOptional: whether there may be none.
  init(of request: HTTPRequest, isOptional: Bool = false) async throws {
    do {
      octets = try await request.body.collect(upTo: Self.limit)
    } catch HTTPBodyError.tooLarge {
      throw Failure.requestTooLarge
    }
    if isOptional, octets.isEmpty {
      node = nil
      return
    }
    do {
      node = try JSONReader.read(octets, maximumDepth: 32)
    } catch {
      throw Failure.badJSON(error.description)
    }
    guard node?.members != nil else { throw Failure.badJSON("an object belongs here") }
  }

  /// The member, unless it is absent or null.
  subscript(name: String) -> JSONNode? {
    guard let value = node?[name], !value.isNull else { return nil }
    return value
  }

  /// The text of a member; nil where it is absent, null or empty.
  func text(_ name: String) throws(Failure) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = value.string else { throw .validation("\(name) must be a string") }
    return text.isEmpty ? nil : text
  }

  /// The truth value of a member; false where it is absent.
  func flag(_ name: String) throws(Failure) -> Bool {
    guard let value = self[name] else { return false }
    guard let flag = value.bool else { throw .validation("\(name) must be true or false") }
    return flag
  }

  /// The object that a member is; nil where it is absent.
  func object(_ name: String) throws(Failure) -> JSONValue? {
    guard let value = self[name] else { return nil }
    guard value.members != nil else { throw .validation("\(name) must be an object") }
    return value.value
  }
}

extension HTTPRequest {
  /// The parameters of the query. One that is empty is as good as none.
  var parameters: FormParameters {
    get throws(Failure) {
      guard let form = FormParameters(parsing: query ?? "") else {
        throw .validation("The query cannot be read")
      }
      return FormParameters(form.parameters.filter { !$0.value.isEmpty }.map { ($0.name, $0.value) })
    }
  }
}
