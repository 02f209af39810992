"""Reads an OpenAPI document and writes it with the operations of two content tables: those of the
others are made from the same declarations, and would take ten times as long."""

import json
import sys

ITEM = "/api/backend/item/"
KEPT = ("blog_comments", "products")

document = json.load(sys.stdin)
document["paths"] = {
    path: item
    for path, item in document["paths"].items()
    if not path.startswith(ITEM) or path.removeprefix(ITEM).split("/")[0] in KEPT
}
ids = {operation["operationId"] for item in document["paths"].values() for operation in item.values()}
for item in document["paths"].values():
    for operation in item.values():
        for response in operation["responses"].values():
            links = response.get("links", {})
            for name in [name for name in links if links[name]["operationId"] not in ids]:
                del links[name]
json.dump(document, sys.stdout)
