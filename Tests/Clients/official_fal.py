"""What the official fal-client package must be able to do through Bramley.

Arguments: the base URL of fal's routes, and the requests that the server allows a day. Prints a line a case: ok or
fail, its name, and why, with tabs between.
"""

import asyncio
import os
import subprocess
import sys
import traceback

import fal_client
import fal_client.client as inner

BASE, DAILY = sys.argv[1], int(sys.argv[2])
MODEL = "fal-ai/flux/schnell"

# By the environment the client takes a host, and always https; a server on this machine speaks http.
inner.RUN_URL_FORMAT = f"{BASE}/run/"
inner.QUEUE_URL_FORMAT = f"{BASE}/queue/"


def error_of(call):
    try:
        call()
    except fal_client.client.FalClientError as error:
        return error
    except Exception as error:  # the older version has no class of its own for every error
        return error
    raise AssertionError("no error")


def status_of(error):
    return getattr(error, "status_code", None) or error.response.status_code


def environment():
    """A host with a path is taken from the environment, and the URLs are ours."""
    told = subprocess.run(
        [sys.executable, "-c", "import fal_client.client as c; print(c.RUN_URL_FORMAT, c.QUEUE_URL_FORMAT)"],
        env={**os.environ, "FAL_RUN_HOST": "api.example.com/ai/fal/run",
             "FAL_QUEUE_RUN_HOST": "api.example.com/ai/fal/queue"}, capture_output=True, text=True, check=True)
    run, queue = told.stdout.split()
    assert run == "https://api.example.com/ai/fal/run/", run
    if hasattr(fal_client.auth, "FAL_QUEUE_RUN_HOST"):
        assert queue == "https://api.example.com/ai/fal/queue/", queue


def run():
    result = fal_client.run(MODEL, arguments={"prompt": "a cat"})
    assert result["images"][0]["url"].startswith("https://v3.fal.media/"), result


def run_async():
    result = asyncio.run(fal_client.run_async(MODEL, arguments={"prompt": "a cat", "image_size": "square"}))
    assert result["images"][0]["width"] == 512, result


def queue():
    """By its id, as a process does that was not there when the call was submitted."""
    handle = fal_client.submit(MODEL, arguments={"prompt": "a cat"})
    assert handle.status_url.endswith(f"/ai/fal/queue/fal-ai/flux/requests/{handle.request_id}/status"), handle
    states = []
    while not states or not isinstance(states[-1], fal_client.Completed):
        states.append(fal_client.status(MODEL, handle.request_id, with_logs=True))
        assert len(states) < 30, states
    result = fal_client.result(MODEL, handle.request_id)
    assert result["images"][0]["url"].startswith("https://v3.fal.media/"), result


def subscribe():
    """By the URLs of the receipt; those are the server's, so that a proxy in between is left out."""
    if not fal_client.submit(MODEL, arguments={"prompt": "a cat"}).status_url.startswith(BASE):
        return
    seen = []
    result = fal_client.subscribe(
        MODEL, arguments={"prompt": "a cat"}, with_logs=True, on_queue_update=seen.append)
    assert result["images"], result
    assert isinstance(seen[-1], fal_client.Completed), seen


def cancel():
    handle = fal_client.submit(MODEL, arguments={"prompt": "[simulate: wait 500]"})
    fal_client.cancel(MODEL, handle.request_id)
    error = error_of(lambda: fal_client.cancel(MODEL, handle.request_id))
    assert status_of(error) == 400, error


def refused_model():
    error = error_of(lambda: fal_client.run("fal-ai/imaginary", arguments={"prompt": "a"}))
    assert status_of(error) == 404, error


def refused_input():
    error = error_of(
        lambda: fal_client.run(MODEL, arguments={"prompt": "a", "image_url": "https://example.com/x.png"}))
    assert status_of(error) == 400 and "image_url" in str(error), error


def refused_webhook():
    error = error_of(
        lambda: fal_client.submit(MODEL, arguments={"prompt": "a"}, webhook_url="https://example.com"))
    assert status_of(error) == 400 and "webhook" in str(error), error


def failing_provider():
    error = error_of(lambda: fal_client.run(MODEL, arguments={"prompt": "[simulate: error 500]"}))
    assert status_of(error) == 502, error


def failing_model():
    error = error_of(lambda: fal_client.run(MODEL, arguments={"prompt": "[simulate: error 422]"}))
    assert status_of(error) == 422 and "content checker" in str(error), error


def someone_elses():
    error = error_of(lambda: fal_client.status(MODEL, "00000000-0000-4000-8000-000000000000"))
    assert status_of(error) == 404, error


def daily_quota():
    """A used-up day is an error that says so. The client would try it again ten times over a minute."""
    attempts, inner.MAX_ATTEMPTS = inner.MAX_ATTEMPTS, 1
    try:
        for _ in range(DAILY + 1):
            try:
                fal_client.run(MODEL, arguments={"prompt": "a cat"})
            except Exception as error:
                assert status_of(error) == 429 and str(error), error
                return
        raise AssertionError("no quota")
    finally:
        inner.MAX_ATTEMPTS = attempts


CASES = [environment, run, run_async, queue, subscribe, cancel, refused_model, refused_input, refused_webhook,
         failing_provider, failing_model, someone_elses, daily_quota]

failures = 0
for case in CASES:
    try:
        case()
        print("ok", case.__name__.replace("_", " "), "", sep="\t", flush=True)
    except BaseException as error:
        failures += 1
        where = traceback.extract_tb(error.__traceback__)[-1]
        why = f"{type(error).__name__}: {error} ({os.path.basename(where.filename)}:{where.lineno})"
        print("fail", case.__name__.replace("_", " "), " ".join(why.split()), sep="\t", flush=True)
sys.exit(1 if failures else 0)
