/// A key that comes to be another user's (RULES §1.9). Nothing of it is written before the whole request is let in.
enum UserChange {
  case allowed(ChargeSheet)
  /// When another user may be, milliseconds since 1970.
  case refused(until: Int64)

  /// nil where the key keeps its user: that of the last request with an access token.
  init?(_ request: AdmissionRequest, _ bearer: inout Bearer, in book: some AdmissionBook) throws {
    guard case .assertion = request.evidence, let user = request.user, bearer.become(user) else { return nil }
    var sheet = try ChargeSheet(user.changes, now: request.now, bearer, in: book)
    switch try sheet.judge(now: request.now, in: book) {
    case nil: self = .allowed(sheet)
    case .exhausted(let remaining): self = .refused(until: remaining.resetsAt)
    case .some: self = .refused(until: request.now)
    }
  }

  func write(to book: some AdmissionBook) throws {
    if case .allowed(let sheet) = self { try sheet.write(to: book) }
  }
}
