import HTTPMessages
import System

/// The body of a response that is still coming in.
final class ResponseBody: HTTPBodyStream {
  private let transfer: Transfer

  init(_ transfer: Transfer) { self.transfer = transfer }

  deinit { cancel() }

  @concurrent
  func next() async throws -> [UInt8]? {
    let loop = transfer.loop
    try Task.checkCancellation()
    if loop.isCurrent {
      if let chunk = transfer.takeBuffered() { return chunk }
      return try await pull()
    }
    return try await withTaskExecutorPreference(loop) { try await pull() }
  }

  @concurrent
  private func pull() async throws -> [UInt8]? {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        transfer.loop.perform { self.transfer.pull(continuation) }
      }
    } onCancel: {
      cancel()
    }
  }

  func cancel() {
    let transfer = transfer
    // Posted: it may be called from anywhere, also inside one of libcurl's callbacks.
    transfer.loop.execute { transfer.cancel() }
  }
}
