import Synchronization

/// Something that happens once, and is waited for.
final class Signal: Sendable {
  private let state = Mutex<(isSent: Bool, waiting: [CheckedContinuation<Void, Never>])>((false, []))

  func send() {
    let waiting = state.withLock { state in
      state.isSent = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isSent = state.withLock { state in
        if !state.isSent { state.waiting.append(continuation) }
        return state.isSent
      }
      if isSent { continuation.resume() }
    }
  }
}
