import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("fal's queue") struct FalQueueTests {
  private let price = FalExample.price

  @Test("a receipt is fal's name of the call, if it can stand in a path")
  func receipts() {
    func id(_ text: String) -> String? { FalQueue.receipt(Array(text.utf8))?.id }
    #expect(
      id(#"{"request_id":"80e732af-660e","status_url":"https://evil.example","queue_position":3}"#)
        == "80e732af-660e")
    for text in [
      "", "{}", "[]", #"{"request_id":""}"#, #"{"request_id":7}"#, #"{"request_id":"a/../b"}"#,
      #"{"request_id":"a?b"}"#, #"{"request_id":"a\u0000"}"#, #"{"request_id":"ä"}"#,
      "{\"request_id\":\"\(String(repeating: "a", count: 65))\"}", #"{"request_id":"a","request_id":"b"}"#,
    ] { #expect(id(text) == nil, "\(text)") }
  }

  @Test("states")
  func states() {
    func state(_ text: String) -> FalState? { FalQueue.state(Array(text.utf8)) }
    #expect(state(#"{"status":"IN_QUEUE","queue_position":2}"#) == .queued(position: 2))
    #expect(state(#"{"status":"IN_QUEUE","queue_position":-2}"#) == .queued(position: 0))
    #expect(state(#"{"status":"IN_PROGRESS","logs":[{"message":"x"}]}"#) == .running)
    #expect(state(#"{"status":"COMPLETED","error":null}"#) == .completed(failed: false))
    #expect(state(#"{"status":"COMPLETED","error":"no","error_type":"x"}"#) == .completed(failed: true))
    #expect(state(#"{"status":"completed"}"#) == nil)
    #expect(state("{") == nil)
  }

  @Test("RULES §5.7: what an app is told has the gateway's own name and URLs, and no logs")
  func answers() throws {
    let told = FalQueue.answer(
      .queued(position: 1), model: FalExample.model, id: "own", base: "https://api.example.com/ai/fal/queue")
    let root = try JSONReader.read(told.bytes)
    #expect(root["status"]?.string == "IN_QUEUE" && root["queue_position"]?.integer == 1)
    #expect(root["request_id"]?.string == "own" && root["logs"]?.elements?.isEmpty == true)
    let base = "https://api.example.com/ai/fal/queue/fal-ai/flux/requests/own"
    #expect(root["response_url"]?.string == base)
    #expect(root["status_url"]?.string == base + "/status")
    #expect(root["cancel_url"]?.string == base + "/cancel")
    #expect(!told.text.contains("fal.run"))
    #expect(FalQueue.call(FalExample.queued(), .cancel).path == "/fal-ai/flux/requests/up-1/cancel")
    #expect(FalQueue.call(FalExample.queued(), .cancel).method == .put)
    #expect(FalApp.queueName(of: "workflows/owner/app/more") == "workflows/owner/app")
  }

  private func verdict(
    _ status: Int, _ body: String = "{}", units: String? = nil, failed: Bool = false, unit: FalUnit = .image
  ) -> FalQueue.Verdict {
    FalQueue.verdict(
      on: FalExample.queued(unit: unit), failed: failed, status: status,
      fields: units.map { ["x-fal-billable-units": $0] } ?? [:], body: Array(body.utf8))
  }

  @Test("RULES §5.7: the end of a call is settled by what is known, and by the reserve where nothing is")
  func verdicts() {
    func cost(_ verdict: FalQueue.Verdict) -> Int64? {
      if case .settle(let settlement) = verdict { settlement.cost } else { nil }
    }
    #expect(cost(verdict(200, units: "1")) == price)
    #expect(cost(verdict(200, units: "9")) == 9 * price)
    #expect(cost(verdict(200, #"{"images":[{},{}]}"#)) == 2 * price)
    #expect(cost(verdict(200, #"{"images":[{}]}"#, unit: .megapixel)) == 2 * price)
    #expect(cost(verdict(200)) == 2 * price)
    #expect(cost(verdict(422)) == 2 * price)
    #expect(cost(verdict(422, units: "0.5")) == price / 2)
    #expect(cost(verdict(404)) == 2 * price)
    #expect(cost(verdict(499)) == 2 * price)
    // Units beside an error that is never billed are the error's.
    #expect(verdict(500, units: "1") == .later)
    for status in [301, 400, 401, 403, 408, 409, 429, 500, 502, 503] { #expect(verdict(status) == .later) }
    #expect(
      verdict(500, failed: true) == .settle(CallSettlement(outcome: .released(giveBackCount: true))))
    for status in [401, 403, 429] { #expect(verdict(status, failed: true) == .later) }
  }

  @Test("RULES §5.7: a call is of its key and its user")
  func owners() {
    let call = FalExample.queued()
    #expect(call.belongs(to: [7], userID: "user"))
    #expect(!call.belongs(to: [8], userID: "user"))
    #expect(!call.belongs(to: [7], userID: "other"))
    #expect(!call.belongs(to: [7], userID: nil))
    #expect(!call.belongs(to: [], userID: "user"))
    #expect(!FalExample.queued(userID: "").belongs(to: [7], userID: ""))
    #expect(!FalExample.queued(userID: "").belongs(to: [7], userID: nil))
    #expect(FalExample.queued(userID: nil).belongs(to: [7], userID: "came later"))
  }

  @Test("a call is looked at often, then rarely, and given up before its lease ends")
  func pauses() {
    let call = FalExample.queued()
    let start = call.submittedAt
    #expect(call.pause(at: start) < call.pause(at: start + 60_000))
    #expect(call.pause(at: start + 60_000) < call.pause(at: start + 3_600_000))
    #expect(call.pause(at: start - 1) > 0)
    #expect(!call.isOverdue(at: start + 23 * 3_600_000))
    #expect(call.isOverdue(at: start + QueuedCall.lease - QueuedCall.margin))
    #expect(QueuedCall.lease == 24 * 3_600_000)
  }
}
