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

  /// What the model said, where the function's output is text.
  public let text: String?
  /// What the model said, read, where the function's output is JSON.
  public let result: JSONNode?
  /// The pictures of a function that draws.
  public let images: [Image]
  /// Why the model stopped: `end`, `limit` (the answer is cut) or `refusal`. Open: others may come.
  public let stop: String

  init?(_ json: JSONNode?) {
    guard let json, let stop = json["stop"]?.string else { return nil }
    self.stop = stop
    text = json["text"]?.string
    result = json["result"]
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
