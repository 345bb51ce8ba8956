import Encodings
import HTTPMessages

/// What Apple's page posts back through the browser (`response_mode=form_post`). Nothing in it is signed but the
/// identity token.
package enum AuthorizationAnswer: Sendable {
  /// The user consented.
  case granted(Grant)
  /// The user did not, or Apple names another error; at most 80 printable characters.
  case refused(error: String, state: String?)

  /// A consent.
  package struct Grant: Sendable {
    /// Names the flow, once.
    package let state: String
    package let code: String
    /// To be verified; its `c_hash` must be the code's.
    package let idToken: String
    /// Said at the first consent alone, by the browser. The e-mail beside it is never read: only the token's is
    /// signed.
    package let fullName: AppleFullName?
  }

  /// The most octets of a form that are read.
  package static let maximumLength = 32_768
  /// The longest state and code that are taken, octets.
  static let maximumTextLength = 2_048

  /// The answer in a form; nil for what Apple does not send: a parameter missing, twice, or too long.
  package init?(form: [UInt8]) {
    guard form.count <= Self.maximumLength, let text = String(validating: form, as: UTF8.self),
      let form = FormParameters(parsing: text)
    else { return nil }
    for name in ["state", "code", "id_token", "user", "error"] where form.values(name).count > 1 {
      return nil
    }
    let state = Self.text(form["state"])
    if let error = form["error"] {
      self = .refused(error: String(shown(error).dropFirst().dropLast()), state: state)
      return
    }
    guard let state, let code = Self.text(form["code"]), let idToken = form["id_token"], !idToken.isEmpty
    else {
      return nil
    }
    self = .granted(
      Grant(
        state: state, code: code, idToken: idToken,
        fullName: form["user"].flatMap { AppleFullName(userJSON: $0) }))
  }

  private static func text(_ value: String?) -> String? {
    guard let value, (1...maximumTextLength).contains(value.utf8.count) else { return nil }
    return value
  }
}

/// A person's name as Apple's sheet or page hands it to the app, unsigned, made fit to be kept and shown.
package struct AppleFullName: Sendable, Equatable {
  /// The longest part that is kept, characters; the rest is cut.
  package static let maximumLength = 64

  package let given: String?
  package let family: String?

  /// The name of its parts; nil where nothing is left of it.
  package init?(given: String?, family: String?) {
    let given = given.flatMap(Self.fit)
    let family = family.flatMap(Self.fit)
    if given == nil, family == nil { return nil }
    self.given = given
    self.family = family
  }

  /// The name in Apple's `user` parameter: `{"name":{"firstName":…,"lastName":…},"email":…}`, whose e-mail is not
  /// looked at. nil where there is none, or where it is no such JSON: a name is never worth a sign-in.
  package init?(userJSON text: String) {
    guard text.utf8.count <= 8_192,
      let name = (try? JSONReader.read(Array(text.utf8), maximumDepth: 8))?["name"]
    else { return nil }
    self.init(given: name["firstName"]?.string, family: name["lastName"]?.string)
  }

  /// Without control characters, line ends and what turns the direction of writing; blanks around it cut off.
  private static func fit(_ text: String) -> String? {
    var scalars = String.UnicodeScalarView()
    var blank = false
    for scalar in text.unicodeScalars.prefix(1_024) {
      if scalar.properties.isWhitespace {
        blank = true
      } else if isPlain(scalar) {
        if blank, !scalars.isEmpty { scalars.append(" ") }
        blank = false
        scalars.append(scalar)
      }
    }
    let fit = String(String(scalars).prefix(maximumLength))
    return fit.isEmpty || fit.utf8.count > 512 ? nil : fit
  }

  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    // Joiners are letters' business in some scripts; marks of direction are not.
    case .format: scalar.value == 0x200C || scalar.value == 0x200D
    case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
    default: scalar != "<" && scalar != ">"
    }
  }
}
