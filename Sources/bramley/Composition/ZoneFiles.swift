import System

/// The system's time zone files (RFC 8536), from the package tzdata.
enum ZoneFiles {
  /// The file of the zone of that name; nil where there is none, or the name is none.
  static func read(_ name: String) -> [UInt8]? {
    let isName =
      !name.hasPrefix("/") && name.utf8.count <= 64
      && name.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { part in
        !part.isEmpty && !part.hasPrefix(".")
          && part.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x5F: true
            default: false
            }
          }
      }
    guard isName, let bytes = try? Files.read("/usr/share/zoneinfo/\(name)", upTo: 65_536),
      bytes.starts(with: Array("TZif".utf8))
    else { return nil }
    return bytes
  }
}
