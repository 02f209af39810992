"""The two steps of a login, as a program does them."""

import base64
import hashlib
import hmac
import json
import struct
import time
import urllib.request


def post(url, path, body):
    request = urllib.request.Request(
        url + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["data"]


def first(url, username, password):
    """The body of the second step of a user's first login."""
    begun = post(url, "/api/backend/auth/login", {"username": username, "password": password})
    return {"pending_token": begun["pending_token"], "code": code(begun["setup"]["secret"])}


def code(secret):
    """The one-time code of this moment (RFC 6238: SHA-1, 6 digits, 30 s)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"
