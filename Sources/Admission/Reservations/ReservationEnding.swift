import Gateway

/// How the sweep ends a reservation whose call nobody settles, because its server died.
package enum ReservationEnding: Sendable, Equatable {
  /// At the full hold. The row of usage says what the call was; its `cost` is the most that it can come to.
  case held(UsageRecord)
  /// As this says: it was known, and noted in the step that kept what the call made.
  case known(Settlement)
}

extension ReservationEnding {
  private static let version: UInt8 = 1

  /// As it stands in the reservation's row. The key is not in it: the row has that.
  package var octets: [UInt8] {
    var writer = CompactWriter(capacity: 128)
    writer.append(Self.version)
    switch self {
    case .held(let usage):
      writer.append(0 as UInt8)
      usage.write(to: &writer)
    case .known(let settlement):
      writer.append(1 as UInt8)
      settlement.write(to: &writer)
    }
    return writer.octets
  }

  /// Nil for what this version does not write: then nothing is known of the call but its hold.
  ///
  /// - Parameters:
  ///   - id: the reservation's.
  ///   - now: when it is ended, milliseconds since 1970.
  package init?(_ octets: [UInt8], id: [UInt8], now: Int64) {
    var reader = CompactReader(octets)
    guard reader.octet() == Self.version, let kind = reader.octet() else { return nil }
    do throws(CompactReader.Malformed) {
      switch kind {
      case 0: self = .held(try UsageRecord(&reader))
      case 1: self = .known(try Settlement(&reader, id: id, now: now))
      default: return nil
      }
    } catch {
      return nil
    }
    guard reader.isAtEnd else { return nil }
  }
}

extension Settlement {
  fileprivate func write(to writer: inout CompactWriter) {
    switch outcome {
    // What the sweep ends gives no count back: that takes a row which it does not load.
    case .released: writer.append(0 as UInt8)
    case .used(let cost, let tokens, let images):
      writer.append(2 as UInt8)
      for amount in [cost, tokens, images] { writer.append(amount) }
    }
    writer.append(Int64(spared.count))
    for name in spared.sorted() { writer.append(name) }
    writer.append(usage == nil ? 0 : 1 as UInt8)
    usage?.write(to: &writer)
    writer.append(closure == nil ? 0 : 1 as UInt8)
    guard let closure else { return }
    writer.append(closure.model.provider)
    writer.append(closure.model.name)
    for number in [closure.closedAt, closure.cost, closure.reserve] { writer.append(number) }
  }

  fileprivate init(
    _ reader: inout CompactReader, id: [UInt8], now: Int64
  ) throws(CompactReader.Malformed) {
    let outcome: Outcome
    switch reader.octet() {
    case 0: outcome = .released(giveBackCount: false)
    case 2:
      outcome = .used(cost: try reader.number(), tokens: try reader.number(), images: try reader.number())
    default: throw CompactReader.Malformed()
    }
    var spared: Set<String> = []
    for _ in 0..<(try reader.number().clamped) { spared.insert(try reader.text()) }
    let usage = try reader.isThere() ? try UsageRecord(&reader) : nil
    var closure: ModelClosure?
    if try reader.isThere() {
      let model = ProviderModel(provider: try reader.text(), name: try reader.text())
      closure = ModelClosure(
        model: model, closedAt: try reader.number(), cost: try reader.number(), reserve: try reader.number())
    }
    self.init(id: id, outcome: outcome, now: now, usage: usage, closure: closure, sparing: spared)
  }
}

extension Int64 {
  /// A count of things that follow, each of which takes an octet at least.
  fileprivate var clamped: Int { Swift.max(0, Int(Swift.min(self, 65_536))) }
}

extension UsageRecord {
  fileprivate func write(to writer: inout CompactWriter) {
    writer.append(route)
    writer.append(provider)
    writer.append(model)
    writer.append(function)
    writer.append(userID)
    writer.append(Int64(status))
    writer.append(inputTokens)
    writer.append(cacheReadTokens)
    writer.append(cacheWrite5mTokens)
    writer.append(cacheWrite1hTokens)
    writer.append(outputTokens)
    writer.append(images)
    writer.append(units)
    writer.append(cost)
    writer.append(estimated ? 1 : 0 as UInt8)
    writer.append(startedAt)
    writer.append(firstByte)
    writer.append(duration)
  }

  fileprivate init(_ reader: inout CompactReader) throws(CompactReader.Malformed) {
    self.init(
      keyID: nil, userID: nil, route: try reader.text(), provider: try reader.text(),
      model: try reader.text(),
      status: 0, startedAt: 0)
    function = try reader.optionalText()
    userID = try reader.optionalText()
    status = Int(clamping: try reader.number())
    inputTokens = try reader.number()
    cacheReadTokens = try reader.number()
    cacheWrite5mTokens = try reader.number()
    cacheWrite1hTokens = try reader.number()
    outputTokens = try reader.number()
    images = try reader.number()
    units = try reader.number()
    cost = try reader.number()
    estimated = try reader.isThere()
    startedAt = try reader.number()
    firstByte = try reader.optionalNumber()
    duration = try reader.number()
  }
}
