import AppAttest
import AppleSimulator
import HTTPMessages
import Server
import System

/// Apple's services for devices, of `dev`: what they know of a phone is gone with the process.
struct DevelopmentDevices: Sendable {
  /// Where they stand on the server of `dev`.
  static let path = "/simulated-devices"

  private let services: SimulatedDeviceServices

  /// - Parameter team: whose key proves who asks.
  init(_ authority: SimulatedAppleCA, team: SimulatedTeamKey) throws {
    services = try SimulatedDeviceServices(authority: authority, team: team, now: { WallClock.seconds })
  }

  /// What the server asks: these, without a network between.
  func environment(_ store: any ReceiptStore) -> DeviceEnvironment {
    DeviceEnvironment(
      store: store, apple: Below(path: Self.path, handler: services),
      services: AppleServices(
        below: .init(scheme: "http", authority: "localhost", pathPrefix: Self.path)))
  }

  /// A server with them beside it, for the commands of `simulate`.
  func beside(_ server: any HTTPHandler) -> any HTTPHandler {
    Below(path: Self.path, handler: services, elsewhere: server)
  }
}
