"""Hooks of Schemathesis: keeps the caller's own login alive, knows a password, and asks `decisions`
about refusals of requests that the schema allows."""

import itertools
import json
import os
import re
import urllib.error
import urllib.request
import uuid

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.core.parameters import ParameterLocation
from schemathesis.openapi.checks import (
    AllowHeaderMismatch,
    RejectedPositiveData,
    UnsupportedMethodResponse,
)

import decisions
import proof

with open("openapi.json", encoding="utf-8") as file:
    PATHS = json.load(file)["paths"]
SEED = json.loads(os.environ["CMS_SEED"])
KEY = re.compile(r"[!-~]([\t -~]{0,253}[!-~])?")
URL = os.environ["CMS_SITE_URL"]
# Ids of the caller's own key, user and group.
OWN = json.loads(os.environ["CMS_OWN"])
spare = {resource: itertools.cycle(ids) for resource, ids in SEED["spare"].items()}
second_steps = iter([True])
states = itertools.cycle(["qualified", "contacted"])
# Of a caller with a session.
OWN_PASSWORD = os.environ.get("CMS_OWN_PASSWORD")
# The header that says who calls; empty for visitors.
CALLER = os.environ.get("CMS_CALLER", "")


@schemathesis.hook
def before_call(context, case, kwargs):
    if KEY.fullmatch(str(case.headers.get("Idempotency-Key", ""))):
        # Else every call after the first would be another request with the same key, or a
        # repetition that gets the first reply whatever its other headers are.
        case.headers["Idempotency-Key"] = uuid.uuid4().hex
    spare_own(case)
    triage(case)
    show(case)
    build(case)
    if is_valid(case):
        log_in(case)
        create(case)
        retry_another(case)
        take_back(case)
        if is_valid(case, ParameterLocation.BODY):
            visit(case)


def is_valid(case, part=None):
    """Whether the request, or a part of it, is as the schema wants it."""
    if case.meta is None:
        return True
    parts = case.meta.components
    meta = parts[part] if part in parts else case.meta.generation
    return meta.mode.is_positive


def spare_own(case):
    """A call that would end the caller's login is about a spare row instead."""
    if case.method == "GET":
        return
    found = re.match(r"/api/backend/(keys|users|user_groups)(/|$)", case.path)
    for place in (case.path_parameters, case.query):
        if found and place and is_own(found[1], place.get("id")):
            place["id"] = next(spare[found[1]])
    body = case.body if isinstance(case.body, dict) else {}
    is_funnel = case.path == "/api/backend/formfunnel/delete"
    if is_funnel and str(body.get("id")) in ("1", "company-bicycles"):
        body["id"] = next(spare["funnels"])
    if body.get("table") == "user_groups" and is_own("user_groups", body.get("id")):
        body["id"] = next(spare["user_groups"])


def triage(case):
    """What is deleted in the inbox is a spare submission, and a file is one that is there."""
    action = case.path.removeprefix("/api/backend/formfunnel/")
    if action == "submission_delete" and isinstance(case.body, dict) and is_valid(case):
        case.body["id"] = next(spare["submissions"])
    elif action == "file" and is_valid(case):
        case.query["file"] = next(spare["files"])


def show(case):
    """What is uploaded is a file that is taken, what is deleted a spare one, and a path leads to one."""
    if not is_valid(case):
        return
    if case.path == "/api/backend/media" and case.method == "POST":
        case.body = {"file": f"%PDF-1.4 {uuid.uuid4().hex} %%EOF".encode()}
    elif case.path == "/api/backend/media/{id}" and case.method == "DELETE":
        case.path_parameters["id"] = next(spare["media"])
    elif case.path == "/api/backend/media/{id}" and case.method == "PATCH":
        case.path_parameters["id"], case.body = 1, {"alt": {"en": "Spare"}}
    elif case.path.startswith("/api/backend/item/") and case.method == "DELETE":
        case.path_parameters["id"] = added(case.path.removesuffix("/{id}"))
    elif case.path == "/api/backend/webhooks/queue/{id}":
        case.path_parameters["id"] = SEED["spare"]["jobs"][0]
    elif case.path == "/api/backend/formfunnel/save":
        new = {"name": "Spare", "slug": f"spare-{uuid.uuid4().hex}"}
        made = call("/api/backend/formfunnel/create", new)["data"]
        case.query, case.body = {}, {"id": made["id"], "rev": made["rev"], "funnel": {"name": "A"}}
    elif case.path == "/media/{folder}/{file}":
        _, _, folder, file = next(spare["paths"]).split("/")
        case.path_parameters = {"folder": folder, "file": file}


