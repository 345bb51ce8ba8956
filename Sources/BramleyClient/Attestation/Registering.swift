import BramleyAPI
import Encodings
import HTTPMessages

extension BramleyClient {
  /// The registered key's id, after registering where that is needed.
  func keyID() async throws -> String {
    if let key = registration.key, !registration.needsSaving { return key.keyID }
    return try await registering.run { try await self.obtainKey(instead: nil) }
  }

  /// Another key than `old`, which is of no use any more.
  func replaceKey(_ old: String) async throws -> String {
    while true {
      let key = try await registering.run { try await self.obtainKey(instead: old) }
      if key != old { return key }
      // Somebody else was being given the old one when we asked.
    }
  }

  private func obtainKey(instead old: String?) async throws -> String {
    if !registration.isLoaded {
      registration.key = try await storage.load()
      registration.isLoaded = true
    }
    if let key = registration.key, key.keyID != old {
      if registration.needsSaving { try await save(key) }
      return key.keyID
    }
    guard await attestation.isSupported else { throw BramleyError(.attestationUnsupported) }
    if registration.pending == nil {
      if let wait = registration.coolDown(options.registrationCoolDown, now: now()) {
        throw BramleyError(.registrationCoolDown, retryAfter: Int(wait))
      }
    }
    do {
      return try await registerOnce()
    } catch let error as BramleyError where error.isOfChallenge {
      // Apple took longer than the challenge holds: the key is spent, one more is worth it.
      return try await registerOnce()
    }
  }

  private func registerOnce() async throws -> String {
    let pending = try await attested()
    guard let octets = Base64.decode(pending.keyID), let attestation = pending.attestation else {
      registration.pending = nil
      throw BramleyError(.attestationFailed)
    }
    // Fresh each time: it holds for less than a minute.
    let deviceToken = options.sendsDeviceToken ? await self.attestation.deviceToken() : nil
    let body = Registration(
      keyID: octets, attestation: attestation, challenge: pending.challenge.text, deviceToken: deviceToken)
    let request = HTTPRequest(
      method: .post, target: AttestTargets.keys, fields: ["content-type": "application/json"],
      body: HTTPBody(body.json.bytes))
    let response = try await sendPlain(request)
    let answer = await response.errorBody()
    guard response.status == 200 || response.status == 201 else {
      let error = BramleyError(response, body: answer)
      // The server may take the same later: a full minute's limit, an outage. Anything else is a verdict.
      if response.status < 500, response.status != 429, response.status != 408 {
        registration.pending = nil
        registration.refusedAt = now()
      }
      throw error
    }
    guard RegistrationAnswer(body: answer)?.keyID == octets else {
      throw BramleyError(.unrecognizedAnswer, status: response.status)
    }
    registration.pending = nil
    let key = StoredKey(keyID: pending.keyID, registeredAt: now())
    registration.key = key
    try await save(key)
    return key.keyID
  }

  /// The key is kept only now that the server has accepted it. In memory it stays though the storage fails.
  private func save(_ key: StoredKey) async throws {
    registration.needsSaving = true
    try await storage.save(key)
    registration.needsSaving = false
  }

  /// A key with its attestation: the pending one as far as it got, else a new one. Where Apple's server could
  /// not be reached, the same key with the same hash is tried again as long as its challenge holds.
  private func attested() async throws -> RegistrationState.Pending {
    do {
      var pending = try await pendingKey()
      if pending.attestation == nil {
        let bytes = SignedBytes.registration(audience: audience, challenge: pending.challenge.bytes)
        pending.attestation = try await attestation.attestKey(
          pending.keyID, clientDataHash: attestation.sha256(bytes))
        registration.pending = pending
      }
      return pending
    } catch AppAttestError.serverUnavailable {
      throw BramleyError(AppAttestError.serverUnavailable)
    } catch let error as AppAttestError {
      registration.pending = nil
      registration.refusedAt = now()
      throw BramleyError(error)
    }
  }

  private func pendingKey() async throws -> RegistrationState.Pending {
    if let pending = registration.pending, now() < pending.until { return pending }
    // An attestation whose challenge is over is of no use, and its key cannot be attested again.
    let kept = registration.pending.flatMap { $0.attestation == nil ? $0.keyID : nil }
    registration.pending = nil
    let (challenge, until) = try await fetchChallenge(.registration)
    let keyID: String
    if let kept { keyID = kept } else { keyID = try await attestation.generateKey() }
    let pending = RegistrationState.Pending(keyID: keyID, challenge: challenge, until: until)
    registration.pending = pending
    return pending
  }
}

extension BramleyError {
  fileprivate var isOfChallenge: Bool {
    status != nil && [.challengeExpired, .challengeInvalid, .challengeUsed].contains(code)
  }
}
