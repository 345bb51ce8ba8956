/// The checks of an attestation in the order in which they are made: Apple's steps, each where its input is
/// first proven, and the free ones after them.
package enum AttestationCheck: String, Sendable, CaseIterable {
  /// Size, CBOR, members, format.
  case encoding
  /// Both certificates can be read.
  case certificates
  /// Step 1.
  case chain
  /// Steps 2 to 4.
  case nonce
  /// Step 4 on macOS.
  case accessControl
  /// Step 5.
  case keyID
  /// The authenticator data can be read.
  case authenticatorData
  /// Step 6.
  case app
  /// Step 7.
  case counter
  /// Step 8.
  case environment
  /// Step 9.
  case credentialID
  /// COSE key and certificate agree.
  case publicKey
  /// Certificate and authenticator data agree about the app.
  case certificateApp
  /// Step 10.
  case extensionPolicy
}

/// What a check came to.
enum CheckOutcome<Failure: Error & Equatable>: Equatable {
  case passed
  case failed(Failure)
  /// It has nothing to judge; why.
  case skipped(String)
}