def build(case):
    """Nodes and pages are those that the seed has made."""
    if case.path == "/api/pages/draft" and is_valid(case):
        case.query.update(SEED["draft"])
    start = "/api/backend/pagebuilder"
    if not case.path.startswith(start) or not is_valid(case):
        return
    action = case.path.removeprefix(start).strip("/")
    if "page_id" in case.query:
        case.query["page_id"] = 901
    if action in ("revision", "diff"):
        case.query.update({name: value for name, value in
                           (("number", 1), ("from", "1"), ("to", "draft")) if name in case.query})
    body = case.body if isinstance(case.body, dict) else {}
    if case.method == "DELETE" and action == "link/{id}":
        case.path_parameters["id"] = next(spare["links"])
    elif case.method == "DELETE":
        case.query["kind"], case.path_parameters["id"] = "widget", next(spare["widgets"])
    elif case.method == "PATCH":
        case.query.pop("item_id", None)
        case.query["widget_id"] = next(spare["widgets"])
        case.body = {"data": {"title": "Spare"}}
    elif action == "move":
        case.body = {"kind": "row", "id": next(spare["rows"]), "position": 0}
    elif action == "copy":
        case.body = {"from_page_id": 901, "page_id": 902, "replace": True}
    elif action == "restore":
        case.body = {"page_id": 901, "revision": 1}
    elif action == "schedule":
        case.body = {"page_id": 901, "publish_at": "2999-12-24T06:00:00Z"}
    elif case.method == "POST" and not action:
        case.body = {"kind": "widget", "parent": {"col_id": next(spare["cols"])}, "widget": "title"}
    elif "page_id" in body:
        body["page_id"] = 901


def is_own(resource, id):
    return str(id) in [str(own) for own in OWN.get(resource, [])]


def log_in(case):
    """The document cannot hold a password or a code that is good at this moment."""
    if case.path == "/api/backend/auth/login":
        case.body = {"username": SEED["user"], "password": SEED["password"]}
    elif case.path == "/api/backend/auth/verify" and next(second_steps, False):
        case.body = proof.first(URL, SEED["user"], SEED["password"])
    elif OWN_PASSWORD and case.path == "/api/backend/auth/password":
        case.body = {"current": OWN_PASSWORD, "new": OWN_PASSWORD}
    elif OWN_PASSWORD and case.path == "/api/backend/auth/recovery-codes":
        case.body = {"password": OWN_PASSWORD}


def create(case):
    """A name is taken once, and only who exists has logins."""
    if case.path == "/api/backend/users" and case.method == "POST":
        case.body = {"username": uuid.uuid4().hex, "groups": ["spare 7"],
                     "password": SEED["password"]}
    elif case.path == "/api/backend/auth/sessions" and case.method == "DELETE":
        # All others: one of its own would end the caller's login.
        case.query.pop("session", None)
    elif case.path == "/api/backend/users/sessions/{id}" and case.method == "DELETE":
        case.path_parameters["id"], case.query = SEED["user_id"], {}


def take_back(case):
    """Only who has changed many can take it back."""
    if case.path == "/api/backend/formfunnel/undo":
        bulk = {"op": "set_status", "ids": SEED["triaged"], "value": next(states)}
        call("/api/backend/formfunnel/submissions_bulk", bulk)


def added(path):
    """A record of the table that nothing refers to; 1 when its plugin has been removed."""
    content = PATHS[path]["post"]["requestBody"]["content"]["application/json"]
    example = {**content["example"], "name": uuid.uuid4().hex}
    try:
        return call(path, example)["data"]["id"]
    except urllib.error.HTTPError:
        return 1


def call(path, body):
    """A call as the caller under test makes it."""
    headers = {"Content-Type": "application/json"}
    if CALLER:
        name, value = CALLER.split(": ", 1)
        headers[name] = value
    asked = urllib.request.Request(URL + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked) as reply:
        return json.load(reply)


def retry_another(case):
    """The example of the operation before gave the first job up."""
    if case.path == "/api/backend/webhooks/queue/retry" and str(case.query.get("id")) == "1":
        case.query["id"] = next(spare["jobs"])


def visit(case):
    """The document cannot know the secret of a visit that is under way."""
    if case.path == "/api/formfunnel/upload":
        file = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n"
        case.body = {"session_uuid": begun(), "field": "paper", "file": file}
    elif case.path == "/api/formfunnel/start":
        case.body["funnel_id"] = "visited"
    elif case.path == "/api/backend/formfunnel/start_test":
        case.body["funnel_id"] = "visited"
    elif case.path in ("/api/formfunnel/step", "/api/formfunnel/resume", "/api/formfunnel/complete"):
        case.body = {"session_uuid": begun()}


def begun():
    return call("/api/formfunnel/start", {"funnel_id": "visited"})["session_uuid"]


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # Of a table, numbers and booleans may be sent as text, and 0 and 1 are booleans.
    if case.path.startswith("/api/backend/item/") and isinstance(failure, AcceptedNegativeData):
        return "Incorrect type" not in failure.message
    # `?id=` names one thing too, so what the document has at `{path}/{id}` answers here as well.
    # A call of too many parameters is refused before its method is looked at.
    if isinstance(failure, (UnsupportedMethodResponse, AllowHeaderMismatch)):
        if "200 parameters are enough" in response.text:
            return False
        return not any(path.startswith(case.path + "/{") for path in PATHS)
    # The beacon of a page that closes is answered alike, whatever it holds. Of an upload the coverage
    # phase once calls a whole form invalid; tests/visits and tests/media try broken ones.
    if isinstance(failure, AcceptedNegativeData):
        forms = ("/api/formfunnel/upload", "/api/backend/media")
        return case.path not in ("/api/formfunnel/abandon", *forms)
    if not isinstance(failure, RejectedPositiveData):
        return True
    return not decisions.allowed(f"{case.method} {case.path}", response.json())
