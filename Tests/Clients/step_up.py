"""Runs the Python of docs/step-up.md, as it stands there, against Bramley's accounts.

Arguments: the page, and the server's base URL. Prints a line a case: ok or fail, its name, and why, with tabs between.
"""

import hashlib
import json
import re
import secrets
import sys
import time
import traceback
import urllib.error
import urllib.request

import jwt

PAGE, BASE = sys.argv[1:3]
AUTH = BASE + "/auth/v1"
APP = "com.example.bramley"

with open(PAGE, encoding="utf-8") as file:
    CODE = re.search(r"```python\n(.*?)```", file.read(), re.S).group(1)
PLACE = {}
exec(compile(CODE, PAGE, "exec"), PLACE)  # noqa: S102: it is our own page
Verifier, StepUpRequired = PLACE["Verifier"], PLACE["StepUpRequired"]


def post(url, body, token=None):
    fields = {"Content-Type": "application/json"}
    if token:
        fields["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, json.dumps(body).encode(), fields)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def sheet(nonce):
    return post(BASE + "/simulated-apple/simulator/sign-in", {
        "account": "ada@example.com", "client_id": APP, "nonce": nonce})["identity_token"]


def with_apple(more=None, token=None, raw=None):
    raw = raw or secrets.token_urlsafe(24)
    identity = sheet(hashlib.sha256(raw.encode()).hexdigest())
    return post(AUTH + "/token?grant_type=id_token",
                {"provider": "apple", "id_token": identity, "nonce": raw, **(more or {})}, token)


def refused(kind, call):
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def recent():
    session = with_apple()
    claims = Verifier(BASE).user(session["access_token"], max_age=300)
    assert claims["sub"] == session["user"]["id"], claims
    assert abs(time.time() - claims["auth_time"]) < 60 and claims["acr"] == "1", claims


def stale_and_renewed():
    session = with_apple()
    verifier = Verifier(BASE)
    time.sleep(2.1)
    error = refused(StepUpRequired, lambda: verifier.user(session["access_token"], max_age=1))
    assert error.headers["WWW-Authenticate"] == (
        'Bearer error="insufficient_user_authentication", max_age="1"'), error.headers
    assert verifier.user(session["access_token"])["sub"] == session["user"]["id"]
    # A refresh renews nothing.
    refreshed = post(AUTH + "/token?grant_type=refresh_token", {"refresh_token": session["refresh_token"]})
    refused(StepUpRequired, lambda: verifier.user(refreshed["access_token"], max_age=1))
    challenge = post(AUTH + "/apple/challenge", {"purpose": "reauthenticate"}, refreshed["access_token"])
    renewed = with_apple({"reauthenticate": True}, refreshed["access_token"], raw=challenge["challenge"])
    claims = verifier.user(renewed["access_token"], max_age=5)
    assert claims["session_id"] == verifier.user(session["access_token"])["session_id"], claims


def anonymous():
    session = post(AUTH + "/signup", {})
    claims = Verifier(BASE).user(session["access_token"])
    assert claims["acr"] == "0" and claims["is_anonymous"] is True, claims


def forged():
    verifier = Verifier(BASE)
    token = with_apple()["access_token"]
    head, claims, signature = token.split(".")
    other = ("A" if signature[0] != "A" else "B") + signature[1:]
    refused(jwt.InvalidTokenError, lambda: verifier.user(f"{head}.{claims}.{other}"))
    unsigned = jwt.encode(jwt.decode(token, options={"verify_signature": False}), None, algorithm="none",
                          headers={"kid": jwt.get_unverified_header(token)["kid"]})
    refused(jwt.InvalidTokenError, lambda: verifier.user(unsigned))
    elsewhere = Verifier(BASE)
    elsewhere.issuer = "https://other.example.com/auth/v1"
    refused(jwt.InvalidIssuerError, lambda: elsewhere.user(token))


CASES = [
    ("a recent sign-in is taken", recent),
    ("an old one is not, whatever was refreshed, until the user signs in again", stale_and_renewed),
    ("who is anonymous is told apart", anonymous),
    ("no other token is taken", forged),
]

for name, case in CASES:
    try:
        case()
        print(f"ok\t{name}\t", flush=True)
    except urllib.error.HTTPError as error:
        print(f"fail\t{name}\t{error.code} {error.read().decode(errors='replace')[:300]!r}", flush=True)
    except Exception:
        print(f"fail\t{name}\t{traceback.format_exc()[-600:]!r}", flush=True)
