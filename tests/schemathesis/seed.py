"""Fills a site with rows that calls can be about. Prints as JSON which of them may be lost, and who
can log in."""

import json
import secrets
import subprocess
import sys

binary, site, url = sys.argv[1:4]


def cms(*args, given=None):
    done = subprocess.run(
        [binary, "--dir", site, *args, "--json"],
        input=given, text=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    return json.loads(done.stdout)["data"]


def several(make):
    return [make(number)["id"] for number in range(8)]


password = secrets.token_urlsafe(18)
right = ("--right", "GET /api/pages")
spare = {
    "user_groups": several(lambda n: cms("groups", "create", f"spare {n}")),
    "users": several(
        lambda n: cms(
            "users", "create", f"spare {n}", "--group", "spare 7", "--password-stdin",
            given=password + "\n",
        )
    ),
    "keys": several(lambda n: cms("keys", "create", "--name", f"spare {n}", *right)),
}
# Its receiver refuses, so its jobs wait for another attempt.
receiver = ("--name", "refused", "--url", f"{url}/healthz", "--event", "*")
several(lambda n: cms("webhooks", "create", *receiver))
for number in range(3):
    cms("events", "emit", "order.created", "--data", "-", given=json.dumps({"order": number}))
spare["jobs"] = [job["id"] for job in cms("queue", "list") if job["subscription"] > 2]
cms("origins", "add", "https://spare.example.org")
print(json.dumps({"spare": spare, "user": "spare 0", "password": password}))
