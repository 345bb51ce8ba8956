package import Encodings
import Gateway
package import HTTPMessages

/// Takes the files that fal's models made, for routes that keep or pass them on (RULES §6.3): from the listed hosts, by
/// https, without redirects, of a bounded size, at public addresses.
package struct FalFiles: Sendable {
  /// A file, and its type as it is served here.
  package struct File: Sendable, Equatable {
    package var bytes: [UInt8]
    /// Of the list of types that are pictures or films; anything else is no file of a model.
    package var mediaType: String
  }

  /// Why there is no file.
  package enum Refusal: Error, Sendable, Equatable {
    /// No https URL, or no `data:` URL of a type that is taken.
    case url
    /// The host answered with something else than the file.
    case status(Int)
    /// A type that is not taken, or a coding.
    case content
  }

  private static let types: Set<String> = [
    "image/png", "image/jpeg", "image/webp", "image/gif", "video/mp4",
  ]

  private let client: OutsideClient
  private let limit: Int

  /// - Parameter network: that of ``OutsideNetwork/files``.
  package init(_ configuration: Configuration.Fal, network: any HTTPHandler) {
    client = OutsideClient(
      network, OutsidePolicy(hosts: configuration.fileHosts, maximumSize: configuration.fileLimit))
    limit = configuration.fileLimit
  }

  /// The URLs of the files in a result, in their order: of `images`, or of `image` or `video` alone.
  package static func urls(in result: JSONNode) -> [String] {
    let many = result["images"]?.elements ?? []
    return (many + [result["image"], result["video"]].compactMap(\.self)).compactMap { $0["url"]?.string }
  }

  /// The file at a URL of a result. Throws ``Refusal``, `OutsidePolicy.Refusal`, `HTTPBodyError`, and what the network
  /// throws.
  package func file(at url: String) async throws -> File {
    if url.hasPrefix("data:") { return try inline(url) }
    guard url.hasPrefix("https://"), url.utf8.count <= 2_048,
      url.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "\\") })
    else { throw Refusal.url }
    let rest = url.dropFirst("https://".count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    let target = rest.dropFirst(authority.count)
    guard !authority.contains("@"), target.hasPrefix("/") else { throw Refusal.url }
    let response = try await client.respond(
      to: HTTPRequest(
        method: .get, scheme: "https", authority: String(authority), target: String(target),
        fields: ["accept": "image/*, video/mp4", "accept-encoding": "identity", "user-agent": "bramley"]))
    guard response.status == 200 else {
      if case .stream(let stream, _) = response.body.content { stream.cancel() }
      throw Refusal.status(response.status)
    }
    let type = MediaType.essence(response.fields["content-type"] ?? "")
    guard Self.types.contains(type), response.fields["content-encoding"] == nil else {
      if case .stream(let stream, _) = response.body.content { stream.cancel() }
      throw Refusal.content
    }
    return File(bytes: try await response.body.collect(upTo: limit), mediaType: type)
  }

  /// A file that stands in the answer itself.
  private func inline(_ url: String) throws -> File {
    guard let comma = url.utf8.firstIndex(of: UInt8(ascii: ",")) else { throw Refusal.url }
    let head = url[..<comma].dropFirst("data:".count)
    guard head.hasSuffix(";base64") else { throw Refusal.url }
    let type = MediaType.essence(String(head.dropLast(";base64".count)))
    guard Self.types.contains(type) else { throw Refusal.content }
    let text = url[url.utf8.index(after: comma)...]
    guard text.utf8.count / 4 * 3 <= limit else { throw HTTPBodyError.tooLarge(limit: limit) }
    guard let bytes = Base64.decode(String(text)) else { throw Refusal.url }
    return File(bytes: bytes, mediaType: type)
  }
}
