"""What Supabase's own Python client must be able to do with Bramley's functions, without and with async.

Arguments: the server's base URL, and an attested session token. Prints a line a case: ok or fail, its name, and why,
with tabs between.
"""

import asyncio
import json
import sys
import traceback

from supabase import acreate_client, create_client
from supabase_functions.errors import FunctionsHttpError, FunctionsRelayError

BASE, TOKEN = sys.argv[1:3]
KEY = "sb_publishable_test"
HEADERS = {"x-attest-session": TOKEN}
NAME = {"mood": "shy", "home": "a teapot"}


def invoke(name, body, **options):
    return create_client(BASE, KEY).functions.invoke(
        name, {"body": body, "headers": HEADERS, "responseType": "json", **options})


def whole():
    answer = invoke("creature_name", NAME)
    assert isinstance(answer, dict) and answer["text"] and answer["stop"] in ("end", "limit"), answer


def used_up():
    """One name a day."""
    try:
        invoke("creature_name", NAME)
    except FunctionsHttpError as error:
        assert "quota" in str(error), error
        return
    raise AssertionError("a second name was given")


def picture():
    answer = invoke("creature_picture", {"name": "Fizzle", "mood": "brave"})
    assert answer["images"][0]["url"].startswith("https://"), answer


def streamed():
    answer = create_client(BASE, KEY).functions.invoke("calories", {"body": {"meal": "soup"}, "headers": HEADERS})
    events = [part.split("\n") for part in answer.decode().strip().split("\n\n")]
    assert all(event[0] == "event: text" for event in events[:-1]) and len(events) > 1, events
    assert events[-1][0] == "event: done", events[-1]
    assert json.loads(events[-1][1].removeprefix("data: "))["result"]["kcal"] > 0, events[-1]


def refused():
    for body, word in [({"meal": "soup", "prompt": "x"}, "prompt"), ({}, "meal"), ({"meal": 7}, "meal")]:
        try:
            invoke("calories", body)
        except FunctionsHttpError as error:
            assert word in str(error), error
        else:
            raise AssertionError(f"{body} was taken")


def unknown():
    try:
        invoke("nothing", {})
    except FunctionsHttpError as error:
        assert "no such route" in str(error), error
        return
    raise AssertionError("a function that is not there answered")


def without_proof():
    try:
        create_client(BASE, KEY).functions.invoke("calories", {"body": {"meal": "soup"}})
    except FunctionsHttpError as error:
        assert "evidence" in str(error), error
        return
    raise AssertionError("no proof was asked for")


def with_async():
    async def run():
        client = await acreate_client(BASE, KEY)
        answer = await client.functions.invoke("calories", {"body": {"meal": "tea"}, "headers": HEADERS})
        assert b"event: done" in answer, answer
        try:
            await client.functions.invoke("calories", {"body": {"tea": 1}, "headers": HEADERS})
        except FunctionsHttpError as error:
            assert "tea" in str(error), error
        else:
            raise AssertionError("an unknown field was taken")

    asyncio.run(run())


for case in [whole, used_up, picture, streamed, refused, unknown, without_proof, with_async]:
    try:
        case()
        print("ok", case.__name__, "", sep="\t", flush=True)
    except Exception as error:
        traceback.print_exc()
        print("fail", case.__name__, f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " "),
              sep="\t", flush=True)
