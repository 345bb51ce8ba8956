package import Encodings

/// The move of an app with its users from one of Apple's teams to another (Apple's TN3159), as this server takes part
/// in it. Times are milliseconds since 1970.
package struct AccountTransfer: Sendable, Equatable {
  /// How long after its acceptance users can be brought over, milliseconds.
  package static let window: Int64 = 60 * 86_400_000

  package var id: Int64
  /// The team that gives the app away.
  package var source: String
  /// The team that gets it.
  package var target: String
  /// When the recipient accepted it; nil where nobody said, or it is yet to come.
  package var acceptedAt: Int64?
  package var createdAt: Int64

  package init(id: Int64, source: String, target: String, acceptedAt: Int64?, createdAt: Int64) {
    self.id = id
    self.source = source
    self.target = target
    self.acceptedAt = acceptedAt
    self.createdAt = createdAt
  }

  /// Milliseconds that are left to bring users over; nil where the acceptance is not known, 0 or less when it is too
  /// late.
  package func remaining(at now: Int64) -> Int64? {
    acceptedAt.map { $0.saturatingAdd(Self.window).saturatingSubtract(now) }
  }
}

/// Which half of it.
package enum TransferStep: Sendable, Equatable {
  /// The sender asks for each user's transfer identifier.
  case export
  /// The recipient asks for each identifier's subject.
  case `import`
}

/// How far a user's identity is.
package enum TransferResult: String, Sendable, CaseIterable {
  /// Nothing was asked yet.
  case waiting
  /// The transfer identifier is there: the user is found by it, also when they sign in first.
  case exported
  /// The identity is the target team's.
  case transferred
  /// It is since its user signed in before it was brought over.
  case signedInFirst = "signed_in_first"
  /// Apple refuses this user.
  case refused
  /// The subject under the new team is another user's here, who signed in before the export.
  case conflict
}

/// An identity on its way.
package struct TransferUser: Sendable, Equatable {
  package var identity: UUID
  package var user: UUID
  /// Under the team that it has now.
  package var subject: String
  /// Apple's transfer identifier.
  package var identifier: String?
  package var result: TransferResult
  /// Apple's word, or this program's.
  package var reason: String?

  package init(
    identity: UUID, user: UUID, subject: String, identifier: String? = nil, result: TransferResult,
    reason: String? = nil
  ) {
    self.identity = identity
    self.user = user
    self.subject = subject
    self.identifier = identifier
    self.result = result
    self.reason = reason
  }
}

/// What Apple calls a user under the new team.
package struct Rekeying: Sendable, Equatable {
  package var identity: UUID
  package var subject: String
  /// Another relay address than before; nil where Apple names none.
  package var email: String?
  package var isPrivateEmail: Bool?

  package init(identity: UUID, subject: String, email: String? = nil, isPrivateEmail: Bool? = nil) {
    self.identity = identity
    self.subject = subject
    self.email = email
    self.isPrivateEmail = isPrivateEmail
  }
}
