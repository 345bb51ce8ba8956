/// What an object is (RFC 9110 §8.3.1): only types that this server makes, so that none of them is run by whoever
/// shows it.
package enum ObjectType: String, Sendable, CaseIterable {
  case png = "image/png"
  case jpeg = "image/jpeg"
  case gif = "image/gif"
  case webp = "image/webp"
  case heic = "image/heic"
  case mp4 = "video/mp4"
  case m4a = "audio/mp4"
  case json = "application/json"
  case text = "text/plain; charset=utf-8"

  /// What the names of such files end with.
  package var suffix: String {
    switch self {
    case .png: "png"
    case .jpeg: "jpg"
    case .gif: "gif"
    case .webp: "webp"
    case .heic: "heic"
    case .mp4: "mp4"
    case .m4a: "m4a"
    case .json: "json"
    case .text: "txt"
    }
  }

  /// Whether a browser may show it where it is; anything else is a download (RULES §6.2).
  package var isShown: Bool {
    switch self {
    case .png, .jpeg, .gif, .webp, .heic, .mp4, .m4a: true
    case .json, .text: false
    }
  }
}
