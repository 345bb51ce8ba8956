import HTTPMessages

/// How the exchange with a provider broke.
package enum UpstreamBreak: Error, Sendable, Equatable {
  /// No connection was made: name, address, TLS.
  case notConnected
  /// The connection was lost.
  case connectionLost
  /// The provider was silent for too long.
  case timedOut
  /// What came was no HTTP, or more than is read.
  case protocolError

  /// What the app is told. An SDK may try again only what was never written; anything else could be billed
  /// twice.
  package func error(retry: Bool) -> ProviderError {
    var error = ProviderError(
      status: 502, type: "api_error", code: "upstream_failed", message: "The AI provider cannot be reached.")
    if self == .timedOut {
      error.status = 504
      error.type = "timeout_error"
      error.code = "upstream_timeout"
      error.message = "The AI provider did not answer in time."
    }
    if retry {
      error.status = 503
      error.fields = ["retry-after": "2"]
    } else {
      error.fields = ["x-should-retry": "false"]
    }
    return error
  }
}
