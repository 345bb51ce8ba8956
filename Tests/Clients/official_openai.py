"""What the official openai package must be able to do through Bramley.

Arguments: the base URL, and the requests that the server allows a day. Prints a line a case: ok or fail, its
name, and why, with tabs between.
"""

import sys
import time
import traceback

import openai

BASE, DAILY = sys.argv[1], int(sys.argv[2])
MODEL = "gpt-6-luna"

client = openai.OpenAI(base_url=BASE)  # retries as by default: twice
requests = []
client._client.event_hooks = {"request": [lambda request: requests.append(request)], "response": []}


def ask(text, model=MODEL, **more):
    return client.chat.completions.create(
        model=model, max_completion_tokens=64, messages=[{"role": "user", "content": text}], **more)


def message():
    answer = ask("hello")
    assert answer.object == "chat.completion" and answer.choices[0].message.role == "assistant", answer
    assert answer.choices[0].message.content, answer
    assert answer.usage.prompt_tokens > 0 and answer.usage.completion_tokens > 0, answer.usage


def stream():
    """A stream in the shape that was asked for: every chunk has a choice."""
    chunks = list(ask("hello stream", stream=True))
    assert len(chunks) > 3, chunks
    assert all(chunk.choices for chunk in chunks), [chunk for chunk in chunks if not chunk.choices]
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    assert "hello stream" in text and chunks[-1].choices[0].finish_reason, text


def stream_with_usage():
    """The usage comes to who asks for it, in a last chunk without a choice."""
    chunks = list(ask("hello usage", stream=True, stream_options={"include_usage": True}))
    assert not chunks[-1].choices and chunks[-1].usage.completion_tokens > 0, chunks[-1]
    assert all(chunk.usage is None for chunk in chunks[:-1])


def stream_is_at_once():
    """The first piece comes long before the last."""
    times = [time.monotonic() for _ in ask("[simulate: pace 100ms] one two three four five", stream=True)]
    assert times[-1] - times[0] > 0.2, [when - times[0] for when in times]


def conversation_with_a_tool():
    """The answer's own message goes back as it came."""
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    first = ask("[simulate: tool] weather?", tools=[tool])
    call = first.choices[0].message.tool_calls[0]
    assert call.function.name == "weather", call
    answer = client.chat.completions.create(
        model=MODEL, max_completion_tokens=64, tools=[tool],
        messages=[{"role": "user", "content": "weather?"}, first.choices[0].message,
                  {"role": "tool", "tool_call_id": call.id, "content": "sun"}])
    assert answer.choices[0].message.content, answer


def refused(parameters, code):
    before = len(requests)
    try:
        ask("hello", **parameters)
    except openai.APIStatusError as error:
        assert error.status_code in (400, 403, 404), error
        assert error.code == code and error.type == "invalid_request_error", (error.code, error.type)
        assert error.body["message"], error.body
        assert len(requests) - before == 1, len(requests) - before
    else:
        raise AssertionError("no error")


def refused_model():
    """A model that the server does not allow: an error of the provider's own kind, without a retry."""
    refused({"model": "gpt-imaginary"}, "model_not_allowed")


def refused_tier():
    """What would cost more than the operator allows."""
    refused({"service_tier": "priority"}, "service_tier_not_allowed")


def failing_provider():
    """The provider is overloaded: the client sees that kind of error."""
    once = client.with_options(max_retries=0)
    try:
        once.chat.completions.create(
            model=MODEL, messages=[{"role": "user", "content": "[simulate: error 429] hello"}])
    except openai.InternalServerError as error:
        assert error.status_code == 503 and error.code == "upstream_busy", error
    else:
        raise AssertionError("no error")


def operator_trouble():
    """The provider refuses the operator's key: no matter of the user's, and never a 401."""
    once = client.with_options(max_retries=0)
    for trouble in ("error 401", "no credit"):
        try:
            once.chat.completions.create(
                model=MODEL, messages=[{"role": "user", "content": f"[simulate: {trouble}] hello"}])
        except openai.APIStatusError as error:
            assert error.status_code == 503 and error.code == "upstream_failed", error
            assert "quota" not in str(error.body) and "key" not in str(error.body), error.body
        else:
            raise AssertionError("no error")


def broken_stream():
    """An error within a stream, and a stream that breaks off."""
    for trouble in ("error 500 after 2", "drop after 2"):
        try:
            list(ask(f"[simulate: {trouble}] hello", stream=True))
        except Exception as error:
            # A break of the connection has another class in each version.
            assert not isinstance(error, openai.APIStatusError), error
        else:
            raise AssertionError("no error")


def quota():
    """The day's allowance ends: the client is told once, stops at once, and does not sleep."""
    for _ in range(DAILY + 1):
        before, start = len(requests), time.monotonic()
        try:
            ask("hello again")
        except openai.RateLimitError as error:
            waited = time.monotonic() - start
            assert len(requests) - before == 1, f"{len(requests) - before} requests"
            assert waited < 3, f"{waited} s"
            assert error.code == "quota_exceeded" and error.type == "rate_limit_error", error.body
            assert error.response.headers["x-should-retry"] == "false", error.response.headers
            assert int(error.response.headers["retry-after"]) > 0
            assert "ratelimit" in error.response.headers, error.response.headers
            return
    raise AssertionError(f"no quota after {DAILY + 1} more requests")


for case in (message, stream, stream_with_usage, stream_is_at_once, conversation_with_a_tool, refused_model,
             refused_tier, failing_provider, operator_trouble, broken_stream, quota):
    try:
        case()
        print("ok", case.__name__, "", sep="\t", flush=True)
    except Exception:
        print("fail", case.__name__, traceback.format_exc().replace("\n", " ").replace("\t", " ")[-1500:],
              sep="\t", flush=True)
