"""What Supabase's own Python clients must be able to do with Bramley's accounts.

Arguments: `supabase` or `gotrue`, the server's base URL, and an operator's key. Prints a line a case: ok or fail,
its name, and why, with tabs between.
"""

import hashlib
import json
import secrets
import sys
import traceback
import urllib.parse
import urllib.request

PACKAGE, BASE, SECRET = sys.argv[1:4]
AUTH = BASE + "/auth/v1"
KEY = "sb_publishable_test"
APP = "com.example.bramley"

if PACKAGE == "supabase":
    from supabase import create_client
    from supabase_auth.errors import AuthApiError

    def client(key=KEY):
        return create_client(BASE, key).auth
else:
    from gotrue import SyncGoTrueClient
    from gotrue.errors import AuthApiError

    def client(key=KEY):
        return SyncGoTrueClient(url=AUTH, headers={"apikey": key, "Authorization": f"Bearer {key}"})


def post(url, body, headers=None):
    request = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", **(headers or {})})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def sheet(account="ada@example.com"):
    """The sheet of a simulated phone: the raw nonce, and what Apple gives."""
    raw = secrets.token_urlsafe(24)
    answer = post(BASE + "/simulated-apple/simulator/sign-in", {
        "account": account, "client_id": APP, "nonce": hashlib.sha256(raw.encode()).hexdigest(),
        "scopes": ["name", "email"]})
    return raw, answer["identity_token"]


def newcomer():
    """Somebody with a new Apple account."""
    email = f"{secrets.token_hex(6)}@example.com"
    post(BASE + "/simulated-apple/simulator/accounts",
         {"email": email, "first_name": "New", "last_name": "Comer"})
    return email


def with_apple(auth, account="ada@example.com"):
    raw, token = sheet(account)
    return auth.sign_in_with_id_token({"provider": "apple", "token": token, "nonce": raw})


def refused(code, call):
    try:
        call()
    except AuthApiError as error:
        assert error.code == code, (error.code, error.message)
        return
    raise AssertionError(f"{code} was expected")


def anonymous():
    auth = client()
    answer = auth.sign_in_anonymously({"options": {"data": {"theme": "dark"}}})
    assert answer.user.is_anonymous and answer.session.access_token, answer
    assert answer.user.user_metadata == {"theme": "dark"}, answer.user
    assert auth.get_user().user.id == answer.user.id
    assert auth.get_session().access_token == answer.session.access_token


def refresh():
    auth = client()
    first = auth.sign_in_anonymously().session
    second = auth.refresh_session().session
    assert second.refresh_token != first.refresh_token and second.user.id == first.user.id
    again = client().refresh_session(first.refresh_token).session
    assert again.refresh_token == second.refresh_token, "the parent gets the active token again"
    third = auth.refresh_session().session
    refused("refresh_token_already_used", lambda: client().refresh_session(first.refresh_token))
    assert client().refresh_session(third.refresh_token).session


def sign_in_with_apple():
    first = with_apple(client())
    assert first.user.email == "ada@example.com" and not first.user.is_anonymous, first.user
    assert first.user.identities[0].provider == "apple" and first.user.identities[0].identity_data["sub"]
    assert first.user.app_metadata["providers"] == ["apple"], first.user.app_metadata
    assert with_apple(client()).user.id == first.user.id
    raw, token = sheet()
    auth = client()
    try:
        auth.sign_in_with_id_token({"provider": "apple", "token": token, "nonce": "another"})
    except AuthApiError as error:
        assert error.status == 400 and "Nonces mismatch" in error.message, error
    else:
        raise AssertionError("another nonce was taken")


def link_with_id_token():
    """No Python client has it: the request of supabase-js."""
    auth = client()
    session = auth.sign_in_anonymously().session
    raw, token = sheet(newcomer())
    answer = post(AUTH + "/token?grant_type=id_token", {
        "provider": "apple", "id_token": token, "nonce": raw, "link_identity": True,
        "gotrue_meta_security": {}}, {
        "Authorization": f"Bearer {session.access_token}", "apikey": KEY,
        "X-Supabase-Api-Version": "2024-01-01"})
    assert answer["user"]["id"] == session.user.id and len(answer["user"]["identities"]) == 1, answer
    linked = client().set_session(answer["access_token"], answer["refresh_token"])
    assert not linked.user.is_anonymous, linked.user


def user_and_identities():
    auth = client()
    with_apple(auth)
    changed = auth.update_user({"data": {"theme": "light", "nothing": None}})
    assert changed.user.user_metadata["theme"] == "light" and "nothing" not in changed.user.user_metadata
    identities = auth.get_user_identities().identities
    assert len(identities) == 1, identities
    refused("single_identity_not_deletable", lambda: auth.unlink_identity(identities[0]))
    refused("email_provider_disabled", lambda: auth.update_user({"email": "other@example.com"}))


def sign_out():
    for scope in ["local", "global", "others"]:
        auth = client()
        session = auth.sign_in_anonymously().session
        auth.sign_out({"scope": scope})
        if scope == "others":
            assert client().get_user(session.access_token).user
        else:
            refused("session_not_found", lambda: client().get_user(session.access_token))


def disabled():
    auth = client()
    refused("email_provider_disabled", lambda: auth.sign_up({"email": "a@example.com", "password": "secret-1"}))
    refused("email_provider_disabled",
            lambda: auth.sign_in_with_password({"email": "a@example.com", "password": "secret-1"}))
    refused("email_provider_disabled", lambda: auth.sign_in_with_otp({"email": "a@example.com"}))
    refused("email_provider_disabled", lambda: auth.reset_password_email("a@example.com"))


