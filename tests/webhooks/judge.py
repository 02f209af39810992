"""Compares bodies of deliveries with their JSON Schemas: `judge.py CASES`, made by the tests."""

import copy
import json
import sys

from jsonschema import Draft202012Validator, FormatChecker

cases = json.load(open(sys.argv[1], encoding="utf-8"))
names, wrong = set(), []
for case in cases:
    schema, body = case["schema"], case["body"]
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema, format_checker=FormatChecker())
    for fault in validator.iter_errors(body):
        wrong.append(f"refused: {body['event']}: {fault.json_path}: {fault.message}")
    # What breaks its schema must be refused: without a member, and under another name.
    for member in body["data"]:
        broken = copy.deepcopy(body)
        del broken["data"][member]
        if validator.is_valid(broken):
            wrong.append(f"accepted without data.{member}: {body['event']}")
    if validator.is_valid({**body, "event": "other"}):
        wrong.append(f"accepted under another name: {body['event']}")
    names.add(body["event"])
print("\n".join(wrong) or f"{len(cases)} deliveries of {len(names)} events fit their schemas")
sys.exit(1 if wrong or len(names) < 11 else 0)
