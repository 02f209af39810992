"""Reads the OpenAPI document that calls were made from, and HAR files of the calls: fails when a
documented operation never answered 2xx, and names it."""

import collections
import json
import re
import sys
import urllib.parse

with open(sys.argv[1], encoding="utf-8") as file:
    paths = json.load(file)["paths"]
statuses = {f"{method.upper()} {path}": collections.Counter() for path in paths for method in paths[path]}
# Paths that take what stands between their slashes.
filled = [(name, re.compile(re.sub(r"\{\w+\}", "[^/]+", name))) for name in statuses if "{" in name]
calls = 0
for name in sys.argv[2:]:
    with open(name, encoding="utf-8") as file:
        entries = json.load(file)["log"]["entries"]
    calls += len(entries)
    for entry in entries:
        url = urllib.parse.urlsplit(entry["request"]["url"])
        line = f'{entry["request"]["method"]} {url.path}'
        own = {line} & statuses.keys()
        for operation in own or [name for name, path in filled if path.fullmatch(line)]:
            statuses[operation][entry["response"]["status"]] += 1

missed = [name for name, seen in statuses.items() if not any(200 <= s < 300 for s in seen)]
print(f"{calls} calls; {len(statuses) - len(missed)} of {len(statuses)} operations answered 2xx")
for name in missed:
    print(f"  never: {name} {dict(statuses[name])}")
sys.exit(bool(missed))
