/// One thing that is wrong with what a simulated device makes, for tests of those who verify it.
public enum SimulatedFlaw: Sendable, Equatable, CaseIterable {
  /// Another app's id in the authenticator data.
  case otherApp
  /// The other environment's AAGUID.
  case otherEnvironment
  /// The nonce is of other bytes.
  case wrongNonce
  /// A counter that is not 0.
  case counterNotZero
  /// A credential id of another key.
  case otherCredential
  /// Another key inside the authenticator data.
  case otherKey
  /// A leaf that ended yesterday.
  case expiredLeaf
  /// The ED flag without extensions.
  case missingExtensions
  /// The receipt's signature does not hold.
  case brokenReceipt

  func apply(to draft: inout AttestationDraft, foreignPoint: [UInt8]) {
    switch self {
    case .otherApp: draft.data.relyingParty[0] ^= 1
    case .otherEnvironment:
      var other = draft.app
      other.distribution = other.distribution == .development ? .appStore : .development
      draft.environment = AuthenticatorData.environment(other)
    case .wrongNonce: draft.nonceSuffix = [0]
    case .counterNotZero: draft.data.counter = 1
    case .otherCredential: draft.credential[0] ^= 1
    case .otherKey: draft.innerPoint = foreignPoint
    case .expiredLeaf: draft.leafLife = -1
    case .missingExtensions:
      draft.data.flags = 0xC0
      draft.data.extensions = []
    case .brokenReceipt: draft.receiptHolds = false
    }
  }
}
