/// A key that comes to be another user's (RULES §1.9). Nothing of it is written before the whole request is let in.
enum UserChange {
  case allowed(ChargeSheet)
  case refused(AdmissionRefusal)

  /// nil where the key keeps its user: that of the last request with an access token.
  init?(_ request: AdmissionRequest, _ bearer: inout Bearer, in book: some AdmissionBook) throws {
    guard case .assertion = request.evidence, let user = request.user, bearer.become(user) else { return nil }
    if let refusal = try book.refusal(ofUser: user.id, now: request.now) {
      self = .refused(refusal)
      return
    }
    var sheet = try ChargeSheet(user.changes, now: request.now, bearer, in: book)
    switch try sheet.judge(now: request.now, in: book) {
    case nil: self = .allowed(sheet)
    case .exhausted(let remaining): self = .refused(.tooManyUsers(until: remaining.resetsAt))
    case .some: self = .refused(.tooManyUsers(until: request.now))
    }
  }

  func write(to book: some AdmissionBook) throws {
    if case .allowed(let sheet) = self { try sheet.write(to: book) }
  }
}
