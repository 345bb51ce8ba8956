import Cryptography
import HTTPMessages

/// What binds a flow to the browser that it was begun in: a cookie for each, so that two that are begun in one browser
/// do not undo each other.
struct FlowCookies: Sendable {
  /// Before the flow's own part of the name.
  static let prefix = "bramley-flow-"
  /// That a browser keeps at most; the oldest go first.
  static let limit = 16

  /// The path of the accounts' routes, without a slash at its end. `authorize` must see the cookies as well, to bound
  /// them.
  let path: String
  let isSecure: Bool

  init(accountsURL: String) {
    let base = BaseURL(accountsURL)
    path = base?.path ?? ""
    isSecure = base?.scheme == "https"
  }

  /// The fields that give the browser this cookie, and take old ones of other flows from it where it has too many.
  ///
  /// - Parameters:
  ///   - name: the flow's own part of the name, letters and digits.
  ///   - life: seconds.
  func begin(_ name: String, _ value: String, life: Int64, _ request: HTTPRequest) -> [String] {
    // RFC 6265 §5.4: what was set earlier comes first.
    let names = Self.cookies(request).map(\.name)
    let excess = names.prefix(max(0, names.count - (Self.limit - 1)))
    return [field(Self.prefix + name, value, life: life)]
      + Set(excess).sorted().map { field($0, "", life: 0) }
  }

  /// Whether one of the request's cookies has this hash.
  static func match(_ hash: [UInt8], _ request: HTTPRequest) -> Bool {
    cookies(request).contains { ConstantTime.equal(SHA256.hash($0.value), hash) }
  }

  private static func cookies(_ request: HTTPRequest) -> [(name: String, value: String)] {
    request.fields.values("cookie").flatMap { $0.split(separator: ";") }.compactMap { pair in
      let pair = pair.drop { $0 == " " }
      guard pair.hasPrefix(prefix), let sign = pair.firstIndex(of: "=") else { return nil }
      let name = pair[..<sign]
      // The name is written back: nothing but what we make.
      guard name.utf8.count <= prefix.utf8.count + 16,
        name.utf8.dropFirst(prefix.utf8.count).allSatisfy(isPlain)
      else { return nil }
      return (String(name), String(pair[pair.index(after: sign)...]))
    }
  }

  private static func isPlain(_ octet: UInt8) -> Bool {
    (0x30...0x39).contains(octet) || (0x61...0x7A).contains(octet)
  }

  /// Lax: it comes along when Apple's form post is answered by a redirection to a page of ours, not with the post
  /// itself.
  private func field(_ name: String, _ value: String, life: Int64) -> String {
    "\(name)=\(value); Path=\(path.isEmpty ? "/" : path); Max-Age=\(life); HttpOnly; SameSite=Lax"
      + (isSecure ? "; Secure" : "")
  }
}
