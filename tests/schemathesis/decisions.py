"""What a request may break although its schema allows it: rules that JSON Schema cannot say. Only
the check `positive_data_acceptance` looks here, and only refusals with these words pass."""

import re

# Operation, stable code, what the reply says, why the schema cannot say it.
ALLOWED = [
    (
        r"", "bad_query|validation_failed", r"U\+0000",
        "no text holds U+0000: a pattern on every text would say so only noisily",
    ),
    (
        r"", "validation_failed", r"floating point|a group is named",
        "JSON Schema calls 1.0 an integer, the service a number",
    ),
    (r"GET|POST", "bad_query", r"cursor", "cursors are opaque: only `meta.next` gives one"),
    (
        r"\w+ /api/backend/item", "bad_query|database_error|validation_failed|unknown_table|bad_json",
        r"", "columns, values and keys are those of the table that the query names",
    ),
    (
        r"POST /api/backend/actions/checklist",
        "bad_query|database_error|validation_failed|unknown_table", r"",
        "table and column must exist, and the body must name the table that the query names",
    ),
    (
        r"POST /api/backend/actions/script", "bad_query", r"different buttons",
        "the body must name the button that the query names",
    ),
    (
        r"GET /api/backend/tasks/history", "bad_query", r"plugin goes with name",
        "a plugin alone selects no task",
    ),
    (
        r"\w+ /api/backend/keys$", "validation_failed", r"rights",
        "endpoints and methods of rights are those of the site",
    ),
    (
        r"\w+ /api/backend/users$", "validation_failed", r"groups|password",
        "groups must exist, and a password must not contain the name",
    ),
    (r"GET /api/backend/keys/check", "bad_query", r"path", "paths have one spelling"),
    (
        r"\w+ /api/backend/origins", "validation_failed", r"origin",
        "hosts and ports have rules beyond a regular expression",
    ),
    (
        r"\w+ /api/backend/webhooks$", "validation_failed", r"url|custom_headers|events",
        "addresses are judged, header names reserved",
    ),
    (
        r"\w+ /api/backend/webhooks(/emit|/explain)?$", "unknown_event", r"",
        "events are those of the site",
    ),
    (r"POST /api/backend/webhooks/emit", "validation_failed", r"", "some events are the service's own"),
    (
        r"GET /api/backend/(webhooks/messages|events/stream)", "bad_query", r"event",
        "a name of events, or the beginning of names",
    ),
    (r"\w+ /api/backend/cache", ".*", r"200 bytes", "JSON Schema counts characters, not bytes"),
    (r"\w+ /api/backend/limits", "bad_query", r"owner", "the address of an owner must be one"),
    (r"GET /api/backend/users", "bad_query", r"", "either id or username"),
]


def allowed(operation, problem):
    errors = [f'{error["field"]} {error["message"]}' for error in problem.get("errors", [])]
    text = " ".join([problem.get("detail", ""), *errors])
    return any(
        re.match(line, operation) and re.fullmatch(code, problem.get("error", ""))
        and re.search(words, text)
        for line, code, words, _ in ALLOWED
    )
