import Gateway
import HTTPMessages

/// What an error of the provider's client means for the call.
struct UpstreamError {
  let reason: UpstreamBreak
  /// Whether an octet of the request may have been written; what is not known may have been.
  let written: Bool
  /// The task was cancelled, so the client left.
  let isCancelled: Bool

  init(_ error: any Error) {
    guard let known = error as? HTTPClientError else {
      reason = .connectionLost
      written = true
      isCancelled = error is CancellationError
      return
    }
    written = known.requestWritten
    var cancelled = false
    switch known {
    case .cancelled:
      cancelled = true
      reason = .connectionLost
    case .connect, .tls, .addressForbidden, .invalidRequest, .timedOut(.connect): reason = .notConnected
    case .timedOut: reason = .timedOut
    case .invalidResponse: reason = .protocolError
    case .interrupted, .requestBody, .stopped: reason = .connectionLost
    }
    isCancelled = cancelled
  }
}
