import AppAttest
import Cryptography
import HTTPMessages
import SignInWithApple

/// Apple's services for devices, with the team's key. No call of it stands inside a transaction.
struct AppleDevices: Sendable {
  let environment: Environment
  let devices: DeviceEnvironment
  private let key: AppleServiceKey

  /// nil where Apple is not asked: no key, or nobody who asks.
  init?(_ environment: Environment) {
    guard let devices = environment.devices, let settings = environment.configuration.attest.appleKey,
      let key = try? ApplePrivateKey.read(settings.privateKey.value)
    else { return nil }
    self.environment = environment
    self.devices = devices
    self.key = AppleServiceKey(teamID: settings.teamID, keyID: settings.keyID, key: key)
  }

  /// The wall clock, seconds since 1970.
  var now: Int64 { environment.now() / 1_000 }

  /// A random number for spreading.
  var random: UInt64 { environment.random(8).reduce(0) { $0 << 8 | UInt64($1) } }

  /// Sends the request that is made with a token of now. nil where no answer came, or none that can be read.
  ///
  /// - Parameter limit: the most octets of the answer's body.
  func ask(
    upTo limit: Int, _ request: (AppleServiceToken) throws -> HTTPRequest
  ) async throws -> (response: HTTPResponse, body: [UInt8])? {
    let request = try request(try key.token(now: now))
    do {
      let response = try await devices.apple.respond(to: request)
      return (response, try await response.body.collect(upTo: limit))
    } catch let error as CancellationError {
      throw error
    } catch is HTTPBodyError {
      return nil
    } catch is HTTPClientError {
      try Task.checkCancellation()
      return nil
    }
  }
}
