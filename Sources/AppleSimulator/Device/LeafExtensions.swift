import Cryptography
import Encodings

/// The extensions of an attested key's certificate that only Apple has.
enum LeafExtensions {
  /// 1.2.840.113635.100.8.5: [1204] is the app id in clear text.
  static func keyUsageProperties(_ app: SimulatedApp) -> [UInt8] {
    DERWriter.sequence(
      number(4, 10), number(1200, 0), number(1201, 0), number(1202, 0), number(1203, 0),
      text(1204, app.id), number(1206, 4), number(1207, 0), number(1209, 0), number(1210, 0),
      number(1211, 0))
  }

  /// 1.2.840.113635.100.8.7: [1400] version, [1403] build, [1026] platform.
  static func systemInformation(_ system: SimulatedSystem) -> [UInt8] {
    DERWriter.sequence(
      text(1400, system.version), number(1104, 2), text(1401, "1.0.248"), text(1403, system.build),
      text(1404, system.version), text(1405, system.version), number(1406, 0), number(1407, 0),
      text(1026, system.platform.rawValue))
  }

  /// 1.2.840.113635.100.8.6: what the key may be used for. Apple documents the Mac's.
  static func accessControl(_ system: SimulatedSystem) -> [UInt8] {
    let list: [UInt8]?
    switch system.platform {
    case .macOS:
      list = Base64.decode(
        "MEAMAjExMDowCQwCb2uhAwEB/zAJDAJvYaEDAQH/MAsMBG9kZWyhAwEB/zAVDARvc2duoAYMBHJzZWMwBaYDAgEB")
    case .iOS:
      list = Hex.decode(
        "30430c023131303d300a0c036f6b64a1030101ff30090c026f61a1030101ff300b0c046f73676ea1030101ff"
          + "300b0c046f64656ca1030101ff300a0c036f636ba1030101ff")
    }
    return DERWriter.sequence(DERWriter.context(3, DERWriter.octetString(list ?? [])))
  }

  private static func number(_ tag: UInt32, _ value: Int64) -> [UInt8] {
    DERWriter.context(tag, DERWriter.integer(value))
  }

  private static func text(_ tag: UInt32, _ value: String) -> [UInt8] {
    DERWriter.context(tag, DERWriter.octetString(Array(value.utf8)))
  }
}
