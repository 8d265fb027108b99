#!/usr/bin/env python3
"""Sizes that can be taken in: at most 40 fields per struct, 60 lines per function, 40 files per folder, over src.

What is larger today is listed in scripts/lint/sizes.txt with its size; it may shrink, and nothing may join it."""
import os
import re
import sys

FIELDS, LINES, FILES = 40, 60, 40
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


def plain(text):
    """Without comments, strings and preprocessor lines; line breaks stay."""
    blank = lambda m: re.sub(r"[^\n]", " ", m.group(0))
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.S)
    text = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', "0", text)
    return re.sub(r"^[ \t]*#(\\\n|[^\n])*", blank, text, flags=re.M)


def end_of(text, at):
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i
    return len(text)


def fields(body):
    """Names that a struct's own declarations introduce; a nested struct counts as one."""
    while "{" in body:
        at = body.index("{")
        body = body[:at] + body[end_of(body, at) + 1:]
    body = re.sub(r"\([^;]*\)", "", re.sub(r"\(\s*\*", "(", body))
    return sum(d.count(",") + 1 for d in body.split(";") if d.strip())


def found(path, text):
    for m in re.finditer(r"\bstruct\s*(\w*)\s*\{", text):
        end = end_of(text, m.end() - 1)
        name = m.group(1) or re.match(r"\W*(\w*)", text[end + 1:]).group(1)
        size = fields(text[m.end():end])
        if size > FIELDS:
            yield f"fields {path} {name}", size
    for m in re.finditer(r"^[A-Za-z_][^;{}=]*?\b(\w+)\([^;{}]*\)\s*\{", text, flags=re.M):
        end = end_of(text, m.end() - 1)
        size = text.count("\n", m.start(), end) + 1
        if size > LINES:
            yield f"lines {path} {m.group(1)}", size


def main():
    os.chdir(ROOT)
    now = {}
    for folder, _, names in sorted(os.walk("src")):
        sources = sorted(n for n in names if n.endswith((".c", ".h")))
        if len(sources) > FILES:
            now[f"files {folder}"] = len(sources)
        for n in sources:
            path = os.path.join(folder, n)
            now.update(found(path, plain(open(path, encoding="utf8").read())))
    if sys.argv[1:] == ["--list"]:
        print("\n".join(f"{k} {v}" for k, v in sorted(now.items())))
        return 0
    known = {}
    for line in open("scripts/lint/sizes.txt", encoding="utf8"):
        if line.strip() and not line.startswith("#"):
            key, size = line.rsplit(None, 1)
            known[key] = int(size)
    bad = [f"{k}: {v}" for k, v in sorted(now.items()) if v > known.get(k, 0)]
    bad += [f"{k}: is small enough now, or gone: take it off the list" for k in sorted(known) if k not in now]
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
