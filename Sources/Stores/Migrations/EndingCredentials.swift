extension Schema {
  /// What a database that goes back in time must forget: with its old counters, requests that were signed since
  /// would be accepted once more. Without the secrets no challenge of before is ours (RULES §1.4, §1.5), and
  /// session tokens that were ended since stay ended (RULES §1.8).
  package static let endingCredentials = [
    "challenge_secrets", "session_tokens", "apple_challenges", "switch_tickets", "web_flows",
  ]
}
