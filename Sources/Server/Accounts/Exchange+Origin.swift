import Accounts

extension Exchange {
  /// Where the request comes from, as the audit log keeps it.
  func origin(_ actor: RequestOrigin.Actor = .user) -> RequestOrigin {
    RequestOrigin(actor, address: address == ClientAddress.unknown ? nil : address)
  }
}
