public import BramleyAPI
public import Encodings

/// What a function of the server answered. It is the same whichever provider made it.
public struct FunctionAnswer: Sendable {
  /// A picture that the model drew.
  public struct Image: Sendable, Equatable {
    /// Where it is: https, or a data URL with the picture itself.
    public let url: String
    /// Such as `image/jpeg`; nil where it was not told.
    public let contentType: String?
    /// In pixels; nil where it was not told.
    public let width: Int?
    /// In pixels; nil where it was not told.
    public let height: Int?
  }

  /// What the server keeps for the user, of a function whose result is stored.
  public struct Object: Sendable, Equatable {
    /// As Supabase Storage's clients name it.
    public let bucket: String
    /// Its name in the bucket.
    public let path: String
    /// Such as `image/png`.
    public let contentType: String
    /// Octets of its content.
    public let bytes: Int
  }

  /// What the model said, where the function's output is text.
  public let text: String?
  /// What the model said, read, where the function's output is JSON.
  public let result: JSONNode?
  /// The pictures of a function that draws.
  public let images: [Image]
  /// What is stored. Empty where the function stores nothing, and where ``notStored`` says why it did not: then the
  /// answer itself holds what was made.
  public let objects: [Object]
  /// Why what was made is not stored; nil where it is, or was not to be.
  public let notStored: ErrorCode?
  /// Why the model stopped: `end`, `limit` (the answer is cut) or `refusal`. Open: others may come.
  public let stop: String

  init?(_ json: JSONNode?) {
    guard let json, let stop = json["stop"]?.string else { return nil }
    self.stop = stop
    text = json["text"]?.string
    result = json["result"]
    objects = (json["objects"]?.elements ?? []).compactMap { node in
      guard let bucket = node["bucket"]?.string, let path = node["path"]?.string,
        let type = node["content_type"]?.string, let bytes = node["bytes"]?.integer
      else { return nil }
      return Object(bucket: bucket, path: path, contentType: type, bytes: Int(clamping: bytes))
    }
    notStored = json["not_stored"]?["code"]?.string.map { ErrorCode(rawValue: $0) }
    images = (json["images"]?.elements ?? []).compactMap { node in
      node["url"]?.string.map {
        Image(
          url: $0, contentType: node["content_type"]?.string,
          width: node["width"]?.integer.flatMap { Int(exactly: $0) },
          height: node["height"]?.integer.flatMap { Int(exactly: $0) })
      }
    }
  }
}
