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
        r"", "validation_failed", r"is the number -?[\d.e+]+; a whole number|is named by its id",
        "JSON Schema calls 1.0 an integer, the service a number",
    ),
    (
        r"POST /api/form/submit", "validation_failed", r"",
        "answers are those of the form that the body names",
    ),
    (
        r"", "validation_failed", r"more digits than a number keeps",
        "JSON Schema has no bound on the digits of a number",
    ),
    (
        r"POST /api/backend/formfunnel/", "validation_failed", r"the query names another",
        "the body must name the funnel that the query names",
    ),
    (
        r"\w+ /api/backend/formfunnel", "bad_query", r"name different funnels",
        "id and funnel_id are two names of one funnel, so they must agree",
    ),
    (
        r"POST /api/backend/formfunnel/(create|save|preview|duplicate)", "validation_failed",
        r"cannot be stored|cannot be shown", "a drawing is judged as a whole",
    ),
    (
        r"POST /api/backend/formfunnel/email_routing_save", "validation_failed",
        r"cannot be stored", "addresses, texts and conditions of mails have rules of their own",
    ),
    (
        r"POST /api/backend/formfunnel/(save|publish)", "validation_failed", r"id ",
        "the query or the body names the funnel",
    ),
    (
        r"POST /api/backend/formfunnel/preview", "validation_failed", r"node_id",
        "a node is one of the funnel's",
    ),
    (
        r"POST /api/backend/formfunnel/create", "validation_failed", r"funnel\.",
        "languages, bases and addresses are those of the site, and a new funnel is a draft",
    ),
    (
        r"POST /api/backend/formfunnel/explain", "validation_failed", r"condition|rule|group",
        "with `validate` a condition is judged as a whole",
    ),
    (
        r"GET /api/backend/formfunnel/submissions", "bad_query", r"",
        "columns, operators and values of filters are those of the inbox",
    ),
    (
        r"GET /api/backend/formfunnel/analytics", "bad_query", r"",
        "days lie in order, 366 at most, in the funnel's time zone",
    ),
    (
        r"POST /api/backend/formfunnel/(submission|views)", "validation_failed",
        r"filter|query|value|expected|ids|assigned_to|inbox_status|name",
        "filters are those of the inbox, users those of the site, and a bulk change is judged whole",
    ),
    (
        r"\w+ /api/backend/media", "validation_failed|bad_json", r"",
        "a file is judged by its bytes, and its record has rules of its own",
    ),
    (
        r"\w+ /api/backend/pagebuilder", "validation_failed|bad_query|conflict", r"",
        "widgets have menus, nodes one parent and a place in it, pages a size, and times lie ahead",
    ),
    (
        r"POST /api/backend/formfunnel/erase", "validation_failed", r"email",
        "an address of mail is more than a text",
    ),
    (
        r"POST /api/formfunnel/upload", "validation_failed|bad_json", r"one file|not UTF-8",
        "a form may hold files under any name, of which one is expected, and text in its fields",
    ),
    (
        r"", "bad_query", r"is given more than once",
        "a list sent for one value repeats the parameter: the schema allows one",
    ),
    (
        r"GET /api/pages/one", "bad_query", r"Name the page",
        "one of three parameters must be there",
    ),
    (
        r"GET", "bad_query", r"At most 50 filters|200 parameters are enough",
        "the schema lists all filters, of which a call sends some",
    ),
    (
        r"GET", "bad_query", r"^filter\[\w+\]: .* is (expected|none of)",
        "the value of a filter is that of its column, in one of several spellings",
    ),
    (
        r"GET", "bad_query", r"^filter is not read as JSON",
        "conditions are JSON in a text, because generators send no other form alike",
    ),
    (r"GET|POST", "bad_query", r"cursor", "cursors are opaque: only `meta.next` gives one"),
    (
        r"\w+ /api/backend/item", "bad_query|database_error|validation_failed|unknown_table|bad_json",
        r"", "a value, a key and a place in a list have rules beyond their type",
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
        r"GET /api/(backend/)?(blog|bikeshop)[_/]\w+", "bad_query|database_error", r"",
        "columns, values and keys are those of the table that the endpoint reads",
    ),
    (
        r"POST /api/bikeshop_purchase", "not_found|conflict|validation_failed|database_error", r"",
        "which products are on sale is known to the plugin's handler alone",
    ),
    (
        r"GET /api/backend/plugins/(buttons|content)", "bad_query", r"key column|shows no content",
        "the key of a row is of the type that its table has, and only some buttons show content",
    ),
    (
        r"GET /api/backend/tasks/history", "bad_query", r"plugin goes with name",
        "a plugin alone selects no task",
    ),
    (
        r"\w+ /api/backend/keys(/\{id\})?$", "validation_failed", r"rights|grant",
        "endpoints and methods of rights are those of the site",
    ),
    (
        r"\w+ /api/backend/users(/\{id\})?$", "validation_failed", r"groups|password",
        "groups must exist, and a password must not contain the name",
    ),
    (r"GET /api/backend/keys/check", "bad_query", r"path", "paths have one spelling"),
    (
        r"\w+ /api/backend/origins", "validation_failed", r"origin",
        "hosts and ports have rules beyond a regular expression",
    ),
    (
        r"\w+ /api/backend/webhooks(/\{id\})?$", "validation_failed", r"url|custom_headers|events",
        "addresses are judged, header names reserved",
    ),
    (
        r"\w+ /api/backend/webhooks(/emit|/explain|/\{id\})?$", "unknown_event", r"",
        "events are those of the site",
    ),
    (r"POST /api/backend/webhooks/(emit|explain)", "validation_failed", r"",
        "some events are the service's own, some have a schema"),
    (
        r"GET /api/backend/(webhooks/messages|events/stream)", "bad_query", r"event",
        "a name of events, or the beginning of names",
    ),
    (
        r"POST /api/backend/mail/test", "validation_failed", r"to |provider",
        "an address is one, and providers are those of the chain",
    ),
    (r"GET /api/backend/mail/log", "bad_query", r"to is one address", "an address is one"),
    (r"\w+ /api/backend/cache", ".*", r"200 bytes", "JSON Schema counts characters, not bytes"),
    (r"\w+ /api/backend/limits", "bad_query", r"owner", "the address of an owner must be one"),
    (r"GET /api/backend/audit", "bad_query", r"id names a row", "an id needs a table"),
]


def allowed(operation, problem):
    errors = [f'{error["field"]} {error["message"]}' for error in problem.get("errors", [])]
    text = " ".join([problem.get("detail", ""), *errors])
    return any(
        re.match(line, operation) and re.fullmatch(code, problem.get("error", ""))
        and re.search(words, text)
        for line, code, words, _ in ALLOWED
    )
