package import Gateway

/// What a request asks to be let in with. All of it is judged and written in one transaction.
package struct AdmissionRequest: Sendable, Equatable {
  /// The proof that was verified before (signature, binding, freshness), and whose single use is decided here.
  package enum Evidence: Sendable, Equatable {
    /// An assertion by the key, with its counter. `challenge` is set where its challenge is used up here beside the
    /// counter: in the exchanges for a token.
    case assertion(keyID: [UInt8], counter: UInt32, challenge: ConsumedChallenge?)
    /// An attested session token: SHA-256 of it (RULES §1.8), and the route it is used on.
    case session(tokenHash: [UInt8], route: String)
    /// A debug token for simulators, SHA-256 of it.
    case debugToken(tokenHash: [UInt8])
    /// None; the route's policy asks for none.
    case none
  }

  /// Identifies the request and its reservation; 16 octets, time-ordered.
  package var id: [UInt8]
  /// The proof.
  package var evidence: Evidence
  /// What today's configuration demands of the key's row (RULES §1.6).
  package var expectation: KeyExpectation
  /// The width of the counter window; 0 is strict.
  package var counterWindow: Int
  /// Milliseconds since 1970.
  package var now: Int64
  /// Everything that the request counts against: and, never or (RULES §5.1).
  package var charges: [Charge]
  /// How long the hold lasts if nobody renews or settles it, milliseconds. Nil for a request that nobody will
  /// settle, because it reaches no provider: it then keeps no reservation, unless a charge is in flight or held.
  package var lease: Int64?
  /// The client's address, for the rows that count by address.
  package var address: String
  /// The provider's model that is called; nil for a request that calls none.
  package var model: ProviderModel?
  /// The models of which any may answer, in the order in which they are asked; then `model` is nil.
  package var choices: [CallChoice] = []
  /// The user whose access token came with an assertion: the key's from now on. Nil changes nothing. Without evidence
  /// it is who the request is of.
  package var user: KeyUser?
  /// Whether it is about a session of an account, which is judged by itself: its user may be another than the key's
  /// current one, so that one's ban is not heeded.
  package var isAboutSession = false
  /// The row of usage if nobody settles the call, because its server died: what it is, with the most that it can cost.
  /// Whose it is, is known when it is let in.
  package var unsettled: UsageRecord?

  package init(
    id: [UInt8], evidence: Evidence, expectation: KeyExpectation, counterWindow: Int = 128, now: Int64,
    charges: [Charge], lease: Int64?, address: String, model: ProviderModel? = nil,
    choices: [CallChoice] = [], user: KeyUser? = nil, unsettled: UsageRecord? = nil
  ) {
    self.id = id
    self.evidence = evidence
    self.expectation = expectation
    self.counterWindow = counterWindow
    self.now = now
    self.charges = charges
    self.lease = lease
    self.address = address
    self.model = model
    self.choices = choices
    self.user = user
    self.unsettled = unsettled
  }
}

/// A user of the app on a key's device (RULES §1.9).
package struct KeyUser: Sendable, Equatable {
  package var id: String
  /// The name under which the user's counters outlive the account (RULES §4.3); nil for an anonymous one.
  package var person: String?
  /// The session of the access token, by its id.
  package var session: [UInt8]?
  /// What it counts to become a key's user in another's place: windows of the key alone, never given back.
  package var changes: [Charge]

  package init(id: String, person: String? = nil, session: [UInt8]? = nil, changes: [Charge]) {
    self.id = id
    self.person = person
    self.session = session
    self.changes = changes
  }
}

extension AdmissionRequest {
  /// Every charge whose row may be asked for.
  package var possibleCharges: [Charge] {
    choices.reduce(charges + (user?.changes ?? [])) { $0 + $1.charges }
  }

  /// Whether a closed model matters to it.
  package var callsModel: Bool { model != nil || !choices.isEmpty }
}

/// A challenge that is used once, and by what that is known.
package enum ConsumedChallenge: Sendable, Equatable {
  /// By a row: its random part, and when it expires, seconds since 1970 (RULES §1.4).
  case row(random: [UInt8], expiry: Int64)
  /// By how many tokens the key has minted, of which the challenge was derived (RULES §1.11).
  case mint(Int64)
}

/// What today's configuration accepts of a registered key.
package struct KeyExpectation: Sendable, Equatable {
  /// App ids and the environments in which each is accepted, as `environment/app id`.
  package var apps: Set<String>
  /// SHA-256 fingerprints of today's trust anchors.
  package var anchors: Set<[UInt8]>

  package init(apps: Set<String>, anchors: Set<[UInt8]>) {
    self.apps = apps
    self.anchors = anchors
  }
}

/// Who a charge is counted for. The key's own row is named before its id is looked up, so that a session
/// token counts for the key that bought it.
package enum Subject: Sendable, Hashable {
  /// The key that the evidence is of.
  case key
  /// The key's current user, where it has one.
  case user
  /// The person behind the key's current user, whoever that user was before (RULES §4.3).
  case person
  /// The app id of the key.
  case app
  /// Somebody who is known before the evidence is looked up.
  case line(LineSubject)
  /// A client address, IPv6 as its /64.
  case address(String)
  /// Everyone together.
  case everyone
}

/// One line of what a request costs: a count, a burst or money, against one limit of one subject.
package struct Charge: Sendable, Equatable {
  /// How the line is limited.
  package enum Limit: Sendable, Equatable {
    /// At most this many open at once; given back when the request is settled.
    case inFlight(Int64)
    /// GCRA: one every `interval` nanoseconds, `burst` at once (RULES §5.4: never given back).
    case burst(interval: Int64, burst: Int64)
    /// At most `limit` in the window. Requests are counted at once; what else there is, is held and settles to an
    /// actual amount.
    case window(Window, limit: Int64, unit: QuotaUnit)
  }

  /// Whose limit.
  package var subject: Subject
  /// The limit's name in the configuration, such as `daily`; part of the row's key.
  package var rule: String
  /// How much, in the limit's unit.
  package var amount: Int64
  /// The limit.
  package var limit: Limit
  /// Whether an operator is told when shares of a window's limit are used up.
  package var alarms: Bool
  /// Which keys alone it is for; nil for every one.
  package var newcomers: NewcomerRule?

  package init(
    subject: Subject, rule: String, amount: Int64, limit: Limit, alarms: Bool = false,
    newcomers: NewcomerRule? = nil
  ) {
    self.subject = subject
    self.rule = rule
    self.amount = amount
    self.limit = limit
    self.alarms = alarms
    self.newcomers = newcomers
  }

  /// The rule's name in rows. A limit that comes to count another unit begins anew: no name of the configuration has
  /// a colon.
  package var row: String {
    switch limit {
    case .window(_, _, .tokens): rule + ":tokens"
    case .window(_, _, .images): rule + ":images"
    default: rule
    }
  }
}
