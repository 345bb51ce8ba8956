public import BramleyAPI
import Encodings
import HTTPMessages

/// What went wrong between an app and its server. The transport's own errors and `CancellationError` come
/// through as they are.
public struct BramleyError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The stable name: the server's, or one of those that begin with `client_`.
  public var code: ErrorCode
  /// The status of the server's answer; nil when the error arose here.
  public var status: Int?
  /// For a developer.
  public var message: String?
  /// Seconds after which trying again may help, where that is known.
  public var retryAfter: Int?

  /// An error.
  public init(_ code: ErrorCode, status: Int? = nil, message: String? = nil, retryAfter: Int? = nil) {
    self.code = code
    self.status = status
    self.message = message
    self.retryAfter = retryAfter
  }

  /// What an answer other than 2xx says; `body` is its content.
  init(_ response: HTTPResponse, body: [UInt8]) {
    let answer = ErrorAnswer(body: body)
    code = answer.code ?? .unrecognizedAnswer
    status = response.status
    message = answer.message
    retryAfter = response.fields["retry-after"].flatMap { Int($0) }
  }

  /// One line, without secrets.
  public var description: String {
    let head = code.rawValue + (status.map { " (\($0))" } ?? "") + (message.map { ": \($0)" } ?? "")
    guard let retryAfter else { return head }
    return (head.hasSuffix(".") ? String(head.dropLast()) : head) + "; try again in \(retryAfter) s"
  }
}

extension ErrorCode {
  /// The base URL is none: https, a host and perhaps a path; http for this machine alone.
  public static let invalidBaseURL: ErrorCode = "client_invalid_base_url"
  /// The request cannot be attested: its target is no path, or it has several Authorization fields.
  public static let unattestableRequest: ErrorCode = "client_unattestable_request"
  /// The server asked this device to sign something that is no challenge: nothing was signed.
  public static let challengeRefused: ErrorCode = "client_challenge_refused"
  /// An answer of the server's that names no code, or cannot be read.
  public static let unrecognizedAnswer: ErrorCode = "client_unrecognized_answer"
  /// A streamed answer ended before its end.
  public static let incompleteAnswer: ErrorCode = "client_incomplete_answer"
  /// This device or process cannot attest.
  public static let attestationUnsupported: ErrorCode = "client_attestation_unsupported"
  /// Apple's service cannot be reached now.
  public static let appleUnavailable: ErrorCode = "client_apple_unavailable"
  /// The device refused to attest or to sign.
  public static let attestationFailed: ErrorCode = "client_attestation_failed"
  /// A registration was made or refused a short while ago, and each costs an attestation of Apple's.
  public static let registrationCoolDown: ErrorCode = "client_registration_cool_down"
}

extension BramleyError {
  /// What DeviceCheck's refusal means.
  init(_ error: AppAttestError) {
    switch error {
    case .unsupported: self.init(.attestationUnsupported)
    case .serverUnavailable: self.init(.appleUnavailable)
    case .invalidKey, .invalidInput, .unknownSystemFailure:
      self.init(.attestationFailed, message: "\(error)")
    }
  }
}
