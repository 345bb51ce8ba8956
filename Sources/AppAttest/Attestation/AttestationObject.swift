/// The attestation object that `attestKey` gives, decoded and not yet believed.
package struct AttestationObject: Sendable, Equatable {
  /// Real ones have at most 6 KB.
  package static let maximumLength = 16_384

  /// DER of the leaf and the intermediate.
  package let certificates: [[UInt8]]
  /// The first receipt, as it came; not judged here.
  package let receipt: [UInt8]
  /// The authenticator data as it was signed.
  package let authenticatorData: ArraySlice<UInt8>

  /// Decodes strictly. Unknown members beside the three that are read are left alone, as Apple adds some
  /// (`cdHash`); they are not signed.
  package init(_ bytes: [UInt8]) throws(AttestationError) {
    guard bytes.count <= Self.maximumLength else { throw .tooLarge }
    let object: CBORValue
    do throws(CBORError) { object = try CBORReader.single(bytes[...]) } catch { throw .encoding(error) }
    guard let format = object["fmt"]?.text, let statement = object["attStmt"],
      let data = object["authData"]?.bytes, let chain = statement["x5c"]?.elements,
      let receipt = statement["receipt"]?.bytes
    else { throw .structure }
    guard format == "apple-appattest" else { throw .format }
    guard chain.count == 2 else { throw .certificateCount }
    var certificates: [[UInt8]] = []
    for link in chain {
      guard let der = link.bytes else { throw .structure }
      certificates.append(Array(der))
    }
    self.certificates = certificates
    self.receipt = Array(receipt)
    authenticatorData = data
  }
}
