import HTTPMessages
import Synchronization

/// A stream that says how long it was when it ends, however it ends, and says it once.
final class CountedBody: HTTPBodyStream {
  private let stream: any HTTPBodyStream
  private let octets = Atomic<Int>(0)
  private let ended = Atomic<Bool>(false)
  private let onEnd: @Sendable (Int) -> Void

  init(_ stream: any HTTPBodyStream, onEnd: @escaping @Sendable (Int) -> Void) {
    self.stream = stream
    self.onEnd = onEnd
  }

  deinit { cancel() }

  func next() async throws -> [UInt8]? {
    do {
      guard let chunk = try await stream.next() else {
        end()
        return nil
      }
      octets.wrappingAdd(chunk.count, ordering: .relaxed)
      return chunk
    } catch {
      end()
      throw error
    }
  }

  func cancel() {
    stream.cancel()
    end()
  }

  private func end() {
    guard ended.compareExchange(expected: false, desired: true, ordering: .acquiringAndReleasing).exchanged
    else { return }
    onEnd(octets.load(ordering: .relaxed))
  }
}
