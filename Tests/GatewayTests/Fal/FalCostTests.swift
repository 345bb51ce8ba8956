import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What fal costs") struct FalCostTests {
  private let price = FalExample.price

  @Test("the worst case is held: by image, by begun megapixels, by call")
  func reserve() throws {
    let body = #"{"prompt":"a","num_images":3,"image_size":"square_hd"}"#
    #expect(try FalExample.prepare(body, unit: .image).reserve == 3 * price)
    // 1024 x 1024 is more than a million.
    #expect(try FalExample.prepare(body, unit: .megapixel).reserve == 6 * price)
    #expect(try FalExample.prepare(body, unit: .call).reserve == price)
    #expect(try FalExample.prepare(#"{"prompt":"a"}"#, unit: .megapixel).reserve == price)
    let own = #"{"prompt":"a","image_size":{"width":1000,"height":1000}}"#
    #expect(try FalExample.prepare(own, unit: .megapixel).reserve == price)
  }

  @Test("a model without a price is not called, nor one whose unit is not known")
  func priced() {
    let body = #"{"prompt":"a"}"#
    for table in [
      PriceTable([]),
      PriceTable([
        PriceRow(
          provider: "fal", model: FalExample.model, unit: UnitPrice(unit: "gpu-second", price: 1), source: "")
      ]),
      PriceTable([
        PriceRow(
          provider: "fal", model: FalExample.model, unit: UnitPrice(unit: "image", price: 1),
          effectiveFrom: 1_900_000_000, source: "")
      ]),
    ] {
      let fal = Fal(apps: [FalApp(id: FalExample.model)], prices: table)
      #expect(throws: ProviderRefusal.self) { try fal.prepare(FalExample.request(body)) }
    }
    let dear = Fal(
      apps: [FalApp(id: FalExample.model, maximumImages: 4)],
      prices: PriceTable([
        PriceRow(
          provider: "fal", model: FalExample.model, unit: UnitPrice(unit: "image", price: .max), source: "")
      ]))
    #expect(throws: ProviderRefusal.self) {
      try dear.prepare(FalExample.request(#"{"prompt":"a","num_images":4}"#))
    }
  }

  private func settle(
    _ events: [ProxyState.Event], unit: FalUnit = .image, body: String = #"{"prompt":"a","num_images":2}"#
  ) throws -> (settlement: CallSettlement?, actions: [ProxyState.Action]) {
    let fal = FalExample.fal(unit: unit)
    var state = ProxyState(
      call: try FalExample.prepare(body, unit: unit), provider: fal,
      secrets: [Array("key-id:key-secret".utf8)])
    let actions = events.flatMap { state.received($0) }
    let all = actions.compactMap { if case .settle(let settlement) = $0 { settlement } else { nil } }
    return (all.count == 1 ? all[0] : nil, actions)
  }

  private func head(_ more: HTTPFields = [:], status: Int = 200) -> ProxyState.Event {
    var fields: HTTPFields = ["content-type": "application/json"]
    for line in more.lines { fields.append(line.name, line.value) }
    return .head(status: status, fields: fields)
  }

  private func images(_ count: Int, width: Int = 512, height: Int = 512) -> ProxyState.Event {
    let image = "{\"url\":\"u\",\"width\":\(width),\"height\":\(height)}"
    return .chunk(
      Array("{\"images\":[\(Array(repeating: image, count: count).joined(separator: ","))]}".utf8))
  }

  @Test("the units that the head tells are booked, also a part of one, and also when the app leaves")
  func billed() throws {
    let one = try settle([head(["x-fal-billable-units": "1"]), images(2), .ended]).settlement
    #expect(one?.cost == price && one?.estimated == false && one?.amounts.images == 2)
    let part = try settle([head(["x-fal-billable-units": "1.2345678"]), images(1), .ended]).settlement
    #expect(part?.cost == 3_703_704_000)
    let left = try settle([head(["x-fal-billable-units": "1"]), .clientLeft]).settlement
    #expect(left?.cost == price && left?.amounts.images == 2)
    let cut = try settle([head(["x-fal-billable-units": "2"]), .failed(.connectionLost, written: true)])
    #expect(cut.settlement?.cost == 2 * price)
  }

  @Test("more than was held is booked as it is, and closes the model")
  func above() throws {
    let (settlement, actions) = try settle([head(["x-fal-billable-units": "7"]), images(2), .ended])
    #expect(settlement?.cost == 7 * price)
    #expect(
      actions.contains(
        .alarm(.costAboveReserve(model: FalExample.model, cost: 7 * price, reserve: 2 * price))))
  }

  @Test("without units the images are counted; what cannot be counted is booked as it was held")
  func counted() throws {
    #expect(try settle([head(), images(1), .ended]).settlement?.cost == price)
    #expect(
      try settle([head(), images(1, width: 2000), .ended], unit: .megapixel).settlement?.cost == 2 * price)
    #expect(try settle([head(), images(1), .ended], unit: .megapixel).settlement?.estimated == true)
    #expect(try settle([head(), .chunk(Array("{}".utf8)), .ended]).settlement?.cost == 2 * price)
    #expect(try settle([head(), .chunk(Array("nonsense".utf8)), .ended]).settlement?.cost == 2 * price)
    #expect(try settle([head(), images(1), .clientLeft]).settlement?.cost == price)
    #expect(try settle([head(), .clientLeft]).settlement?.cost == 2 * price)
    #expect(try settle([.requestWritten, .clientLeft]).settlement?.cost == 2 * price)
    #expect(try settle([.clientLeft]).settlement?.outcome == .released(giveBackCount: false))
    #expect(try settle([head(), images(1), .ended]).settlement?.amounts.images == 1)
  }

  @Test(
    "RULES §5.2: an answer without a picture is no free one", arguments: [FalUnit.image, .megapixel, .call])
  func none(_ unit: FalUnit) throws {
    let (settlement, _) = try settle([head(), images(0), .ended], unit: unit)
    let held = try FalExample.prepare(#"{"prompt":"a","num_images":2}"#, unit: unit)
    #expect(settlement?.cost == held.reserve && settlement?.estimated == true)
    #expect(settlement?.amounts.images == 2)
    // Its own word that it bills nothing holds.
    let (told, _) = try settle([head(["x-fal-billable-units": "0"]), images(0), .ended], unit: unit)
    #expect(told?.outcome == .used(cost: 0))
  }

  @Test("RULES §5.3: what is priced by size and has no bound of it is refused, and not held at nothing")
  func sizeless() {
    for way in [Fal.Way.direct, .queue] {
      #expect(throws: ProviderRefusal.self) {
        try FalExample.prepare(#"{"prompt":"a"}"#, unit: .megapixel, way: way) { $0.maximumPixels = 0 }
      }
    }
  }

  @Test(
    "units that are not to be believed count as none",
    arguments: ["", "-1", "1e3", "1.", ".5", "NaN", "0x1", "1,5", "9999999", "1 ", "٣"])
  func nonsense(_ text: String) throws {
    #expect(try settle([head(["x-fal-billable-units": text]), images(1), .ended]).settlement?.cost == price)
  }

  @Test("units that are told twice count as none")
  func twice() throws {
    let fields: HTTPFields = ["x-fal-billable-units": "0", "x-fal-billable-units": "1"]
    #expect(try settle([head(fields), images(2), .ended]).settlement?.cost == 2 * price)
  }

  @Test(
    "RULES §5.2: servers' errors and refusals before a model ran are not billed, 422 may be",
    arguments: [
      (400, true), (401, true), (403, true), (404, true), (413, true), (422, false), (429, true),
      (500, true), (502, true), (503, true), (504, true), (307, false), (408, false), (418, false),
    ])
  func refusals(_ status: Int, _ isFree: Bool) throws {
    let settlement = try settle([
      head(status: status), .chunk(Array(#"{"detail":"no"}"#.utf8)), .ended,
    ]).settlement
    #expect((settlement?.cost == 0) == isFree)
    if !isFree { #expect(settlement?.cost == 2 * price) }
  }

  @Test("422 with units is booked at those")
  func refusedWithUnits() throws {
    for (units, cost) in [("0", 0), ("1", price), ("0.5", price / 2)] {
      let settlement = try settle([
        head(["x-fal-billable-units": units], status: 422), .chunk(Array("{}".utf8)), .ended,
      ]).settlement
      #expect(settlement?.outcome == .used(cost: cost))
    }
  }

  @Test("RULES §6.4: what a model says of its input is told short, without the input, and without the key")
  func told() throws {
    let body = """
      {"detail":[{"loc":["body","prompt"],"msg":"flagged key-id:key-secret","type":"content_policy_violation",\
      "input":"the user's words","url":"https://docs.fal.ai"}]}
      """
    let actions = try settle([head(status: 422), .chunk(Array(body.utf8)), .ended]).actions
    let error = actions.compactMap { if case .answerError(let error) = $0 { error } else { nil } }.first
    #expect(error?.status == 422 && error?.type == "content_policy_violation")
    #expect(error?.message == "flagged [redacted]")
  }
}
