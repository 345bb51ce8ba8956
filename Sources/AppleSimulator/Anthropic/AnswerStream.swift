import HTTPMessages
import Synchronization

/// Plays a script as it is pulled.
actor AnswerStream: HTTPBodyStream {
  private let billing: SimulatedBilling
  private let sleep: @Sendable (Duration) async throws -> Void
  private let chunk: Int?
  private var steps: ArraySlice<AnswerScript.Step>
  private var gzip: StoredGzip?
  private var gzipBegan = false
  private var pending: ArraySlice<UInt8> = []
  /// Whether the end, good or bad, was told to the billing.
  private let isOver = Atomic<Bool>(false)

  init(
    _ steps: [AnswerScript.Step], chunk: Int?, gzip: Bool, billing: SimulatedBilling,
    sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.steps = steps[...]
    self.chunk = chunk
    self.gzip = gzip ? StoredGzip() : nil
    self.billing = billing
    self.sleep = sleep
    billing.streamBegan()
  }

  deinit { end(aborted: true) }

  func next() async throws -> [UInt8]? {
    while pending.isEmpty {
      if isOver.load(ordering: .relaxed) { return nil }
      guard let step = steps.popFirst() else {
        pending = (gzip?.end() ?? [])[...]
        gzip = nil
        if pending.isEmpty {
          end(aborted: false)
          return nil
        }
        break
      }
      try await play(step)
    }
    let piece = pending.prefix(chunk ?? Int.max)
    pending = pending.dropFirst(piece.count)
    return Array(piece)
  }

  nonisolated func cancel() { end(aborted: true) }

  private func play(_ step: AnswerScript.Step) async throws {
    switch step {
    case .send(let bytes, let tokens):
      billing.count(output: tokens)
      if !gzipBegan, let gzip { pending += gzip.begin() }
      gzipBegan = true
      pending += gzip?.add(bytes) ?? bytes
    case .wait(let time): try await sleep(time)
    case .stall:
      while !isOver.load(ordering: .relaxed) {
        try Task.checkCancellation()
        try await sleep(.seconds(3_600))
      }
    case .drop:
      end(aborted: false)
      throw HTTPBodyError.incomplete
    }
  }

  private nonisolated func end(aborted: Bool) {
    if !isOver.exchange(true, ordering: .relaxed) { billing.streamEnded(aborted: aborted) }
  }
}
