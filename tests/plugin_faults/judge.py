"""Compares manifests with the JSON Schema: `judge.py CASES`, made by the tests."""

import json
import sys

from jsonschema import Draft202012Validator

whole = json.load(open(sys.argv[1], encoding="utf-8"))
Draft202012Validator.check_schema(whole["schema"])
validator = Draft202012Validator(whole["schema"])
refused, wrong = 0, []
for case in whole["cases"]:
    try:
        manifest = json.loads(case["text"])
    except json.JSONDecodeError:
        if case["refused"]:
            wrong.append(f"no JSON: {case['what']}")
        continue
    found = list(validator.iter_errors(manifest))
    refused += bool(found) and case["refused"]
    if case["refused"] and not found:
        wrong.append(f"accepted: {case['at']}: {case['what']}")
    if case.get("valid") and found:
        wrong.append(f"refused: {case['text']}: {found[0].message}")
    if found and not case["refused"] and not case.get("valid"):
        print(f"more than asked: {case['at']}: {case['what']}")
print("\n".join(wrong) or f"{refused} faults refused, the valid ones accepted")
sys.exit(1 if wrong else 0)
