import Encodings

/// Why DeviceCheck did not do what it was asked. It never says anything against a device.
package enum DeviceCheckRefusal: Error, Equatable, Sendable {
  /// 400 about the token: not one, over, used, or of the other environment.
  case deviceToken(detail: String?)
  /// 401, 403, 400 about the authorization: the team's key, its rights, or this machine's clock. The operator's.
  case credentials(status: Int, detail: String?)
  /// 429.
  case tooMany
  /// Anything else.
  case other(status: Int, detail: String?)
  /// No answer at all.
  case noAnswer
}

/// Reads DeviceCheck's answers.
package enum DeviceCheckAnswer {
  /// The bits of the device; nil where they were never set, which Apple says with a 200 that is no JSON.
  package static func bits(status: Int, body: [UInt8]) throws(DeviceCheckRefusal) -> DeviceBits? {
    try done(status: status, body: body)
    if let node = try? JSONReader.read(body, maximumDepth: 8), node.members != nil {
      guard let bit0 = node["bit0"]?.bool, let bit1 = node["bit1"]?.bool else {
        throw .other(status: status, detail: ReceiptRefusal.shown(body))
      }
      return DeviceBits(bit0: bit0, bit1: bit1, lastUpdate: node["last_update_time"]?.string)
    }
    let text = String(decoding: body, as: UTF8.self).lowercased()
    guard text.contains("bit state") else {
      throw .other(status: status, detail: ReceiptRefusal.shown(body))
    }
    return nil
  }

  /// Returns if Apple did what it was asked; the body of an update and of a validation is empty.
  package static func done(status: Int, body: [UInt8]) throws(DeviceCheckRefusal) {
    guard status != 200 else { return }
    let detail = ReceiptRefusal.shown(body)
    switch status {
    case 401, 403: throw .credentials(status: status, detail: detail)
    case 400 where detail?.lowercased().contains("authorization") == true:
      throw .credentials(status: status, detail: detail)
    case 400 where detail?.lowercased().contains("token") == true: throw .deviceToken(detail: detail)
    case 429: throw .tooMany
    default: throw .other(status: status, detail: detail)
    }
  }
}

extension DeviceCheckRefusal: CustomStringConvertible {
  /// One line for a log.
  package var description: String {
    func with(_ detail: String?) -> String { detail.map { ": \"\($0)\"" } ?? "" }
    return switch self {
    case .deviceToken(let detail): "Apple does not take the device's token" + with(detail)
    case .credentials(let status, let detail): "Apple refuses the team's key (\(status))" + with(detail)
    case .tooMany: "Apple was asked too often (429)"
    case .other(let status, let detail): "Apple answered \(status)" + with(detail)
    case .noAnswer: "no answer of Apple's"
    }
  }
}

/// What came of asking DeviceCheck about a device that registers.
package enum DeviceCheckOutcome: String, Sendable, CaseIterable {
  /// It registers for the first time this month.
  case new
  /// It had registered this month.
  case known
  /// It is new, and Apple did not note that it has registered.
  case notNoted = "not_noted"
  case deviceToken = "device_token"
  case credentials
  case tooMany = "too_many"
  case failed

  /// Every name, for metrics.
  package static let names = allCases.map(\.rawValue)

  package init(_ refusal: DeviceCheckRefusal) {
    self =
      switch refusal {
      case .deviceToken: .deviceToken
      case .credentials: .credentials
      case .tooMany: .tooMany
      case .other, .noAnswer: .failed
      }
  }
}
