import Encodings
import Gateway
import HTTPMessages

/// An answer of fal's queue, as a whole.
struct FalAnswer: Sendable {
  let status: Int
  let fields: HTTPFields
  let body: [UInt8]

  var isSuccess: Bool { (200..<300).contains(status) }
}

/// Why there is no answer of fal's.
struct FalSilence: Error {
  let error: UpstreamError
  /// What the operator is to look at.
  var alarm: ProxyAlarm?
}

/// The way to fal's queue: one request, one answer as a whole.
struct FalExchange: Sendable {
  /// A result holds URLs of files, not files.
  private static let limit = 1 << 20

  let target: ProviderTarget
  let upstream: any HTTPHandler

  /// Sends; once more where not one octet of the first attempt was written. Throws ``FalSilence``.
  func send(_ call: PreparedCall) async throws(FalSilence) -> FalAnswer {
    do {
      return try await attempt(call)
    } catch {
      guard !error.error.written, !error.error.isCancelled, !Task.isCancelled else { throw error }
      return try await attempt(call)
    }
  }

  private func attempt(_ call: PreparedCall) async throws(FalSilence) -> FalAnswer {
    let response: HTTPResponse
    do {
      response = try await upstream.respond(to: target.request(call))
    } catch {
      throw FalSilence(error: UpstreamError(error))
    }
    let body: [UInt8]
    do {
      body = try await response.body.collect(upTo: Self.limit)
    } catch {
      throw FalSilence(error: UpstreamError(error))
    }
    let answer = FalAnswer(status: response.status, fields: response.fields, body: body)
    guard answer.isSuccess else { return answer }
    if let alarm = unreadable(answer) {
      throw FalSilence(error: UpstreamError(HTTPClientError.invalidResponse), alarm: alarm)
    }
    return answer
  }

  /// What a success must not be: compressed unasked, no JSON, a secret of ours.
  private func unreadable(_ answer: FalAnswer) -> ProxyAlarm? {
    if let coding = answer.fields["content-encoding"], !HTTPFields.same(coding, "identity") {
      return .encodedAnswer
    }
    guard MediaType.essence(answer.fields["content-type"] ?? "") == "application/json" else {
      return .unexpectedContent
    }
    var filter = SecretFilter(secrets: target.secrets)
    return filter.pass(answer.body) == nil ? .secretInAnswer : nil
  }
}
