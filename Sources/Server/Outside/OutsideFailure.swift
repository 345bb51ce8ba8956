import HTTPMessages

/// A few words for why another server could not be asked: for the log and for operators, nothing of the request.
enum OutsideFailure {
  static func words(_ error: any Error) -> String {
    switch error {
    case let refusal as OutsidePolicy.Refusal:
      switch refusal {
      case .scheme: "not https"
      case .port: "not port 443"
      case .host: "host not listed"
      case .redirect(let status): "redirected by HTTP \(status)"
      }
    case HTTPBodyError.tooLarge: "answer too large"
    case let error as HTTPClientError:
      switch error {
      case .connect: "no connection"
      case .addressForbidden: "address not allowed"
      case .tls: "TLS failed"
      case .timedOut: "timed out"
      case .invalidRequest: "request unfit"
      case .invalidResponse: "answer unreadable"
      case .interrupted, .requestBody: "connection broke"
      case .cancelled, .stopped: "stopped"
      }
    default: "failed"
    }
  }
}
