import BramleyAPI
import HTTPMessages

/// An answer as it comes, for everyone who waits for it: the request that began it and those that repeat it.
///
/// What has come is kept up to a limit, so that whoever comes later reads from the beginning, and so that the answer
/// can be kept for later. Beyond the limit it is passed on and forgotten, at the pace of the slowest reader.
actor AnswerRelay {
  /// The most that is kept, octets (RULES §5.8).
  static let limit = 1 << 20

  /// How an answer begins.
  struct Head: Sendable {
    var status: Int
    var fields: HTTPFields
    var length: Int?
    var code: ErrorCode?
  }

  private enum End {
    case whole
    case failed(any Error)
  }

  private let background: @Sendable (@escaping @Sendable () async -> Void) -> Void
  private var head: Head?
  private var chunks: [[UInt8]] = []
  /// How many chunks were forgotten.
  private var forgotten = 0
  /// The octets of `chunks`.
  private var held = 0
  private var isTooLong = false
  private var end: End?
  /// Where each reader is.
  private var readers: [Int: Int] = [:]
  private var nextReader = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(background: @escaping @Sendable (@escaping @Sendable () async -> Void) -> Void) {
    self.background = background
  }

  // MARK: - The run

  func begin(_ head: Head) {
    self.head = head
    wake()
  }

  /// Takes the next octets; waits while readers of a long answer are behind. False when nobody reads one that is too
  /// long to be kept.
  func add(_ chunk: [UInt8]) async -> Bool {
    chunks.append(chunk)
    held += chunk.count
    if held > Self.limit { isTooLong = true }
    wake()
    while isTooLong {
      forget()
      if readers.isEmpty || Task.isCancelled { return false }
      if held <= Self.limit { break }
      await wait()
    }
    return true
  }

  /// The answer is over; `error` where it broke off.
  func finish(_ error: (any Error)? = nil) {
    guard end == nil else { return }
    end = error.map { .failed($0) } ?? .whole
    wake()
  }

  /// The whole content, where it was short enough to be kept and ended.
  var content: [UInt8]? {
    guard case .whole = end, !isTooLong else { return nil }
    return Array(chunks.joined())
  }

  /// Returns once nobody has read for as long as `patience` waits, or the answer is over.
  func abandoned(_ patience: @Sendable () async throws -> Void) async {
    while end == nil, !Task.isCancelled {
      guard readers.isEmpty else {
        await wait()
        continue
      }
      let before = nextReader
      do { try await patience() } catch { return }
      if readers.isEmpty, before == nextReader { return }
    }
  }

  // MARK: - Readers

  /// Somebody who reads from the beginning; nil where that is forgotten.
  func attach() -> Int? {
    guard forgotten == 0 else { return nil }
    nextReader += 1
    readers[nextReader] = 0
    return nextReader
  }

  func detach(_ reader: Int) {
    readers[reader] = nil
    wake()
  }

  /// How the answer begins, once that is known; throws what it failed with before.
  func begun() async throws -> Head {
    while true {
      if let head { return head }
      if case .failed(let error) = end { throw error }
      if end != nil { throw HTTPBodyError.incomplete }
      try Task.checkCancellation()
      await wait()
    }
  }

  /// What comes next for the reader; nil at the end.
  func next(_ reader: Int) async throws -> [UInt8]? {
    while true {
      guard let place = readers[reader], place >= forgotten else { return nil }
      if place - forgotten < chunks.count {
        let chunk = chunks[place - forgotten]
        readers[reader] = place + 1
        if isTooLong { wake() }
        return chunk
      }
      switch end {
      case .whole: return nil
      case .failed(let error): throw error
      case nil: break
      }
      try Task.checkCancellation()
      await wait()
    }
  }

  private func forget() {
    let slowest = readers.values.min() ?? forgotten + chunks.count
    let count = max(0, min(slowest - forgotten, chunks.count))
    for chunk in chunks.prefix(count) { held -= chunk.count }
    chunks.removeFirst(count)
    forgotten += count
  }

  private func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        if Task.isCancelled { continuation.resume() } else { waiting.append(continuation) }
      }
    } onCancel: {
      background { await self.wake() }
    }
  }

  private func wake() {
    let all = waiting
    waiting = []
    for continuation in all { continuation.resume() }
  }
}
