"""Fills a site with rows that calls can be about. Prints as JSON which of them may be lost, and who
can log in."""

import json
import secrets
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

binary, site, url = sys.argv[1:4]


def cms(*args, given=None):
    done = subprocess.run(
        [binary, "--dir", site, *args, "--json"],
        input=given, text=True, check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    return json.loads(done.stdout)["data"]


def post(path, body):
    kind = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url + path, json.dumps(body).encode(), kind)
    with urllib.request.urlopen(asked) as reply:
        return json.load(reply)


def several(make):
    return [make(number)["id"] for number in range(8)]


def user(name):
    return cms(
        "users", "create", name, "--group", "spare 7", "--password-stdin", given=password + "\n"
    )


password = secrets.token_urlsafe(18)
right = ("--right", "GET /api/pages")
spare = {
    "user_groups": several(lambda n: cms("groups", "create", f"spare {n}")),
    "users": several(lambda n: user(f"spare {n}")),
    "keys": several(lambda n: cms("keys", "create", "--name", f"spare {n}", *right)),
}
kept = user("kept")
# Its receiver refuses, so its jobs wait for another attempt. It hears of nothing else: ten failures
# would switch it off, and its jobs with it.
receiver = ("--name", "refused", "--url", f"{url}/healthz", "--event", "order.created")
several(lambda n: cms("webhooks", "create", *receiver))
for number in range(3):
    order = json.dumps({"order": {"id": number}})
    cms("events", "emit", "order.created", "--data", "-", given=order)
spare["jobs"] = [job["id"] for job in cms("queue", "list") if job["subscription"] > 2]
# Nobody listens at its provider, so the mail is given up, and can be tried again.
subprocess.run([binary, "--dir", site, "mail", "test", "spare@example.org", "--quiet"],
               check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
# A funnel of one step that takes a file, and visits of it.
drawing = {
    "name": "Spare", "start_node_id": -1,
    "nodes": [
        {"client_id": -1, "type": "step", "name": "Paper",
         "config_json": {"fields": [{"id": "paper", "type": "file_upload"}]}},
        {"client_id": -2, "type": "end", "name": "Thanks"},
    ],
    "edges": [{"from_node_id": -1, "to_node_id": -2}],
}
spare["funnels"] = several(
    lambda n: cms("funnels", "import", "-", given=json.dumps({**drawing, "slug": f"spare-{n}"}))
)
cms("funnels", "import", "-", given=json.dumps({**drawing, "slug": "visited"}))
for slug in ("spare-7", "visited"):
    cms("funnels", "publish", slug)
# Submissions to delete, two that stay, and a file of one of these.
def visit(slug):
    return post("/api/formfunnel/start", {"funnel_id": slug})["session_uuid"]


for number in range(8):
    visit("spare-7")
spare["submissions"] = [
    row["submission_id"] for row in cms("inbox", "list", "--where", "funnel_name=Spare")
]
visits = [visit("visited") for number in range(2)]
triaged = [
    row["submission_id"] for row in cms("inbox", "list", "--where", "funnel_name=Spare")
    if row["submission_id"] not in spare["submissions"]
]
boundary = "XX"
parts = (("session_uuid", visits[0]), ("field", "paper"))
form = "".join(
    f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
    for name, value in parts
)
form += (
    f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n'
    f"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n\r\n--{boundary}--\r\n"
)
sent = urllib.request.Request(
    url + "/api/formfunnel/upload", form.encode(),
    {"Content-Type": f"multipart/form-data; boundary={boundary}"},
)
with urllib.request.urlopen(sent) as reply:
    spare["files"] = [json.load(reply)["file"]]
# Files to delete, and the path of one that stays.
def upload(number):
    with tempfile.NamedTemporaryFile("w", suffix=".pdf") as file:
        file.write(f"%PDF-1.4 spare {number} %%EOF")
        file.flush()
        return cms("media", "upload", file.name)


spare["paths"] = [upload(8)["path"]]
spare["media"] = several(upload)
# A page with rows to remove, each with a column and a widget; revisions of it; one to copy it to.
pages = json.dumps([
    {"id": number, "language_short": "en", "url_rewrite": f"/spare-{number}", "title": "Spare"}
    for number in (901, 902)
])
cms("items", "create", "pages", "-", given=pages)


def node(number):
    made = cms("widgets", "place", "title", "901", "--data", "-", given='{"title": "Spare"}')
    return {"id": made["id"]}


spare["widgets"] = several(node)
rows = cms("pages", "show", "901")["rows"]
spare["rows"] = [row["id"] for row in rows]
spare["cols"] = [row["cols"][0]["id"] for row in rows]
cms("pages", "publish", "901")
spare["links"] = several(lambda n: cms("pages", "link", "901", "--note", f"spare {n}"))
link = urllib.parse.urlsplit(cms("pages", "link", "901")["url"])
draft = dict(urllib.parse.parse_qsl(link.query))
# The form of the demo.
for number in range(3):
    answers = {"name": f"spare {number}", "mail": "spare@example.org"}
    post("/api/form/submit", {"form": "contact", "answers": answers})
cms("origins", "add", "https://spare.example.org")
print(json.dumps({
    "spare": spare, "user": "kept", "user_id": kept["id"], "password": password,
    "triaged": triaged, "draft": draft,
}))
