extension DatabaseError {
  /// The error that a SQLSTATE stands for (PostgreSQL, appendix A).
  static func of(state: String, _ message: String) -> DatabaseError {
    switch state {
    case "23505": .constraint(.unique, message)
    case "23503": .constraint(.foreignKey, message)
    case "23502": .constraint(.notNull, message)
    case "23514": .constraint(.check, message)
    case "25006": .readOnly
    case "40001", "40P01": .conflict
    case "53100": .diskFull
    case "53300": .unavailable("it has no connection left")
    case "57014", "55P03", "25P03": .timedOut
    case "XX001", "XX002": .corrupt(message)
    default:
      switch state.prefix(2) {
      case "23": .constraint(.other, message)
      case "08", "53", "57": .unavailable(message)
      case "28": .unavailable("it does not let us in: \(message)")
      default: .failed(code: 0, "\(message) (SQLSTATE \(state))")
      }
    }
  }

  /// libpq's own words when no connection comes about; the last line says why.
  static func refusal(_ message: String) -> DatabaseError {
    let words = message.split(separator: "\n").joined(separator: "; ")
    return .unavailable(words + (remedy(message).map { "; " + $0 } ?? ""))
  }

  /// What to do about a transport that does not come about.
  private static func remedy(_ message: String) -> String? {
    if message.contains("certificate verify failed") {
      return "name the authority's certificate by sslrootcert in the URL"
    }
    if message.contains("does not support SSL") {
      return "turn TLS on at the server; only in a network of your own say sslmode=disable in the URL"
    }
    return nil
  }

  /// Whether the same may succeed a moment later and nothing was done.
  var isTransient: Bool {
    switch self {
    case .conflict, .unavailable: true
    default: false
    }
  }
}
