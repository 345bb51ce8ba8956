"""What Supabase's own Python client must be able to do with Bramley's functions, and with what they store, without and
with async.

Arguments: the server's base URL, and an attested session token. Prints a line a case: ok or fail, its name, and why,
with tabs between.
"""

import asyncio
import json
import sys
import traceback

from storage3.exceptions import StorageApiError
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


def signed_in():
    client = create_client(BASE, KEY)
    client.auth.sign_in_anonymously()
    return client


def stored():
    client = signed_in()
    answer = client.functions.invoke("creature_portrait", {
        "body": {"name": "Fizzle", "mood": "brave"}, "headers": HEADERS, "responseType": "json"})
    place = answer["objects"][0]
    bucket, path = client.storage.from_(place["bucket"]), place["path"]
    picture = bucket.download(path)
    assert picture.startswith(b"\x89PNG") and len(picture) == place["bytes"], place
    assert bucket.exists(path) and bucket.info(path)["size"] == place["bytes"]
    folder, name = path.split("/")
    assert [entry["name"] for entry in bucket.list()] == [folder], bucket.list()
    listed = bucket.list(folder)
    assert [entry["name"] for entry in listed] == [name], listed
    assert listed[0]["metadata"]["mimetype"] == place["content_type"] == "image/png", listed
    stranger = signed_in().storage.from_(place["bucket"])
    assert not stranger.exists(path) and stranger.list(folder) == [] and stranger.remove([path]) == []
    for other, name in [(stranger, path), (bucket, path + "x")]:
        try:
            other.download(name)
        except StorageApiError as error:
            assert (error.code, str(error.status), error.message) == ("not_found", "404", "Object not found"), error
        else:
            raise AssertionError("an object that is not there was given")
    assert [entry["name"] for entry in bucket.remove([path])] == [path]
    assert not bucket.exists(path) and bucket.list() == []


def stored_for_nobody():
    try:
        invoke("creature_portrait", {"name": "Fizzle", "mood": "brave"})
    except FunctionsHttpError as error:
        assert "JWT" in str(error) or "Bearer" in str(error), error
        return
    raise AssertionError("something was stored for nobody")


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
        await client.auth.sign_in_anonymously()
        answer = await client.functions.invoke("creature_portrait", {
            "body": {"name": "Mo", "mood": "shy"}, "headers": HEADERS, "responseType": "json"})
        place = answer["objects"][0]
        bucket = client.storage.from_(place["bucket"])
        assert len(await bucket.download(place["path"])) == place["bytes"]
        assert len(await bucket.remove([place["path"]])) == 1 and not await bucket.exists(place["path"])

    asyncio.run(run())


for case in [whole, used_up, picture, stored, stored_for_nobody, streamed, refused, unknown, without_proof, with_async]:
    try:
        case()
        print("ok", case.__name__, "", sep="\t", flush=True)
    except Exception as error:
        traceback.print_exc()
        print("fail", case.__name__, f"{type(error).__name__}: {error}".replace("\n", " ").replace("\t", " "),
              sep="\t", flush=True)
