package import Accounts
package import HTTPMessages
package import SignInWithApple

/// What accounts take from outside themselves, beside ``Environment``.
package struct AccountEnvironment: Sendable {
  package var store: any AccountStore
  package var users: any UserStore
  package var signingKeys: any SigningKeyStore
  package var appleTokens: any AppleTokenStore
  package var appleEvents: any AppleEventStore
  package var webFlows: any WebFlowStore
  package var adminKeys: any AdminKeyStore
  package var audit: any AuditStore
  package var deletions: any DeletionStore & DeletionList
  /// What capabilities keep for users beside their accounts, in the order in which it is erased.
  package var owned: [any OwnedData]
  /// Apple: an HTTP client in the executable, the simulated Apple ID in `dev` and in tests.
  package var apple: any HTTPHandler
  /// Where it is.
  package var appleService: AppleIDService

  package init(
    store: any AccountStore, users: any UserStore, signingKeys: any SigningKeyStore,
    appleTokens: any AppleTokenStore, appleEvents: any AppleEventStore, webFlows: any WebFlowStore,
    adminKeys: any AdminKeyStore, audit: any AuditStore, deletions: any DeletionStore & DeletionList,
    owned: [any OwnedData] = [], apple: any HTTPHandler, appleService: AppleIDService = .apple
  ) {
    self.store = store
    self.users = users
    self.signingKeys = signingKeys
    self.appleTokens = appleTokens
    self.appleEvents = appleEvents
    self.webFlows = webFlows
    self.adminKeys = adminKeys
    self.audit = audit
    self.deletions = deletions
    self.owned = owned
    self.apple = apple
    self.appleService = appleService
  }
}
