"""What PyPI's standardwebhooks must make of Bramley's events and hooks.

Arguments: the port that `bramley dev` was told to send to, the server's base URL, and the secret that it printed.
Prints a line a case: ok or fail, its name, and why, with tabs between.
"""

import base64
import http.server
import json
import queue
import sys
import threading
import traceback
import urllib.error
import urllib.request

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

PORT, BASE, SECRET = int(sys.argv[1]), sys.argv[2], sys.argv[3]
came = queue.Queue()
down = threading.Event()


class Backend(http.server.BaseHTTPRequestHandler):
    """The app's backend: takes events, refuses users called Mallory, and adds a claim."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            asked = Webhook(SECRET).verify(body, headers)
        except WebhookVerificationError as error:
            came.put(("refused", str(error), headers))
            return self.answer(401, {})
        if self.path == "/events":
            failing = down.is_set()
            came.put(("failed" if failing else "event", asked, headers, body))
            return self.answer(500 if failing else 204, None)
        if self.path == "/hooks/before_user_created":
            if asked["user"]["user_metadata"].get("name") == "Mallory":
                return self.answer(200, {"error": {"http_code": 403, "message": "Not you"}})
            return self.answer(200, {})
        claims = {**asked["claims"], "plan": "pro", "role": "service_role"}
        return self.answer(200, {"claims": claims})

    def answer(self, status, body):
        octets = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        if octets:
            self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(octets)))
        self.end_headers()
        self.wfile.write(octets)

    def log_message(self, *_):
        pass


def sign_up(data):
    request = urllib.request.Request(
        BASE + "/auth/v1/signup", json.dumps({"data": data}).encode(),
        {"Content-Type": "application/json", "X-Supabase-Api-Version": "2024-01-01"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def event():
    kind, *rest = came.get(timeout=30)
    assert kind == "event", rest
    return rest


def verified():
    _, session = sign_up({"name": "Ada"})
    body, headers, octets = event()
    assert body["type"] == "user.created" and body["data"]["user_id"] == session["user"]["id"], body
    assert session["access_token"] not in octets.decode()
    wrong = bytearray(octets)
    wrong[-3] ^= 1
    for body, changed in [
        (bytes(wrong), headers), (octets, {**headers, "webhook-id": "evt_other"}),
        (octets, {**headers, "webhook-timestamp": str(int(headers["webhook-timestamp"]) + 1)}),
    ]:
        try:
            Webhook(SECRET).verify(body, changed)
        except WebhookVerificationError:
            continue
        raise AssertionError("a changed event verifies")


def claimed():
    _, session = sign_up({"name": "Grace"})
    event()
    told = claims(session["access_token"])
    assert told["plan"] == "pro" and told["role"] == "authenticated", told


def vetoed():
    status, answer = sign_up({"name": "Mallory"})
    assert status == 403 and answer == {"code": "hook_refused", "message": "Not you"}, (status, answer)
    assert came.empty()


def repeated():
    down.set()
    sign_up({"name": "Ada"})
    kind, _, first, _ = came.get(timeout=30)
    assert kind == "failed"
    down.clear()
    _, second, _ = event()
    assert first["webhook-id"] == second["webhook-id"]
    assert first["webhook-timestamp"] != second["webhook-timestamp"]


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Backend)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    failed = False
    for name, case in [
        ("an event verifies, and none that was changed", verified),
        ("a hook adds a claim, and changes no role", claimed),
        ("a hook's veto reaches the client, and nobody is made", vetoed),
        ("an event that was not taken comes again, with its id", repeated),
    ]:
        try:
            case()
            print(f"ok\t{name}\t", flush=True)
        except Exception:
            failed = True
            print(f"fail\t{name}\t{traceback.format_exc().splitlines()[-1]}", flush=True)
    server.shutdown()
    return failed


if __name__ == "__main__":
    sys.exit(main())
