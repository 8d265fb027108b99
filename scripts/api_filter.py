#!/usr/bin/env python3
# api_filter.py HEADER: the header as doxygen wants it. Plain comments become documentation: one that stands behind a
# declaration belongs to it, one that stands alone belongs to what follows, and to the whole paragraph it heads, up to
# the next empty line. Section lines (/* ---- … ---- */) stay plain.
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)


def shown(body):
    """The words of a comment, with what doxygen would take for commands made harmless."""
    return re.sub(r"([\\@<>#&%])", r"\\\1", body)


def main():
    with open(sys.argv[1], encoding="utf8") as f:
        text = f.read()
    out, at, first = [], 0, True
    for m in COMMENT.finditer(text):
        out.append(text[at:m.start()])
        at = m.end()
        body = m.group()[2:-2]
        line = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
        if first and not line.strip():
            out.append("/** \\file\n" + shown(body) + "*/")
        elif body.strip().startswith("----"):
            out.append(m.group())
        elif line.strip():
            out.append("/**<" + shown(body) + "*/")
        else:
            out.append("/**" + shown(body) + "*/")
        first = False
    out.append(text[at:])
    sys.stdout.write(spread("".join(out)))


def spread(text):
    """Within a paragraph a comment that stands alone also serves the declarations after the first."""
    done = []
    for para in re.split(r"(\n\s*\n)", text):
        m = re.match(r"\s*(/\*\*(?!<)(?! \\file).*?\*/)\n", para, re.S)
        if m:
            head, rest = para[:m.end()], para[m.end():]
            fresh, depth = [], 0
            for k, line in enumerate(rest.split("\n")):
                starts = depth == 0 and re.match(r"(KN_API|typedef|#define|extern|static inline)\b", line)
                if k and starts and not previous_is_comment(fresh):
                    fresh.append(m.group(1))
                depth += line.count("{") - line.count("}")
                fresh.append(line)
            para = head + "\n".join(fresh)
        done.append(para)
    return "".join(done)


def previous_is_comment(lines):
    return bool(lines) and lines[-1].rstrip().endswith("*/") and lines[-1].lstrip().startswith("/**")


main()
