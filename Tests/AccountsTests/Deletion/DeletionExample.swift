import Accounts
import Encodings

enum DeletionExample {
  static let operation = operation(1)

  static func operation(_ number: UInt8) -> OperationID {
    let octets: [UInt8] = [
      number, 0x9c, 0x1f, 0x07, 0xe3, 0x5a, 0xb8, 0x44, 0xd1, 0x2e, 0x6b, 0xf0, 0x83, 0x15, 0xc7, 0x39,
    ]
    guard let id = OperationID(octets) else { preconditionFailure("these are varied enough") }
    return id
  }

  static func token(_ client: String) -> SealedAppleToken {
    SealedAppleToken(
      teamID: "TEAM000001", subject: "000001.sub", clientID: client, sealingKey: "2026", sealed: [1],
      nextCheck: 0)
  }

  static func deletion(
    _ state: Deletion.State = .open, _ policy: Deletion.Policy = .required, tokens: Int64 = 1,
    owed: [String] = []
  ) -> Deletion {
    Deletion(
      id: 9, operation: operation, user: Example.id(1), actor: .user, policy: policy, state: state,
      tokens: (0..<tokens).map { DeletionToken(id: $0 + 1, token("client.\($0)")) }, owed: owed,
      identities: 1, nextTry: Example.now, createdAt: Example.now, updatedAt: Example.now)
  }

  static func request(_ proof: DeletionRequest.Proof = .none) -> DeletionRequest {
    DeletionRequest(
      user: Example.id(1), operation: operation, origin: .user, policy: .required, proof: proof,
      lease: Example.now + 60_000, now: Example.now)
  }

  static func facts(
    _ user: User? = Example.user(), session: Session? = nil, named: Deletion? = nil, last: Deletion? = nil,
    tokens: [SealedAppleToken] = []
  ) -> DeletionRule.Facts {
    DeletionRule.Facts(user: user, session: session, named: named, last: last, tokens: tokens)
  }
}
