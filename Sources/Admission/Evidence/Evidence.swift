import AppAttest

/// Who a request is of, once its evidence was judged.
package struct Bearer {
  package var device: DeviceState?
  package var debugToken: DebugTokenState?
  /// Who has signed in where no device shows itself.
  package var user: KeyUser?
  var outOfOrder = false
  /// Whether the key's row is to be kept: it has another user or person.
  var isChanged = false

  package init(
    device: DeviceState? = nil, debugToken: DebugTokenState? = nil, user: KeyUser? = nil
  ) {
    self.device = device
    self.debugToken = debugToken
    self.user = user
  }

  /// Makes `user` the key's; whether that is a change.
  package mutating func become(_ user: KeyUser?) -> Bool {
    guard let user, let device, device.userID != user.id || device.person != user.person else { return false }
    self.device?.userID = user.id
    // Also of the same user, who was anonymous and is linked now.
    self.device?.person = user.person
    if device.userID != user.id { self.device?.userBannedUntil = nil }
    isChanged = true
    return device.userID != user.id
  }

  init(device: DeviceState, outOfOrder: Bool) {
    self.device = device
    self.outOfOrder = outOfOrder
  }

  /// The device's user, or who has signed in without one.
  var userID: String? { device == nil ? user?.id : device?.userID }

  /// Whose row a charge counts in; nil where it does not apply to the request.
  package func subject(of charge: Charge) -> LineSubject? {
    if let newcomers = charge.newcomers {
      guard let device, newcomers.covers(device) else { return nil }
    }
    return subject(charge.subject)
  }

  /// The row's subject that a charge names; nil where the request has no such subject, and the charge then
  /// does not apply.
  func subject(_ subject: Subject) -> LineSubject? {
    switch subject {
    case .key:
      if let device { return .device(device.id) }
      return debugToken.map { .named(.debugToken, $0.name) }
    case .user: return userID.map { .named(.user, $0) }
    case .person: return (device == nil ? user?.person : device?.person).map { .named(.person, $0) }
    case .app: return device.map { .named(.app, $0.appID) }
    case .line(let subject): return subject
    case .address(let address): return .named(.address, address)
    case .everyone: return .named(.everyone, "")
    }
  }
}

/// Judges whether the proof is to be taken, and consumes it.
enum Evidence {
  enum Verdict {
    case holds(Bearer)
    case refused(AdmissionRefusal)
  }

  static func judge(_ request: AdmissionRequest, in book: some AdmissionBook) throws -> Verdict {
    switch request.evidence {
    case .none:
      return .holds(Bearer(user: request.user))
    case .assertion(let keyID, let counter, let challenge):
      return try assertion(request, keyID, counter, challenge, in: book)
    case .session(let hash, let route):
      guard let session = try book.session(hash), session.expiry.saturatingMultiply(1_000) > request.now,
        session.routes.contains(route), var device = try book.device(session.keyID), device.status != .revoked
      else { return .refused(.invalidToken) }
      if let refusal = standing(device, request) { return .refused(refusal) }
      if device.use(at: request.now) { try book.keep(device) }
      return .holds(Bearer(device: device))
    case .debugToken(let hash):
      guard let token = try book.debugToken(hash), token.expiry.saturatingMultiply(1_000) > request.now
      else { return .refused(.invalidToken) }
      try book.noteUse(debugToken: token.name, at: request.now / 1_000)
      return .holds(Bearer(debugToken: token))
    }
  }

  /// The signature held before, so counter and challenge are consumed whatever is refused after (RULES §1.5).
  private static func assertion(
    _ request: AdmissionRequest, _ keyID: [UInt8], _ counter: UInt32, _ challenge: ConsumedChallenge?,
    in book: some AdmissionBook
  ) throws -> Verdict {
    guard var device = try book.device(keyID), device.status != .revoked else { return .refused(.unknownKey) }
    let acceptance = device.counters.accept(counter, width: request.counterWindow)
    if acceptance != .refused {
      _ = device.use(at: request.now)
      try book.keep(device)
    }
    let isFresh = try challenge.map { try book.consume($0, keyID: keyID) } ?? true
    if let refusal = standing(device, request) { return .refused(refusal) }
    if acceptance == .refused { return .refused(.counterReplayed) }
    if !isFresh { return .refused(.challengeUsed) }
    return .holds(Bearer(device: device, outOfOrder: acceptance == .accepted(outOfOrder: true)))
  }

  /// Whether the key's row is accepted by today's configuration (RULES §1.6).
  private static func standing(_ device: DeviceState, _ request: AdmissionRequest) -> AdmissionRefusal? {
    if device.status == .banned { return .banned }
    let expectation = request.expectation
    guard expectation.apps.contains(device.acceptance), expectation.anchors.contains(device.anchor) else {
      return .keyNotAccepted
    }
    return nil
  }
}
