#!/usr/bin/env python3
# map.py: draws docs/pictures/architecture.svg from the includes of src (layers, rooms, lines of code, arrows) and
# docs/pictures/step.svg, the table of docs/pipeline.md as a picture of data flow. `make docs` runs it; with --check
# it only says whether the pictures are those of the source (lint/map).
import collections
import html
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# Bottom to top; layers of one row do not see each other (scripts/lint/layers.sh is the rule).
ROWS = [["base"], ["math"], ["spatial", "comp", "law"], ["model"], ["load", "dynamics", "collide"], ["contact"],
        ["step"], ["pool", "record"], ["api"]]
WHAT = {
    "base": "memory, errors, instruction sets", "math": "linear algebra, elementary functions",
    "spatial": "vectors, poses", "comp": "complementarity problems, no bodies", "law": "per-contact laws",
    "model": "spec, model, state, shapes", "load": "files to specs", "dynamics": "the mechanism without contact; Λ",
    "collide": "shapes and poses to contacts", "contact": "contacts, formulations, impacts", "step": "one step",
    "pool": "many worlds on several threads", "record": "recordings and their verifier", "api": "version, features"}
INK, PAPER, ROOM, ARROW, QUIET = "#1b2733", "#ffffff", "#eef3f8", "#35688f", "#5b6b7a"


def rooms():
    """{layer: {room: lines}}, {(layer, layer): includes}"""
    lines, arrows = collections.defaultdict(collections.Counter), collections.Counter()
    for folder, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in names:
            if not name.endswith((".c", ".h")):
                continue
            path = os.path.relpath(os.path.join(folder, name), os.path.join(ROOT, "src")).split(os.sep)
            with open(os.path.join(folder, name), encoding="utf8") as f:
                text = f.read()
            lines[path[0]][path[1] if len(path) > 2 else ""] += text.count("\n")
            for to in re.findall(r'^#include "([a-z]+)/', text, re.M):
                if to != path[0] and to != "knuckle":
                    arrows[path[0], to] += 1
    return lines, arrows


def text(x, y, s, size=13, colour=INK, anchor="start", weight="normal"):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(s)}</text>')


def box(x, y, w, h, fill, stroke=INK, r=6):
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{r}" fill="{fill}" stroke="{stroke}"/>'


def page(w, h, parts, title):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" '
            f'font-family="DejaVu Sans, Verdana, sans-serif" role="img"><title>{html.escape(title)}</title>\n'
            f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="10" markerHeight="10" orient="auto">'
            f'<path d="M0 0L8 4L0 8z" fill="{ARROW}"/></marker></defs>\n'
            + box(0, 0, w, h, PAPER, PAPER, 0) + "\n" + "\n".join(parts) + "\n</svg>\n")


def places(width, gap_y, height):
    """Where each layer's box stands: {layer: (x, y, w)}; rows bottom to top."""
    at, margin, between = {}, 130, 44
    for k, row in enumerate(reversed(ROWS)):
        w = (width - 2 * margin - between * (len(row) - 1)) / len(row)
        if len(row) == 1:
            w = 420
        start = (width - w * len(row) - between * (len(row) - 1)) / 2
        for i, layer in enumerate(row):
            at[layer] = (start + i * (w + between), 56 + k * (height + gap_y), w)
    return at


def layer_box(layer, spot, height, lines):
    x, y, w = spot
    total = sum(lines.values())
    out = [box(x, y, w, height, ROOM), text(x + 12, y + 20, layer, 15, weight="bold"),
           text(x + w - 12, y + 20, f"{total:,} lines".replace(",", " "), 12, QUIET, "end"),
           text(x + 12, y + 37, WHAT.get(layer, ""), 12, QUIET)]
    names = sorted(r for r in lines if r)
    if names:
        per = (w - 24 - 6 * (len(names) - 1)) / len(names)
        for i, r in enumerate(names):
            rx = x + 12 + i * (per + 6)
            out.append(box(rx, y + 45, per, 32, PAPER, "#a9bccd", 4))
            size = 11 if len(r) * 6.6 < per - 4 else max(8, int((per - 4) / len(r) / 0.62))
            out.append(text(rx + per / 2, y + 58, r, size, anchor="middle"))
            out.append(text(rx + per / 2, y + 71, f"{lines[r]:,}".replace(",", " "), 10, QUIET, "middle"))
    return out


def arrow(a, b, n, height, gap, lane):
    """From the bottom of the user a to the top of b; far ones go through a lane at the side, (x, which of how many)."""
    (ax, ay, aw), (bx, by, bw) = a, b
    wide = 1 + min(3, n / 25)
    if not lane:
        sx = min(max(bx + bw / 2, ax + 30), ax + aw - 30)
        ex = min(max(sx, bx + 30), bx + bw - 30)
        d = f"M{sx:g} {ay + height:g}L{ex:g} {by - 3:g}"
    else:
        x, k, of = lane
        part = (k + 1) / (of + 1)
        left = x < ax + aw / 2
        sx = ax + aw * (0.04 + 0.30 * part) if left else ax + aw * (0.96 - 0.30 * part)
        ex = bx + bw * (0.04 + 0.30 * part) if left else bx + bw * (0.96 - 0.30 * part)
        y0, y1 = ay + height + 4 + (gap - 12) * (1 - part), by - 8 - (gap - 14) * part
        r = 5 if left else -5
        d = (f"M{sx:g} {ay + height:g}V{y0 - 5:g}q0 5 {-r} 5H{x + r:g}q{-r} 0 {-r} 5V{y1 - 5:g}q0 5 {r} 5"
             f"H{ex - r:g}q{r} 0 {r} 5V{by - 3:g}")
    return (f'<path d="{d}" fill="none" stroke="{ARROW}" stroke-width="{wide:.2g}" opacity="0.6" '
            f'marker-end="url(#tip)"/>')


