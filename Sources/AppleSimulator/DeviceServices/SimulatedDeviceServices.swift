import AppAttest
import Cryptography
import Encodings
public import HTTPMessages

/// Apple's services for devices, played at one address: of receipts and of DeviceCheck, each in both environments.
///
/// | request | what answers |
/// |---|---|
/// | `POST /receipts/{environment}/v1/attestationData` | a receipt with the device's risk metric (``SimulatedReceiptService``) |
/// | `POST /devicecheck/{environment}/v1/query_two_bits` | the bits, or "Failed to find bit state" |
/// | `POST /devicecheck/{environment}/v1/update_two_bits` | nothing |
/// | `POST /devicecheck/{environment}/v1/validate_device_token` | nothing |
/// | `POST /simulator/risk` `{device, risk}` | the metric that the device's next receipt has; null: the number of its keys |
///
/// `environment` is `production` or `development`. It knows devices by what its authority signed.
public actor SimulatedDeviceServices: HTTPHandler {
  /// Which of them.
  public enum Service: Sendable, Hashable {
    /// `/receipts`
    case receipts
    /// `/devicecheck`
    case deviceCheck
  }

  /// The two bits of a device, as its team set them.
  public struct Bits: Sendable, Equatable {
    /// The first.
    public var bit0: Bool
    /// The second.
    public var bit1: Bool
    /// Such as `2026-11`.
    public var lastUpdate: String

    /// Those bits, as of that month.
    public init(bit0: Bool, bit1: Bool, lastUpdate: String) {
      self.bit0 = bit0
      self.bit1 = bit1
      self.lastUpdate = lastUpdate
    }
  }

  private let authority: SimulatedAppleCA
  private let team: SimulatedTeamToken.Team?
  private let now: @Sendable () -> Int64
  private var risks: [[UInt8]: Int] = [:]
  private var bits: [[UInt8]: Bits] = [:]
  private var failures: [Service: (response: @Sendable () -> HTTPResponse, times: Int)] = [:]
  private var asked: [Service: Int] = [:]

  /// Services that know the authority's devices.
  ///
  /// - Parameters:
  ///   - team: whose key proves who asks; nil takes every token that has the form of one.
  ///   - now: seconds since 1970.
  public init(
    authority: SimulatedAppleCA, team: SimulatedTeamKey?, now: @escaping @Sendable () -> Int64
  ) throws(SimulatorError) {
    self.authority = authority
    self.now = now
    guard let team else {
      self.team = nil
      return
    }
    guard let key = try? P256.PrivateKey(pem: team.p8), let publicKey = try? key.publicKey else {
      throw .cryptography
    }
    self.team = SimulatedTeamToken.Team(teamID: team.teamID, keyID: team.keyID, key: publicKey)
  }

  /// The metric of a device's next receipts; nil: as many keys as it attested in 30 days.
  ///
  /// - Parameter device: ``SimulatedDevice/deviceID``.
  public func setRisk(_ risk: Int?, of device: [UInt8]) { risks[device] = risk }

  /// The bits of a device; nil where they were never set.
  public func bits(of device: [UInt8]) -> Bits? { bits[device] }

  /// Sets them, as another server of the team does.
  public func setBits(_ bits: Bits?, of device: [UInt8]) { self.bits[device] = bits }

  /// Lets the next requests of a service be answered so.
  public func fail(
    _ service: Service, times: Int = 1, _ response: @escaping @Sendable () -> HTTPResponse
  ) {
    failures[service] = (response, times)
  }

  /// How often a service was asked, failures included.
  public func count(_ service: Service) -> Int { asked[service] ?? 0 }

  /// Answers as described above.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    let parts = request.path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
    guard request.method == .post, parts.count >= 2 else { return HTTPResponse(status: 404) }
    if parts == ["simulator", "risk"] { return try await setRisk(request) }
    guard parts.count == 3, let environment = AttestEnvironment(rawValue: String(parts[1])) else {
      return HTTPResponse(status: 404)
    }
    let service: Service
    switch parts[0] {
    case "receipts": service = .receipts
    case "devicecheck": service = .deviceCheck
    default: return HTTPResponse(status: 404)
    }
    asked[service, default: 0] += 1
    if let failure = failures[service], failure.times > 0 {
      failures[service] = (failure.response, failure.times - 1)
      return failure.response()
    }
    var request = request
    request.target = "/\(parts[2])"
    let isProduction = environment == .production
    return switch service {
    case .receipts: try await receipts(request, isProduction)
    case .deviceCheck: try await deviceCheck(request, isProduction)
    }
  }

  private func receipts(_ request: HTTPRequest, _ isProduction: Bool) async throws -> HTTPResponse {
    if let flaw = SimulatedTeamToken.flaw(request.fields["authorization"], team: team, now: now()) {
      return HTTPResponse(status: 401, body: HTTPBody(flaw))
    }
    let risks = risks
    return try await SimulatedReceiptService(
      authority: authority, isProduction: isProduction, now: now, risk: { risks[$0] }
    ).respond(to: request)
  }

  private func deviceCheck(_ request: HTTPRequest, _ isProduction: Bool) async throws -> HTTPResponse {
    func refused(_ status: Int, _ text: String) -> HTTPResponse {
      HTTPResponse(status: status, body: HTTPBody(text))
    }
    let field = request.fields["authorization"] ?? ""
    guard field.hasPrefix("Bearer ") else {
      return refused(400, "Missing or badly formatted authorization token")
    }
    if let flaw = SimulatedTeamToken.flaw(String(field.dropFirst(7)), team: team, now: now()) {
      return refused(flaw.hasPrefix("Missing") ? 400 : 401, flaw)
    }
    let body = try await request.body.collect(upTo: 65_536)
    guard let node = try? JSONReader.read(body, maximumDepth: 4), node["transaction_id"]?.string != nil,
      let timestamp = node["timestamp"]?.integer
    else { return refused(400, "Bad Payload") }
    guard (0...1 << 53).contains(timestamp), abs(timestamp / 1_000 - now()) <= SimulatedTeamToken.tolerance
    else { return refused(400, "Missing or incorrectly formatted timestamp") }
    guard let token = node["device_token"]?.string.flatMap({ SimulatedDeviceToken($0, authority) }),
      token.isProduction == isProduction,
      (-5...SimulatedDeviceToken.life).contains(now() - token.issuedAt)
    else { return refused(400, "Missing or incorrectly formatted device token payload") }
    switch request.path {
    case "/v1/validate_device_token": return HTTPResponse(status: 200)
    case "/v1/query_two_bits":
      guard let bits = bits[token.device] else { return refused(200, "Failed to find bit state") }
      return SimulatedAppleID.json([
        "bit0": .bool(bits.bit0), "bit1": .bool(bits.bit1), "last_update_time": .string(bits.lastUpdate),
      ])
    case "/v1/update_two_bits":
      guard let bit0 = node["bit0"]?.bool, let bit1 = node["bit1"]?.bool else {
        return refused(400, "Missing or incorrectly formatted bits")
      }
      bits[token.device] = Bits(bit0: bit0, bit1: bit1, lastUpdate: DeviceBits.month(of: now()))
      return HTTPResponse(status: 200)
    default: return HTTPResponse(status: 404)
    }
  }

  /// The door of ``setRisk(_:of:)``. Its body says that it is JSON, which no web page of another origin can send here.
  private func setRisk(_ request: HTTPRequest) async throws -> HTTPResponse {
    guard request.fields["content-type"]?.lowercased().hasPrefix("application/json") == true else {
      return HTTPResponse(status: 415)
    }
    let body = try await request.body.collect(upTo: 65_536)
    guard let node = try? JSONReader.read(body, maximumDepth: 4),
      let device = node["device"]?.string.flatMap(Base64.decode), device.count == 16
    else { return HTTPResponse(status: 400) }
    let risk = node["risk"]?.integer
    if let risk, !(0...65_535).contains(risk) { return HTTPResponse(status: 400) }
    setRisk(risk.map { Int($0) }, of: device)
    return SimulatedAppleID.json(["risk": risk.map { .integer($0) } ?? .null])
  }
}
