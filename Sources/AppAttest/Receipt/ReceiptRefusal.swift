import Encodings
import HTTPMessages

/// Why no new receipt came of an exchange, by what is to be done about it. None of them says anything against the
/// key: it stays as good as it was, with the receipt that it has (RULES §1.10).
package enum ReceiptRefusal: Error, Equatable, Sendable {
  /// 304: before the old one's `not before`.
  case tooEarly
  /// 400 "Incorrect Environment": the receipt went to the other environment's host.
  case otherEnvironment
  /// 400 and the rest of them: Apple does not take this receipt, today or later.
  case notTaken(status: Int, detail: String?)
  /// 401, 403: the team's key, its rights, or this machine's clock. The operator's to mend; no receipt is at fault.
  case credentials(status: Int, detail: String?)
  /// 404: Apple has no data of the key, which it keeps for 30 days; they may come back.
  case unknownKey
  /// 429; seconds, where Apple names them.
  case tooMany(retryAfter: Int64?)
  /// 5xx, a redirection, a 200 that holds no receipt: nothing that says anything.
  case retryable(status: Int, retryAfter: Int64?)
  /// No answer at all.
  case noAnswer
  /// What came is no receipt of this key that holds.
  case invalid(ReceiptError)
  /// What came is not newer than what was sent.
  case notNewer

  /// Whether it says nothing of this receipt, so that others would fare no better.
  package var isOfAll: Bool {
    switch self {
    case .credentials, .tooMany: true
    case .retryable, .noAnswer, .tooEarly, .otherEnvironment, .notTaken, .unknownKey, .invalid, .notNewer:
      false
    }
  }

  /// The refusal in an answer that is not 200.
  init(status: Int, fields: HTTPFields, body: [UInt8]) {
    let retryAfter = fields["retry-after"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? min($0, 86_400) : nil }
    let detail = Self.shown(body)
    self =
      switch status {
      case 304: .tooEarly
      case 401, 403: .credentials(status: status, detail: detail)
      case 404: .unknownKey
      case 429: .tooMany(retryAfter: retryAfter)
      case 400 where detail?.lowercased().contains("environment") == true: .otherEnvironment
      case 400..<500 where status != 408: .notTaken(status: status, detail: detail)
      default: .retryable(status: status, retryAfter: retryAfter)
      }
  }

  /// The beginning of what Apple wrote, for a log: printable ASCII alone.
  static func shown(_ body: [UInt8]) -> String? {
    let line = body.prefix(80).map { (0x20..<0x7F).contains($0) ? $0 : UInt8(ascii: "?") }
    return line.isEmpty ? nil : String(decoding: line, as: UTF8.self)
  }
}

extension ReceiptRefusal {
  /// Its name in metrics.
  package var name: String {
    switch self {
    case .tooEarly: "too_early"
    case .otherEnvironment: "other_environment"
    case .notTaken: "not_taken"
    case .credentials: "credentials"
    case .unknownKey: "unknown_key"
    case .tooMany: "too_many"
    case .retryable: "retryable"
    case .noAnswer: "no_answer"
    case .invalid: "invalid"
    case .notNewer: "not_newer"
    }
  }

  /// Every name.
  package static let names = [
    "too_early", "other_environment", "not_taken", "credentials", "unknown_key", "too_many", "retryable",
    "no_answer", "invalid", "not_newer",
  ]
}

extension ReceiptRefusal: CustomStringConvertible {
  /// One line for a log.
  package var description: String {
    func with(_ detail: String?) -> String { detail.map { ": \"\($0)\"" } ?? "" }
    return switch self {
    case .tooEarly: "Apple says that it is too early (304)"
    case .otherEnvironment: "Apple says that the receipt is of the other environment"
    case .notTaken(let status, let detail): "Apple does not take the receipt (\(status))" + with(detail)
    case .credentials(let status, let detail): "Apple refuses the team's key (\(status))" + with(detail)
    case .unknownKey: "Apple has no data of the key (404)"
    case .tooMany: "Apple was asked too often (429)"
    case .retryable(let status, _): "Apple answered \(status) without saying more"
    case .noAnswer: "no answer of Apple's"
    case .invalid(let error): "Apple's receipt does not hold: \(error)"
    case .notNewer: "Apple's receipt is not newer than the one that was sent"
    }
  }
}
