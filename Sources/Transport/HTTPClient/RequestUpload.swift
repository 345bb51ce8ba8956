import HTTPMessages
import System

/// The body of a request on its way out; belongs to the loop's thread.
///
/// libcurl asks for octets and is told to pause while the source has none. There is no way back to the start:
/// that is what keeps libcurl from sending a body twice.
final class RequestUpload {
  /// What the source has for libcurl.
  enum Supply: Equatable {
    case octets(Int)
    case end
    case wait
    /// The source failed, or is shorter or longer than announced.
    case broken
  }

  private let stream: (any HTTPBodyStream)?
  private let length: Int?
  private var chunk: [UInt8]
  private var offset = 0
  private var taken = 0
  private var ended: Bool
  private var failed = false
  private var pulling: Task<Void, Never>?

  init(_ body: HTTPBody) {
    length = body.length
    switch body.content {
    case .bytes(let bytes):
      stream = nil
      chunk = bytes
      ended = true
    case .stream(let source, _):
      stream = source
      chunk = []
      ended = false
    }
  }

  /// Copies what there is. After ``Supply/wait`` the closure is called on the loop when there is more.
  func supply(
    into buffer: UnsafeMutableRawBufferPointer, on loop: EventLoop, whenReady: @escaping @Sendable () -> Void
  ) -> Supply {
    if failed { return .broken }
    let count = min(buffer.count, chunk.count - offset)
    if count > 0 {
      guard taken + count <= length ?? .max else { return .broken }
      unsafe chunk.withUnsafeBytes { source in
        unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[offset..<(offset + count)]))
      }
      offset += count
      taken += count
      return .octets(count)
    }
    if ended { return taken == length ?? taken ? .end : .broken }
    if pulling == nil { pull(on: loop, whenReady: whenReady) }
    return .wait
  }

  /// The rest is not wanted.
  func stop() {
    pulling?.cancel()
    pulling = nil
    if !ended { stream?.cancel() }
    ended = true
    chunk = []
    offset = 0
  }

  private func pull(on loop: EventLoop, whenReady: @escaping @Sendable () -> Void) {
    guard let stream else { return }
    nonisolated(unsafe) let upload = self
    pulling = loop.run {
      let result: Result<[UInt8]?, any Error>
      do { result = .success(try await stream.next()) } catch { result = .failure(error) }
      loop.perform {
        unsafe upload.take(result)
        whenReady()
      }
    }
  }

  private func take(_ result: Result<[UInt8]?, any Error>) {
    pulling = nil
    guard !ended else { return }
    offset = 0
    switch result {
    case .success(let next?): chunk = next
    case .success(nil):
      chunk = []
      ended = true
    case .failure:
      chunk = []
      failed = true
    }
  }
}
