import Cryptography
import Encodings
import Gateway
import HTTPMessages

/// Seals an answer so that only the very request opens it: the key is made of the client's `Idempotency-Key` and of
/// the body, neither of which is stored. Whoever reads the database reads no answer.
struct AnswerSeal: Sendable {
  private let key: [UInt8]
  private let place: [UInt8]

  init(_ claim: AnswerClaim, key: [UInt8], body: [UInt8]) {
    self.key = HKDFSHA256.derive(
      secret: key + [0] + body, label: "bramley kept answer v1", length: AES256GCM.keyLength)
    place = claim.id
  }

  /// The head as a line of JSON, then the content; nil where it cannot be sealed.
  func close(_ head: AnswerRelay.Head, _ content: [UInt8]) -> [UInt8]? {
    let fields = head.fields.lines.map { JSONValue.array([.string($0.name), .string($0.value)]) }
    let line: JSONValue = ["status": .integer(head.status), "fields": .array(fields)]
    return try? AES256GCM.seal(line.bytes + [0x0A] + content, key: key, authenticated: place)
  }

  /// The answer; nil for what this request did not leave.
  func open(_ sealed: [UInt8]) -> HTTPResponse? {
    guard let octets = try? AES256GCM.open(sealed, key: key, authenticated: place),
      let end = octets.firstIndex(of: 0x0A), let head = try? JSONReader.read(Array(octets[..<end])),
      let status = head["status"]?.integer.flatMap({ Int(exactly: $0) }), let lines = head["fields"]?.elements
    else { return nil }
    var fields = HTTPFields()
    for line in lines {
      guard let name = line.elements?.first?.string, let value = line.elements?.last?.string else {
        return nil
      }
      fields.append(name, value)
    }
    fields[Idempotency.replayed] = "true"
    return HTTPResponse(status: status, fields: fields, body: HTTPBody(Array(octets[(end + 1)...])))
  }
}
