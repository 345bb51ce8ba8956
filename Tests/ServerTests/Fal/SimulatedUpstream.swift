import AppleSimulator
import HTTPMessages
import Synchronization

/// The simulated fal with a step that is taken right before a cancellation reaches it.
final class SimulatedUpstream: HTTPHandler {
  let fal = SimulatedFal(apiKey: WholeServer.falKey, sleep: { try await Task.sleep(for: $0) })
  private let step = Mutex<(@Sendable () async -> Void)?>(nil)

  var beforeCancel: (@Sendable () async -> Void)? {
    get { step.withLock { $0 } }
    set { step.withLock { $0 = newValue } }
  }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    if request.path.hasSuffix("/cancel"), let beforeCancel {
      self.beforeCancel = nil
      await beforeCancel()
    }
    return try await fal.respond(to: request)
  }
}
