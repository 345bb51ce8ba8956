import Admission
import AppleSimulator
import BramleyAPI
import BramleyTesting
import Encodings
import Gateway
import HTTPMessages
import SQL
import Testing

@testable import Server

@Suite("fal directly") struct FalDirectTests {
  @Test("a picture is made, and what is booked is what fal bills")
  func picture() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.draw("a cat")
    #expect(response.status == 200)
    let root = try await response.json
    #expect(root["images"]?.elements?.first?["url"]?.string?.hasPrefix("https://v3.fal.media/") == true)
    #expect(response.fields["x-fal-billable-units"] == nil && response.fields["set-cookie"] == nil)
    let sent = try #require(server.upstreamRequests.values.first)
    #expect(sent.authority == "fal.run" && sent.target == "/fal-ai/flux/schnell")
    #expect(sent.fields["authorization"] == "Key " + WholeServer.falKey)
    let rows = try await server.usage()
    #expect(rows.count == 1 && rows[0].provider == "fal" && rows[0].model == "fal-ai/flux/schnell")
    #expect(rows[0].estimated == false && rows[0].cost == WholeServer.falPrice)
    let booked = try await server.booked()
    #expect(booked.rows == server.falBill && booked.line == server.falBill && booked.held == 0)
  }

  @Test(
    "a provider that misbehaves: the right answer, the right charge, no leak",
    arguments: [
      ("bytes 1", Outcome(200), 1), ("no usage", Outcome(200), 1),
      ("gzip", Outcome(502, "upstream_failed"), 1),
      ("redirect", Outcome(502, "upstream_failed"), 1), ("error 500", Outcome(502, "upstream_failed"), 0),
      ("error 503", Outcome(503, "upstream_busy"), 0), ("error 429", Outcome(503, "upstream_busy"), 0),
      ("error 504", Outcome(504, "upstream_timeout"), 0), ("error 400", Outcome(400, "upstream_refused"), 0),
      ("error 401", Outcome(503, "upstream_failed"), 0), ("error 403", Outcome(503, "upstream_failed"), 0),
      ("error 404", Outcome(503, "upstream_failed"), 0), ("error 422", Outcome(422, "upstream_refused"), 1),
      ("error 500] [simulate: page", Outcome(502, "upstream_failed"), 0),
      ("error 422] [simulate: units 0", Outcome(422, "upstream_refused"), 0),
    ])
  func misbehaviour(_ instruction: String, _ outcome: Outcome, _ units: Int64) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let response = try await phone.draw("[simulate: \(instruction)] [simulate: echo key]")
    if instruction == "bytes 1" || instruction == "no usage" {
      // A key in a success cuts it.
      await #expect(throws: HTTPBodyError.incomplete) { try await response.body.collect(upTo: 1 << 20) }
    } else {
      let body = try await response.body.collect(upTo: 10_000)
      #expect(Outcome(response.status, ErrorAnswer(body: body).code?.rawValue ?? "") == outcome)
      #expect(!String(decoding: body, as: UTF8.self).contains(WholeServer.falKey))
      #expect(response.fields["location"] == nil)
    }
    let booked = try await server.booked()
    #expect(booked.rows == units * WholeServer.falPrice && booked.line == booked.rows && booked.held == 0)
    #expect(booked.rows >= server.falBill)
    #expect(!server.lines.values.joined().contains(WholeServer.falKey))
    #expect(try await server.openReservations() == 0)
  }

  @Test(
    "RULES §5.2: an app that leaves is charged, before the head and after it",
    arguments: ["stall", "delay 9s"])
  func aborted(_ instruction: String) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let request = try await phone.sign(Phone.picture("[simulate: \(instruction)]"))
    let task = Task { try await server.send(request) }
    if instruction == "stall" {
      let response = try await task.value
      if case .stream(let stream, _) = response.body.content {
        _ = try await stream.next()
        stream.cancel()
      }
    } else {
      while server.upstreamRequests.values.isEmpty { await Task.yield() }
      task.cancel()
      // The answer may have been quicker; then it is dropped unread.
      if let response = try? await task.value, case .stream(let stream, _) = response.body.content {
        stream.cancel()
      }
    }
    let booked = try await server.booked()
    #expect(booked.rows == WholeServer.falPrice && booked.line == booked.rows && booked.held == 0)
    #expect(booked.rows >= server.falBill)
    #expect(try await server.openReservations() == 0)
  }

  @Test("more than was held is booked, closes the model, and calls the operator")
  func above() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    #expect(try await phone.draw("[simulate: units 9]").text.contains("images"))
    #expect(try await server.booked().line == server.falBill)
    #expect(server.lines.values.contains { $0.contains("cost_above_reserve") })
    #expect(try await Outcome(phone.draw("again")) == Outcome(503, "upstream_unavailable"))
    #expect(server.fal.billing.billedCalls == 1)
  }

  @Test(
    "hostile bodies: a clear error, nothing sent, nothing charged",
    arguments: [
      "", "{", "[]", "null", #"{"prompt":"a","prompt":"b"}"#, "{\"prompt\":\"\u{0}\"}",
      #"{"prompt":"a","num_images":1000000}"#, #"{"prompt":"a","image_url":"http://169.254.169.254/"}"#,
      #"{"prompt":"a","num_images":1e308}"#, #"{"prompt":"\ud800"}"#, #"{"prompt":"a","webhook":"x"}"#,
      String(repeating: "[", count: 60_000), #"{"prompt":{"$ref":"x"}}"#,
    ])
  func hostile(_ body: String) async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    for target in [Phone.direct, Phone.queue] {
      let response = try await server.send(
        try await phone.sign(
          HTTPRequest(
            method: .post, target: target, fields: ["content-type": "application/json"],
            body: HTTPBody(body), peer: "192.0.2.1")))
      #expect(response.status == 400)
      let root = try await response.json
      #expect(root["detail"]?.string != nil && root["code"]?.string != nil)
      #expect(response.fields["x-fal-error-type"] != nil)
    }
    #expect(server.upstreamRequests.values.isEmpty)
    #expect(try await server.booked() == (0, 0, 0))
  }

  @Test("a body of 20 MB and one of bad UTF-8 are refused; a webhook in the query as well")
  func large() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    func status(_ bytes: [UInt8], _ target: String) async throws -> Int {
      try await server.send(
        try await phone.sign(
          HTTPRequest(
            method: .post, target: target, fields: ["content-type": "application/json"],
            body: HTTPBody(bytes), peer: "192.0.2.1"))
      ).status
    }
    #expect(try await status(Array(repeating: 0x20, count: 16 << 20), Phone.direct) == 413)
    #expect(try await status(Array("{\"prompt\":\"".utf8) + [0xFF, 0x22, 0x7D], Phone.direct) == 400)
    let body = Array(#"{"prompt":"a"}"#.utf8)
    #expect(try await status(body, Phone.queue + "?fal_webhook=https://evil.example") == 400)
    #expect(try await status(body, "/ai/fal/run/fal-ai/flux/dev") == 404)
    #expect(try await status(body, "/ai/fal/run/fal-ai/flux/schnell/../dev") == 404)
    #expect(try await status(body, "/ai/fal/run/fal-ai/flux%2Fschnell") == 404)
    #expect(server.upstreamRequests.values.isEmpty)
  }

  @Test("RULES §1.8: fal's clients carry the session token as their key; it goes no further")
  func token() async throws {
    let server = try await WholeServer()
    let phone = try await server.phone()
    let token = try #require(try await phone.token().json["token"]?.string)
    for scheme in ["Key", "key", "Bearer"] {
      var request = Phone.picture("a cat")
      request.fields["authorization"] = "\(scheme) \(token)"
      #expect(try await server.send(request).status == 200)
    }
    var request = Phone.picture("a cat")
    request.fields["authorization"] = "Key id:secret"
    #expect(try await Outcome(server.send(request)) == Outcome(401, "attestation_required"))
    #expect(server.upstreamRequests.values.allSatisfy { !"\($0.fields)".contains("bat_") })
  }
}
