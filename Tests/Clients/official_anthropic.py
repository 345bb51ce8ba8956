"""What the official anthropic package must be able to do through Bramley.

Arguments: the base URL, and the requests that the server allows a day. Prints a line a case: ok or fail, its
name, and why, with tabs between.
"""

import sys
import time
import traceback

import anthropic

BASE, DAILY = sys.argv[1], int(sys.argv[2])
MODEL = "claude-haiku-4-5"

client = anthropic.Anthropic(base_url=BASE)  # retries as by default: twice
requests = []
client._client.event_hooks = {"request": [lambda request: requests.append(request)], "response": []}


def ask(text, **more):
    return client.messages.create(
        model=MODEL, max_tokens=64, messages=[{"role": "user", "content": text}], **more)


def message():
    answer = ask("hello")
    assert answer.type == "message" and answer.role == "assistant", answer
    assert answer.content[0].text, answer
    assert answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0, answer.usage


def stream():
    pieces = []
    with client.messages.stream(
            model=MODEL, max_tokens=64, messages=[{"role": "user", "content": "hello stream"}]) as events:
        for piece in events.text_stream:
            pieces.append(piece)
        final = events.get_final_message()
    assert len(pieces) > 1, pieces
    assert "".join(pieces) == final.content[0].text
    assert final.usage.output_tokens > 1, final.usage


def stream_is_at_once():
    """The first piece comes long before the last."""
    times = []
    with client.messages.stream(
            model=MODEL, max_tokens=64,
            messages=[{"role": "user", "content": "[simulate: pace 100ms] one two three four five"}]) as events:
        for _ in events.text_stream:
            times.append(time.monotonic())
    assert times[-1] - times[0] > 0.2, [when - times[0] for when in times]


def count_tokens():
    count = client.messages.count_tokens(model=MODEL, messages=[{"role": "user", "content": "hello"}])
    assert count.input_tokens > 0, count


def refused_model():
    """A model that the server does not allow: an error of the provider's own kind, without a retry."""
    before = len(requests)
    try:
        client.messages.create(
            model="claude-imaginary", max_tokens=8, messages=[{"role": "user", "content": "hello"}])
    except anthropic.APIStatusError as error:
        assert error.status_code in (400, 403, 404), error
        assert error.body["type"] == "error" and error.body["error"]["message"], error.body
        assert len(requests) - before == 1, len(requests) - before
    else:
        raise AssertionError("no error")


def failing_provider():
    """The provider is overloaded: the client sees that kind of error."""
    once = client.with_options(max_retries=0)
    try:
        once.messages.create(
            model=MODEL, max_tokens=8, messages=[{"role": "user", "content": "[simulate: error 529] hello"}])
    except anthropic.APIStatusError as error:
        assert error.status_code in (503, 529), error
        assert error.body["type"] == "error", error.body
    else:
        raise AssertionError("no error")


def operator_trouble():
    """The provider refuses the operator's key: no matter of the user's, and never a 401."""
    once = client.with_options(max_retries=0)
    try:
        once.messages.create(
            model=MODEL, max_tokens=8, messages=[{"role": "user", "content": "[simulate: error 401] hello"}])
    except anthropic.APIStatusError as error:
        assert error.status_code == 503, error
        assert "x-api-key" not in str(error.body), error.body
    else:
        raise AssertionError("no error")


def quota():
    """The day's allowance ends: the client is told once, stops at once, and does not sleep."""
    for _ in range(DAILY + 1):
        before, start = len(requests), time.monotonic()
        try:
            ask("hello again")
        except anthropic.RateLimitError as error:
            waited = time.monotonic() - start
            assert len(requests) - before == 1, f"{len(requests) - before} requests"
            assert waited < 3, f"{waited} s"
            assert error.response.headers["x-should-retry"] == "false", error.response.headers
            assert int(error.response.headers["retry-after"]) > 0
            assert "ratelimit" in error.response.headers, error.response.headers
            assert error.body["type"] == "error", error.body
            return
    raise AssertionError(f"no quota after {DAILY + 1} more requests")


for case in (message, stream, stream_is_at_once, count_tokens, refused_model, failing_provider,
             operator_trouble, quota):
    try:
        case()
        print("ok", case.__name__, "", sep="\t", flush=True)
    except Exception:
        print("fail", case.__name__, traceback.format_exc().replace("\n", " ").replace("\t", " ")[-1500:],
              sep="\t", flush=True)
