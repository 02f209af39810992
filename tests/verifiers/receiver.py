"""A receiver of webhooks that trusts nobody: every delivery is verified by packages and a program that are not ours.

Usage: VERIFIERS_KEY=<API key> receiver.py <URL of the service>. Ends with 1 and the reason when anything is not as it should be.
"""

import json
import os
import queue
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import standardwebhooks
import svix.webhooks

SERVICE, KEY = sys.argv[1], os.environ["VERIFIERS_KEY"]
arrived = queue.Queue()


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        arrived.put(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


def call(target, body):
    request = urllib.request.Request(
        f"{SERVICE}/api/backend/{target}",
        data=json.dumps(body).encode(),
        headers={"x-api-key": KEY, "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=15) as reply:
        return json.load(reply)["data"]


def package(webhook, refusal):
    def verify(secret, headers, body):
        try:
            webhook(secret).verify(body, headers)
        except refusal:
            return False
        return True

    return verify


def openssl(secret, headers, body):
    # The secret is seen in the list of processes: it belongs to this run alone.
    run = subprocess.run(["openssl", "dgst", "-sha256", "-hmac", secret], input=body, capture_output=True, check=True)
    return run.stdout.decode().split()[-1] == headers["x-webhook-signature"]


STANDARD = {
    "standardwebhooks": package(standardwebhooks.Webhook, standardwebhooks.WebhookVerificationError),
    "svix": package(svix.webhooks.Webhook, svix.webhooks.WebhookVerificationError),
}
ALL = {**STANDARD, "openssl": openssl}
checks = 0


def expect(what, verifiers, secret, delivery, fits=True):
    global checks
    for name, verify in verifiers.items():
        checks += 1
        if verify(secret, *delivery) != fits:
            sys.exit(f"{name}: {what}: {'refused' if fits else 'accepted'}, which is wrong\n{delivery}")


def verified(what, secret):
    """The next delivery, which everybody must accept, and nobody once a byte of it is another."""
    delivery = headers, body = arrived.get(timeout=15)
    expect(what, ALL, secret, delivery)
    tampered = body.replace(b'"id"', b'"iD"', 1)
    if tampered == body:
        sys.exit("nothing was tampered with")
    expect(f"{what}, tampered", ALL, secret, (headers, tampered), fits=False)
    print(f"{what}: {headers['x-webhook-event']}, {len(body)} bytes")
    return delivery


def item(name, value):
    call("item?table=settings", {"name": name, "value": value})


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook"
    made = call("webhooks", {"name": "verifiers", "url": url, "events": ["item.settings.created"]})
    first, rotate = made["secret"], f"webhooks/rotate-secret?id={made['id']}"

    for number, value in enumerate([1, {}, [], "", "Grüße, 世界 \U0001f389 \u2028\\u0000 \"quoted\"", "x" * 100_000]):
        item(f"value {number}", value)
        verified(f"value {number}", first)
    call(f"webhooks/ping?id={made['id']}", {})
    verified("ping", first)

    second = call(rotate, {"grace_s": 60})["secret"]
    item("grace", {"ä": []})
    delivery = verified("after a rotation with grace, the old secret", first)
    expect("after a rotation with grace, the new secret", STANDARD, second, delivery)
    expect("X-Webhook-Signature has one secret, the old one", {"openssl": openssl}, second, delivery, fits=False)

    third = call(rotate, {"grace_s": 0})["secret"]
    item("no grace", 0)
    delivery = verified("after a rotation without grace", third)
    for old in first, second:
        expect("a secret that is no longer one", ALL, old, delivery, fits=False)
    print(f"{checks} checks by {', '.join(ALL)}: all as they should be")


main()
