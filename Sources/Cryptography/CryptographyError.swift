/// Why an operation on keys or ciphertexts failed. Carries nothing of the input.
package enum CryptographyError: Error, Equatable, Sendable {
  /// The octets are no key of the curve, or no point on it.
  case invalidKey
  /// The text is no PEM of the wanted kind.
  case invalidPEM
  /// The ciphertext, its tag or the associated data were changed, or the key is another.
  case authenticationFailure
  /// A parameter of the wrong length.
  case invalidLength
  /// OpenSSL refused an operation that cannot depend on input (out of memory).
  case libraryFailure
}
