import Glibc

/// Where libFuzzer hands in its octets. One binary has every target: `BRAMLEY_FUZZ_TARGET` names the one that
/// runs, and scripts/fuzz runs each in turn.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  chosen(unsafe Array(UnsafeBufferPointer(start: data, count: size)))
  return 0
}

private let chosen: @Sendable ([UInt8]) -> Void = {
  let name = unsafe getenv("BRAMLEY_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
  guard let target = fuzzTargets[name] else {
    fatalError("BRAMLEY_FUZZ_TARGET must be one of \(fuzzTargets.keys.sorted().joined(separator: ", "))")
  }
  return target
}()

/// Every target by its name; each has a folder of that name in Fuzz/Corpus.
let fuzzTargets: [String: @Sendable ([UInt8]) -> Void] = [
  "cbor": fuzzCBOR,
  "authenticator-data": fuzzAuthenticatorData,
  "attestation": fuzzAttestation,
  "assertion": fuzzAssertion,
  "receipt": fuzzReceipt,
  "http": fuzzHTTP,
  "sse": fuzzServerSentEvents,
  "json": fuzzJSON,
  "pictures": fuzzPictures,
  "policy": fuzzPolicy,
  "function": fuzzFunction,
  "function-answer": fuzzFunctionAnswer,
  "chat-policy": fuzzChatPolicy,
  "chat-stream": fuzzChatStream,
  "jws": fuzzJWS,
  "identity-token": fuzzIdentityToken,
  "apple-claims": fuzzAppleClaims,
  "apple-form": fuzzAppleForm,
]
