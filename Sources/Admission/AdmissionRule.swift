/// The one decision: evidence, then running requests, bursts, counts and money (DESIGN §3). It depends on the
/// request and the book's rows alone.
package enum AdmissionRule {
  /// Decides and keeps the changed rows in the book.
  ///
  /// - Parameter session: an account's session, by its id, that must not be over.
  package static func decide(
    _ request: AdmissionRequest, within session: [UInt8]? = nil, in book: some AdmissionBook
  ) throws -> AdmissionDecision {
    var bearer: Bearer
    switch try Evidence.judge(request, in: book) {
    case .holds(let judged): bearer = judged
    case .refused(let refusal): return .refused(refusal)
    }
    if let model = request.model, try book.isClosed(model) { return .refused(.modelClosed) }
    if let session, let refusal = try book.refusal(ofSession: session) { return .refused(refusal) }
    let changes = try UserChange(request, &bearer, in: book)
    if case .refused(let refusal) = changes { return .refused(refusal) }
    if let until = bearer.device?.userBannedUntil, until > request.now, !request.isAboutSession {
      return .refused(.userBanned)
    }
    var sheet = try ChargeSheet(request, bearer, in: book)
    if let refusal = try sheet.judge(now: request.now, in: book) { return .refused(refusal) }
    let choices = try OpenChoices(request, bearer, in: book)
    if choices.places.isEmpty, let refusal = choices.refusal { return .refused(refusal) }
    let sheets = [sheet] + choices.sheets
    for sheet in sheets { try sheet.write(to: book) }
    try changes?.write(to: book)
    if bearer.isChanged, let device = bearer.device { try book.keep(device) }
    let reserved = sheets.flatMap(\.reserved)
    if let lease = request.lease ?? defaultLease(reserved) {
      let until = book.leaseTime(now: request.now).saturatingAdd(lease)
      var unsettled = request.unsettled
      unsettled?.userID = bearer.userID
      try book.keep(
        Reservation(
          id: request.id, device: bearer.device?.id, lease: until, lines: reserved,
          ending: unsettled.map { .held($0) }))
    }
    return .admitted(
      Admitted(
        keyID: bearer.device?.keyID, userID: bearer.userID,
        remaining: sheets.flatMap { $0.remaining() }, outOfOrder: bearer.outOfOrder,
        choices: choices.places))
  }

  /// What is left of each window for a key, counts and money, without counting.
  package static func remaining(
    _ request: AdmissionRequest, device: DeviceState?, in book: some AdmissionBook
  ) throws -> [Remaining] {
    try ChargeSheet(request, Bearer(device: device), in: book).remaining(money: true)
  }

  /// What is held must end even if the caller never means to settle.
  private static func defaultLease(_ reserved: [ReservedLine]) -> Int64? {
    reserved.contains { $0.kind != .count } ? 60_000 : nil
  }
}
