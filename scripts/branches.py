#!/usr/bin/env python3
"""branches.py FOLDER: gcov's JSON lines on standard input; prints how many branches of the sources below FOLDER there are, and how many were taken.

A branch of a header counts once, taken if it was in any file that includes it. Branches of calls that may throw are none in C.
"""
import json
import sys

seen: dict[tuple[str, int, int], bool] = {}
for text in sys.stdin:
    if not text.startswith("{"):
        continue
    for file in json.loads(text)["files"]:
        name = file["file"]
        at = name.find(sys.argv[1])
        if at < 0:
            continue
        for line in file["lines"]:
            for i, branch in enumerate(line["branches"]):
                key = (name[at:], line["line_number"], i)
                seen[key] = seen.get(key, False) or branch["count"] > 0
print(len(seen), sum(seen.values()))