def architecture():
    lines, arrows = rooms()
    width, height, gap = 1180, 86, 56
    at = places(width, gap, height)
    total = sum(sum(c.values()) for c in lines.values())
    parts = [text(24, 30, "Knuckle: layers, rooms and who includes whom", 18, weight="bold"),
             text(width - 24, 30, f"{total:,} lines of C in src; drawn from the includes by make docs".replace(",", " "),
                  12, QUIET, "end")]
    level = {layer: k for k, row in enumerate(ROWS) for layer in row}
    far = [pair for pair in sorted(arrows) if level[pair[0]] - level[pair[1]] > 1]
    sides = {-1: [], 1: []}
    for pair in sorted(far, key=lambda p: (level[p[0]] - level[p[1]], p)):
        centre = sum(at[layer][0] + at[layer][2] / 2 for layer in pair) - width
        side = -1 if centre < -1 else 1 if centre > 1 else -1 if len(sides[-1]) <= len(sides[1]) else 1
        sides[side].append(pair)
    lanes = {pair: (118 - 7 * k if side < 0 else width - 118 + 7 * k, k, len(sides[side]))
             for side in sides for k, pair in enumerate(sides[side])}
    for pair in sorted(arrows):
        parts.append(arrow(at[pair[0]], at[pair[1]], arrows[pair], height, gap, lanes.get(pair)))
    for layer in level:
        parts += layer_box(layer, at[layer], height, lines[layer])
    bottom = 56 + len(ROWS) * (height + gap)
    parts.append(text(24, bottom + 4, "An arrow points to what is included; its width grows with the number of includes. "
                      "A box inside a layer is a sub-folder, with its lines.", 12, QUIET))
    return page(width, bottom + 24, parts, "Architecture of Knuckle, drawn from its includes")


def stages():
    """Rows of the table of docs/pipeline.md: number, folder, does, reads, writes."""
    with open(os.path.join(ROOT, "docs", "pipeline.md"), encoding="utf8") as f:
        rows = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", f.read(), re.M)
    return [tuple(c.strip() for c in r) for r in rows]


def wrap(s, most):
    out = [""]
    for word in s.replace("`", "").split():
        if len(out[-1]) + len(word) + 1 > most and out[-1]:
            out.append("")
        out[-1] = (out[-1] + " " + word).strip()
    return out


def step():
    rows = stages()
    width, x0, w, gap = 1180, 330, 520, 16
    parts = [text(24, 30, "One step: what each stage reads, does and writes", 18, weight="bold"),
             text(width - 24, 30, "the table of docs/pipeline.md, drawn by make docs", 12, QUIET, "end"),
             text(290, 62, "reads", 12, QUIET, "end"), text(890, 62, "writes", 12, QUIET)]
    y = 74
    for n, folder, does, reads, writes in rows:
        body = wrap(does, 70)
        h = 30 + 16 * len(body)
        last = n == rows[-1][0]
        parts.append(box(x0, y, w, h, ROOM))
        parts.append(text(x0 + 12, y + 20, f"{n}  {folder}", 14, weight="bold"))
        for i, line in enumerate(body):
            parts.append(text(x0 + 12, y + 38 + 16 * i, line, 12))
        for s, x, anchor, d in ((reads, 290, "end", f"M296 {y + h / 2:g}L{x0 - 4} {y + h / 2:g}"),
                                (writes, 890, "start", f"M{x0 + w} {y + h / 2:g}L882 {y + h / 2:g}")):
            colour = "#a33b20" if x == 890 and "state" in s.split(", ") else INK
            for i, line in enumerate(wrap(s, 34)):
                parts.append(text(x, y + h / 2 + 4 + 15 * i, line, 12, colour, anchor))
            parts.append(f'<path d="{d}" fill="none" stroke="{ARROW}" stroke-width="1.5" marker-end="url(#tip)"/>')
        if not last:
            parts.append(f'<path d="M{x0 + w / 2:g} {y + h:g}v{gap - 3}" fill="none" stroke="{ARROW}" '
                         f'stroke-width="2" marker-end="url(#tip)"/>')
        y += h + gap
    parts.append(text(24, y + 10, "Red: here the step becomes the state. Everything else a stage writes can be thrown away, or is taken back.", 12, QUIET))
    return page(width, y + 28, parts, "One step of Knuckle as data flow")


def main():
    check, bad = "--check" in sys.argv[1:], 0
    for name, made in (("architecture.svg", architecture()), ("step.svg", step())):
        path = os.path.join(ROOT, "docs", "pictures", name)
        try:
            with open(path, encoding="utf8") as f:
                there = f.read()
        except FileNotFoundError:
            there = ""
        if not check:
            with open(path, "w", encoding="utf8") as f:
                f.write(made)
        # Lines of code change every day: a picture is old when its boxes or arrows differ.
        elif re.sub(r">[\d ]+( lines[^<]*)?<|stroke-width=\"[\d.]+\"", "", there) != re.sub(
                r">[\d ]+( lines[^<]*)?<|stroke-width=\"[\d.]+\"", "", made):
            print(f"docs/pictures/{name} is not that of the source: make docs")
            bad = 1
    return bad


sys.exit(main())
