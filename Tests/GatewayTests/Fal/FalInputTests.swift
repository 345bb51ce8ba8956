import Encodings
import Gateway
import HTTPMessages
import Testing

@Suite("What may be asked of fal's models") struct FalInputTests {
  @Test("what is left out is said, within the bounds; everything else passes as it came")
  func completed() throws {
    let call = try FalExample.prepare(#"{ "prompt": "a \u0063at" }"#)
    #expect(FalExample.text(call).contains(#""prompt": "a \u0063at""#))
    let root = try JSONReader.read(call.body)
    #expect(root["num_images"]?.integer == 1)
    #expect(root["image_size"]?.string == "landscape_4_3")
    #expect(call.changed && call.path == "/" + FalExample.model && call.model == FalExample.model)
    let whole = #"{"prompt":"a cat","num_images":2,"image_size":"square","seed":7}"#
    let same = try FalExample.prepare(whole)
    #expect(FalExample.text(same) == whole && !same.changed)
    // null is fal's own default, which could be more than what is held.
    let null = try JSONReader.read(
      FalExample.prepare(#"{"prompt":"a","num_images":null,"image_size":null,"seed":null}"#).body)
    #expect(null["num_images"]?.integer == 1 && null["image_size"]?.string == "landscape_4_3")
  }

  @Test(
    "RULES §5.3: what has no bound is refused",
    arguments: [
      (#"{"prompt":"a","image_url":"https://example.com/x.png"}"#, "field_not_allowed"),
      (#"{"prompt":"a","loras":[{"path":"x"}]}"#, "field_not_allowed"),
      (#"{"prompt":"a","webhook_url":"https://example.com"}"#, "field_not_allowed"),
      (#"{"prompt":"a","num_images":5}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":0}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":-1}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":1e9}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":2.0}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":"4"}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":99999999999999999999}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":[1]}"#, "invalid_request"),
      (#"{"prompt":"a","num_images":1,"num_images":4}"#, "invalid_json"),
      (#"{"prompt":"a","num_images":1,"num_imag\u0065s":4}"#, "invalid_json"),
      (#"{"prompt":"a","image_size":"huge"}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":4096,"height":4096}}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":9223372036854775807,"height":2}}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":-1024,"height":-1024}}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":0,"height":1}}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":512}}"#, "invalid_request"),
      (#"{"prompt":"a","image_size":{"width":512,"height":512,"depth":9}}"#, "field_not_allowed"),
      (#"{"prompt":"a","image_size":7}"#, "invalid_request"),
      (#"{"prompt":"a","num_inference_steps":13}"#, "invalid_request"),
      (#"{"prompt":"a","seed":-1}"#, "invalid_request"),
      (#"{"prompt":"a","guidance_scale":1e400}"#, "invalid_request"),
      (#"{"prompt":"a","enable_safety_checker":false}"#, "invalid_request"),
      (#"{"prompt":"a","output_format":"tiff"}"#, "invalid_request"),
      (#"{"prompt":"a","sync_mode":"yes"}"#, "invalid_request"),
      (#"{"prompt":7}"#, "invalid_request"), (#"{"prompt":""}"#, "invalid_request"),
      (#"{"prompt":null}"#, "invalid_request"), (#"{}"#, "invalid_request"), ("[]", "invalid_request"),
      ("", "invalid_json"), ("{", "invalid_json"), ("{\"prompt\":\"\u{1}\"}", "invalid_json"),
    ])
  func refused(_ body: String, _ code: String) {
    #expect(FalExample.refusal(body)?.code == code)
  }

  @Test("a prompt is bounded in octets, and so is its opposite")
  func prompts() {
    let long = String(repeating: "é", count: 1_001)
    #expect(FalExample.refusal("{\"prompt\":\"\(long)\"}")?.code == "prompt_too_long")
    #expect(
      FalExample.refusal("{\"prompt\":\"a\",\"negative_prompt\":\"\(long)\"}")?.code == "prompt_too_long")
    #expect(FalExample.refusal("{\"prompt\":\"\(String(repeating: "é", count: 1_000))\"}") == nil)
  }

  @Test("fields that a model does not know are refused, and not made up")
  func unknownToTheModel() throws {
    let plain = try FalExample.prepare(#"{"prompt":"a"}"#) {
      $0.maximumImages = 0
      $0.maximumPixels = 0
      $0.maximumSteps = 0
    }
    #expect(FalExample.text(plain) == #"{"prompt":"a"}"#)
    for field in ["num_images", "image_size", "num_inference_steps"] {
      let refusal = FalExample.refusal("{\"prompt\":\"a\",\"\(field)\":1}") {
        $0.maximumImages = 0
        $0.maximumPixels = 0
        $0.maximumSteps = 0
      }
      #expect(refusal?.code == "field_not_allowed")
    }
  }

  @Test("the operator's own fields have the texts that were written, by octets")
  func choices() {
    let allow: (inout FalApp) -> Void = { $0.choices = ["aspect_ratio": ["1:1", "é"]] }
    #expect(FalExample.refusal(#"{"prompt":"a","aspect_ratio":"1:1"}"#, allow) == nil)
    #expect(FalExample.refusal(#"{"prompt":"a","aspect_ratio":"16:9"}"#, allow)?.code == "invalid_request")
    #expect(FalExample.refusal(#"{"prompt":"a","aspect_ratio":["1:1"]}"#, allow)?.code == "invalid_request")
    #expect(FalExample.refusal("{\"prompt\":\"a\",\"aspect_ratio\":\"e\u{301}\"}", allow) != nil)
  }

  @Test("files within the answer are for direct calls")
  func inline() {
    #expect(FalExample.refusal(#"{"prompt":"a","sync_mode":true}"#) == nil)
    #expect(
      FalExample.refusal(#"{"prompt":"a","sync_mode":true}"#, way: .queue)?.code
        == "inline_files_not_allowed")
    #expect(FalExample.refusal(#"{"prompt":"a","sync_mode":false}"#, way: .queue) == nil)
  }

  @Test("a webhook, another path, another method, an unasked coding: nothing goes out")
  func around() throws {
    let fal = FalExample.fal()
    let body = #"{"prompt":"a"}"#
    func code(_ request: ProviderRequest) -> String? {
      do throws(ProviderRefusal) {
        _ = try fal.prepare(request)
        return nil
      } catch {
        return error.code
      }
    }
    #expect(code(FalExample.request(body, query: "fal_webhook=https://example.com")) == "query_not_allowed")
    #expect(code(FalExample.request(body, query: "")) == "query_not_allowed")
    for path in [
      "/run/fal-ai/flux/dev", "/run/fal-ai/flux/schnell/", "/run/fal-ai/flux/schnell/../dev", "/run/",
      "/fal-ai/flux/schnell", "/queue/fal-ai/flux/schnell", "/run/fal-ai/FLUX/schnell",
    ] {
      #expect(code(FalExample.request(body, path: path)) == "app_not_allowed", "\(path)")
    }
    #expect(code(FalExample.request(body, method: .get)) == "method_not_allowed")
    #expect(
      code(FalExample.request(body, fields: ["content-type": "text/plain"])) == "content_type_not_allowed")
    #expect(
      code(FalExample.request(body, fields: ["content-encoding": "gzip"])) == "content_encoding_not_allowed")
    let long = "{\"prompt\":\"\(String(repeating: " ", count: 70_000))\"}"
    #expect(code(FalExample.request(long)) == "body_too_large")
    #expect(code(FalExample.request(String(repeating: "[", count: 5_000))) == "invalid_json")
  }

  @Test("RULES §6.4: fal's own fields, credentials and everything unknown stay behind")
  func fields() throws {
    let call = try FalExample.fal().prepare(
      FalExample.request(
        #"{"prompt":"a"}"#,
        fields: [
          "authorization": "Key bat_x", "x-fal-queue-priority": "high", "x-fal-request-timeout": "1",
          "x-fal-runner-hint": "x", "x-fal-target-url": "https://example.com", "cookie": "a=b",
          "x-fal-store-io": "1", "user-agent": "fal-client/1.0",
        ]))
    var fields = call.fields
    FalExample.fal().authorize(&fields, credential: "id:secret")
    #expect(
      Set(fields.lines.map { $0.name.lowercased() })
        == ["content-type", "accept", "accept-encoding", "user-agent", "authorization"])
    #expect(fields["authorization"] == "Key id:secret" && fields["user-agent"] == "bramley")
    let answer = FalExample.fal().answerFields([
      "content-type": "application/json", "x-fal-request-id": "r", "x-fal-billable-units": "1",
      "set-cookie": "a=b", "x-fal-cdn-token": "t",
    ])
    #expect(
      Set(answer.lines.map { $0.name.lowercased() }) == ["content-type", "x-fal-request-id", "cache-control"])
  }

  @Test(
    "names of models",
    arguments: [
      ("fal-ai/flux/schnell", true), ("fal-ai/flux-pro/v1.1", true), ("fal-ai", false), ("", false),
      ("fal-ai//flux", false), ("/fal-ai/flux", false), ("fal-ai/flux/", false), ("fal-ai/../flux", false),
      ("fal-ai/flux/requests/x", false), ("fal-ai/flux?x", false), ("fal-ai/flüx", false),
      ("a/b/c/d/e/f/g", false), ("fal-ai/{id}", false),
    ])
  func names(_ name: String, _ isOne: Bool) {
    #expect(FalApp.isName(name) == isOne)
  }
}
