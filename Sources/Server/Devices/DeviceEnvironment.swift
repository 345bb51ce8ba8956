package import AppAttest
package import HTTPMessages

/// What asking Apple about devices takes from outside, beside ``Environment``.
package struct DeviceEnvironment: Sendable {
  package var store: any ReceiptStore
  /// Apple: an HTTP client in the executable, the simulated services in `dev` and in tests. It follows no redirect.
  package var apple: any HTTPHandler
  /// Where it is.
  package var services: AppleServices

  package init(store: any ReceiptStore, apple: any HTTPHandler, services: AppleServices = .apple) {
    self.store = store
    self.apple = apple
    self.services = services
  }
}
