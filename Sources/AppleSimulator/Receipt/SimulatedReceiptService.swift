import AppAttest
import Cryptography
import Encodings
public import HTTPMessages

/// Apple's service of receipts, played here: `POST /v1/attestationData` with a receipt in base64 answers a
/// refreshed one with a risk metric. It knows devices by the receipts of its authority alone.
public struct SimulatedReceiptService: HTTPHandler {
  private let authority: SimulatedAppleCA
  private let isProduction: Bool
  private let now: @Sendable () -> Int64
  private let risk: @Sendable (_ device: [UInt8]) -> Int?

  /// The service of one environment.
  ///
  /// - Parameters:
  ///   - authority: made the receipts, and makes the new ones.
  ///   - isProduction: `data.appattest.apple.com`, else `data-development.appattest.apple.com`.
  ///   - now: seconds since 1970.
  public init(authority: SimulatedAppleCA, isProduction: Bool, now: @escaping @Sendable () -> Int64) {
    self.init(authority: authority, isProduction: isProduction, now: now, risk: { _ in nil })
  }

  /// - Parameter risk: the metric of a device, where it is not the number of its keys.
  init(
    authority: SimulatedAppleCA, isProduction: Bool, now: @escaping @Sendable () -> Int64,
    risk: @escaping @Sendable (_ device: [UInt8]) -> Int?
  ) {
    self.risk = risk
    self.authority = authority
    self.isProduction = isProduction
    self.now = now
  }

  /// 200 with a new receipt; 304 before its day; 400 for what is no receipt, or of the other environment; 401
  /// without a token; 404 for one that is over.
  public func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    guard request.method == .post, request.path == "/v1/attestationData" else {
      return HTTPResponse(status: 404)
    }
    // The token's signature is another part's business: its form must be there.
    let parts = (request.fields["authorization"] ?? "").split(separator: ".")
    guard parts.count == 3, parts.allSatisfy({ Base64.decode($0) != nil }) else {
      return HTTPResponse(status: 401)
    }
    let body = try await request.body.collect(upTo: 131_072)
    guard let container = Base64.decode(body), let old = try? read(container) else {
      return HTTPResponse(status: 400, body: HTTPBody("Bad Payload"))
    }
    guard old.receipt.isProduction == isProduction else {
      return HTTPResponse(status: 400, body: HTTPBody("Incorrect Environment"))
    }
    let time = now()
    if let notBefore = old.notBefore, time < notBefore { return HTTPResponse(status: 304) }
    guard time < old.expiration else { return HTTPResponse(status: 404) }
    var fresh = old.receipt
    fresh.createdAt = time
    if let risk = risk(SimulatedReceipt.device(ofToken: fresh.token)) { fresh.risk = risk }
    return HTTPResponse(
      status: 200, body: HTTPBody(Base64.encode(try fresh.container(authority, type: .receipt))))
  }

  private struct Unreadable: Error {}

  /// What a receipt of this authority says.
  private func read(
    _ container: [UInt8]
  ) throws -> (receipt: SimulatedReceipt, notBefore: Int64?, expiration: Int64) {
    let message = try SignedData(container)
    try message.verify()
    guard message.signer.der == authority.receiptChain.first else { throw Unreadable() }
    let receipt = try Receipt(content: message.content)
    var fields = try DERReader.single(message.content[...]).reader
    var values: [Int64: [UInt8]] = [:]
    while !fields.isAtEnd {
      var field = try fields.next(.sequence).reader
      let type = try field.next().integer
      _ = try field.next()
      values[type] = Array(try field.next().octets)
    }
    let token = String(decoding: values[5] ?? [], as: UTF8.self)
    guard let certificate = values[3], let expiration = receipt.expiration else { throw Unreadable() }
    let read = SimulatedReceipt(
      appID: receipt.appID, certificate: certificate, clientDataHash: receipt.clientDataHash ?? [],
      token: token, isProduction: receipt.environment == .production, createdAt: receipt.creation,
      risk: SimulatedReceipt.risk(ofToken: token))
    return (read, receipt.notBefore, expiration)
  }
}
