"""Reads a HAR file of calls and the OpenAPI document they were made from: counts the documented
operations that answered 2xx, and names the others."""

import collections
import json
import sys
import urllib.parse

with open(sys.argv[1], encoding="utf-8") as file:
    entries = json.load(file)["log"]["entries"]
with open(sys.argv[2], encoding="utf-8") as file:
    paths = json.load(file)["paths"]
documented = {f"{method.upper()} {path}" for path, item in paths.items() for method in item}
statuses = collections.defaultdict(collections.Counter)
for entry in entries:
    path = urllib.parse.urlsplit(entry["request"]["url"]).path
    operation = f'{entry["request"]["method"]} {path}'
    if operation in documented:
        statuses[operation][entry["response"]["status"]] += 1
reached = [name for name, seen in statuses.items() if any(200 <= s < 300 for s in seen)]
print(f"{len(entries)} calls; {len(reached)} of {len(statuses)} operations answered 2xx;")
print("the others:")
for name in sorted(set(statuses) - set(reached)):
    print(f"  {name}: {dict(statuses[name])}")
