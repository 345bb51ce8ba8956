import BramleyAPI
import Encodings
import Testing

@Suite("Wire types")
struct WireTests {
  @Test("what is written is read back")
  func roundTrip() {
    let challenges = ChallengeAnswer(challenges: [IssuedChallenge(text: "AAEC", expiresAt: 1_790_000_300)])
    #expect(ChallengeAnswer(body: challenges.json.bytes) == challenges)
    #expect(challenges.challenges[0].bytes == [0, 1, 2])
    let registration = Registration(keyID: [1, 255], attestation: [2, 254, 253], challenge: "AAEC")
    #expect(Registration(body: registration.json.bytes) == registration)
    let answer = RegistrationAnswer(keyID: [9, 8])
    #expect(RegistrationAnswer(body: answer.json.bytes) == answer)
    for request in [SessionRequest(), SessionRequest(routes: ["anthropic"])] {
      #expect(SessionRequest(body: request.json.bytes) == request)
    }
    let session = SessionAnswer(token: "bat_secret", expiresIn: 600)
    #expect(SessionAnswer(body: session.json.bytes) == session)
    #expect(!"\(session)".contains("secret"))
    var dumped = ""
    dump(session, to: &dumped)
    #expect(!dumped.contains("secret"))
  }

  @Test("a key id comes in any spelling of base64")
  func spellings() {
    for spelling in ["+/8=", "-_8=", "-_8", "+/8"] {
      let body = #"{"key_id":"\#(spelling)","attestation":"AA","challenge":"x"}"#
      #expect(Registration(body: Array(body.utf8))?.keyID == [0xFB, 0xFF])
    }
  }

  @Test(
    "what is no such message is refused",
    arguments: ["", "[]", "{}", "null", #"{"key_id":1}"#, #"{"challenges":[{}]}"#, #"{"challenges":{}}"#])
  func refused(body: String) {
    let body = Array(body.utf8)
    #expect(ChallengeAnswer(body: body) == nil)
    #expect(Registration(body: body) == nil)
    #expect(RegistrationAnswer(body: body) == nil)
    #expect(SessionAnswer(body: body) == nil)
  }

  @Test("the routes of a session request")
  func routes() {
    #expect(SessionRequest(body: []) == SessionRequest())
    #expect(SessionRequest(body: Array(#"{"routes":null}"#.utf8)) == SessionRequest())
    #expect(SessionRequest(body: Array(#"{"routes":"x"}"#.utf8)) == nil)
    #expect(SessionRequest(body: Array(#"{"routes":[1]}"#.utf8)) == nil)
    #expect(SessionRequest(body: Array("[]".utf8)) == nil)
  }

  @Test("an error's code is found in either envelope, and a page has none")
  func errors() {
    let problem = #"{"status":401,"code":"unknown_key","message":"not registered"}"#
    #expect(
      ErrorAnswer(body: Array(problem.utf8)) == ErrorAnswer(code: .unknownKey, message: "not registered"))
    let anthropic = """
      {"type":"error","error":{"type":"rate_limit_error","message":"used up",\
      "details":{"error_code":"quota_exceeded"}}}
      """
    #expect(ErrorAnswer(body: Array(anthropic.utf8)) == ErrorAnswer(code: .quotaExceeded, message: "used up"))
    #expect(ErrorAnswer(body: Array("<html>".utf8)) == ErrorAnswer(code: nil, message: nil))
    #expect(ErrorAnswer(body: Array(#"{"error":"unknown_key"}"#.utf8)).code == nil)
  }
}