def tokens_by_the_key_set():
    import jwt

    auth = client()
    session = auth.sign_in_anonymously().session
    keys = jwt.PyJWKClient(AUTH + "/.well-known/jwks.json")
    claims = jwt.decode(
        session.access_token, keys.get_signing_key_from_jwt(session.access_token).key, algorithms=["ES256"],
        audience="authenticated", issuer=AUTH, options={"require": ["exp", "iat", "sub", "iss", "aud"]})
    assert claims["sub"] == session.user.id and claims["is_anonymous"] is True, claims
    assert claims["amr"][0]["method"] == "anonymous" and claims["auth_time"] and claims["session_id"], claims
    if hasattr(auth, "get_claims"):
        found = auth.get_claims()
        assert found["claims"]["sub"] == session.user.id, found


class Stop(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def browser():
    """Where the browser ends: from our page to Apple's, the consent there, its form post, and back."""
    jar = urllib.request.HTTPCookieProcessor()
    opener = urllib.request.build_opener(Stop, jar)

    def go(url, form=None):
        data = urllib.parse.urlencode(form).encode() if form is not None else None
        try:
            with opener.open(url, data, timeout=20) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as answer:
            return answer.code, answer.headers, answer.read().decode()

    def consent(url):
        from html.parser import HTMLParser

        class Form(HTMLParser):
            action, fields = None, {}

            def handle_starttag(self, tag, attributes):
                attributes = dict(attributes)
                if tag == "form" and self.action is None:
                    self.action = attributes["action"]
                if tag == "input" and attributes.get("name") and attributes.get("type") == "hidden":
                    self.fields[attributes["name"]] = attributes.get("value", "")

        def read(text):
            form = Form()
            form.fields = {}
            form.feed(text)
            return form

        status, headers, page = go(url)
        while status in (302, 303):
            url = urllib.parse.urljoin(url, headers["Location"])
            if not url.startswith(BASE):
                return url
            status, headers, page = go(url)
        form = read(page)
        status, headers, page = go(urllib.parse.urljoin(url, form.action), {
            **form.fields, "account": "ada@example.com", "decision": "continue"})
        form = read(page)
        status, headers, page = go(form.action, form.fields)
        while status in (302, 303):
            url = urllib.parse.urljoin(form.action, headers["Location"])
            if not url.startswith(BASE):
                return url
            status, headers, page = go(url)
        raise AssertionError((status, page))

    return consent


def in_a_browser():
    # The flow is PKCE: the implicit one is off.
    if PACKAGE == "supabase":
        from supabase import create_client
        from supabase.lib.client_options import SyncClientOptions
        auth = create_client(BASE, KEY, options=SyncClientOptions(flow_type="pkce")).auth
    else:
        auth = SyncGoTrueClient(
            url=AUTH, headers={"apikey": KEY, "Authorization": f"Bearer {KEY}"}, flow_type="pkce")
    started = auth.sign_in_with_oauth({
        "provider": "apple", "options": {"redirect_to": "http://localhost:3999/signed-in"}})
    end = browser()(started.url)
    query = urllib.parse.parse_qs(urllib.parse.urlparse(end).query)
    assert end.startswith("http://localhost:3999/signed-in?") and "code" in query, end
    session = auth.exchange_code_for_session({"auth_code": query["code"][0]}).session
    assert session.user.email == "ada@example.com", session.user


def operators():
    admin = client(SECRET).admin
    session = client().sign_in_anonymously().session
    assert any(user.id == session.user.id for user in admin.list_users()), "the newest is on the first page"
    assert len(admin.list_users(page=1, per_page=1)) == 1
    assert admin.get_user_by_id(session.user.id).user.id == session.user.id
    changed = admin.update_user_by_id(
        session.user.id, {"app_metadata": {"plan": "pro"}, "ban_duration": "1h"})
    assert changed.user.app_metadata["plan"] == "pro", changed.user
    refused("user_banned", lambda: client().refresh_session(session.refresh_token))
    admin.delete_user(session.user.id)
    refused("user_not_found", lambda: admin.get_user_by_id(session.user.id))
    email = f"{secrets.token_hex(6)}@example.com"
    made = admin.create_user({"email": email, "email_confirm": True}).user
    assert made.email == email and made.email_confirmed_at, made
    refused("email_exists", lambda: admin.create_user({"email": email}))
    refused("not_admin", lambda: client().admin.list_users())


def account_deleted():
    """No client has it: one request, after which the client finds itself signed out."""
    email = newcomer()
    auth = client()
    session = with_apple(auth, email).session
    operation = secrets.token_hex(16)
    headers = {"Authorization": f"Bearer {session.access_token}", "Content-Type": "application/json"}
    for _ in range(2):
        request = urllib.request.Request(
            AUTH + "/user", json.dumps({"operation_id": operation}).encode(), headers, method="DELETE")
        with urllib.request.urlopen(request, timeout=20) as answer:
            assert json.load(answer)["state"] == "deleted"
    with urllib.request.urlopen(f"{AUTH}/deletions/{operation}", timeout=20) as answer:
        assert json.load(answer) == {"state": "deleted"}
    refused("session_not_found", lambda: auth.get_user(session.access_token))
    refused("refresh_token_not_found", lambda: client().refresh_session(session.refresh_token))
    assert with_apple(client(), email).user.id != session.user.id


CASES = [
    anonymous, refresh, sign_in_with_apple, link_with_id_token, user_and_identities, sign_out, disabled,
    tokens_by_the_key_set, in_a_browser, account_deleted, operators,
]

for case in CASES:
    name = case.__name__.replace("_", " ")
    try:
        case()
        print(f"ok\t{name}\t")
    except BaseException as error:
        traceback.print_exc()
        print(f"fail\t{name}\t{type(error).__name__}: {str(error)[:400]}".replace("\n", " "))
