extension Schema {
  /// Names the key that sealed the secret of refresh tokens.
  static let sealedRefreshSecrets = "alter table refresh_secrets add column sealing_key text"
}
