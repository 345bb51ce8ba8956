import Cryptography
import Encodings

/// A key of a simulated device.
struct SimulatedKey {
  let key: P256.PrivateKey
  /// The hash that it was attested with; nil before.
  var attestedHash: [UInt8]?
  /// When, seconds since 1970.
  var attestedAt: Int64 = 0
  /// The last one used.
  var counter: UInt32 = 0

  var id: [UInt8] { SHA256.hash(key.point) }
}

/// A device with its keys, as they are kept between runs.
struct DeviceState {
  /// 16 octets.
  var deviceID: [UInt8]
  var keys: [SimulatedKey]

  private static let kind = "bramley-simulated-device-1"

  static func write(_ device: DeviceState) throws(SimulatorError) -> [UInt8] {
    var entries: [JSONValue] = []
    for key in device.keys {
      guard let scalar = try? key.key.scalar else { throw .cryptography }
      entries.append([
        "scalar": .string(Base64.encode(scalar)), "counter": .integer(key.counter),
        "attested_hash": key.attestedHash.map { .string(Base64.encode($0)) } ?? .null,
        "attested_at": .integer(key.attestedAt),
      ])
    }
    let value: JSONValue = [
      "kind": .string(kind), "device": .string(Base64.encode(device.deviceID)), "keys": .array(entries),
    ]
    return Array((value.prettyText + "\n").utf8)
  }

  static func read(_ bytes: [UInt8]) throws(SimulatorError) -> DeviceState {
    guard let node = try? JSONReader.read(bytes), node["kind"]?.string == kind,
      let entries = node["keys"]?.elements
    else { throw .malformedState }
    var keys: [SimulatedKey] = []
    for entry in entries {
      guard let scalar = entry["scalar"]?.string.flatMap(Base64.decode),
        let key = try? P256.PrivateKey(scalar: scalar),
        let counter = entry["counter"]?.integer.flatMap(UInt32.init(exactly:)),
        let attestedAt = entry["attested_at"]?.integer
      else { throw .malformedState }
      let hash = entry["attested_hash"]?.string.flatMap(Base64.decode)
      keys.append(SimulatedKey(key: key, attestedHash: hash, attestedAt: attestedAt, counter: counter))
    }
    // Those of before were no device of their own yet.
    let deviceID = node["device"]?.string.flatMap(Base64.decode) ?? SecureRandom.bytes(16)
    guard deviceID.count == 16 else { throw .malformedState }
    return DeviceState(deviceID: deviceID, keys: keys)
  }
}
