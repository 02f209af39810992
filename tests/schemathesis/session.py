"""Logs an administrator in for the first time and prints the session's token."""

import base64
import hashlib
import hmac
import json
import secrets
import struct
import subprocess
import sys
import time
import urllib.request

binary, site, url = sys.argv[1:4]


def post(path, body):
    request = urllib.request.Request(
        url + path,
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as reply:
        return json.load(reply)["data"]


def code(secret):
    """The one-time code of this moment (RFC 6238: SHA-1, 6 digits, 30 s)."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.new(key, struct.pack(">Q", int(time.time()) // 30), hashlib.sha1).digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFFFFFF
    return f"{number % 1_000_000:06}"


password = secrets.token_urlsafe(18)
subprocess.run(
    [binary, "--dir", site, "init", "-q", "--admin", "ana", "--password-stdin"],
    input=password + "\n",
    text=True,
    check=True,
    stdout=subprocess.DEVNULL,
)
begun = post("/api/backend/auth/login", {"username": "ana", "password": password})
proof = {"pending_token": begun["pending_token"], "code": code(begun["setup"]["secret"])}
print(post("/api/backend/auth/verify", proof)["token"])
