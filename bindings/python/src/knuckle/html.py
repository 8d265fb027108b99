"""Tables for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .errors import KnuckleError
from .model import JointType, Model, ShapeType
from .report import Report

if TYPE_CHECKING:
    from .run import Run
    from .sim import Sim

_PATIENCE = 5.0  # s: a longer run is made again only when asked for (knuckle.view)
_TABLE = "<table style='border-collapse:collapse;font-size:90%;margin:6px 0 12px'>"


def _row(cells: list[str], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag} style='text-align:left;padding:2px 14px 2px 8px'>{c}</{tag}>" for c in cells) + "</tr>"


def model_html(model: Model) -> str:
    """The tree of bodies with masses, joints and shapes."""
    joints: dict[int, list[str]] = {}
    shapes: dict[int, list[str]] = {}
    for j in model.joints:
        joints.setdefault(j.body, []).append(f"{escape(j.name or '(nameless)')} <small>{JointType(j.type).name.lower()}</small>")
    for g in model.geoms:
        shapes.setdefault(g.body, []).append(ShapeType(g.type).name.lower())
    children: dict[int, list[int]] = {}
    for b in model.bodies:
        children.setdefault(b.parent, []).append(b.id)
    out = [_row(["body", "mass, kg", "joints", "shapes"], "th")]
    todo = [(-1, 0)]
    while todo:
        i, depth = todo.pop()
        name = "world" if i < 0 else model.bodies.names[i] or "(nameless)"
        mass = "" if i < 0 else f"{model.body(i).mass:.6g}"
        out.append(_row(["&emsp;" * depth + escape(name), mass, ", ".join(joints.get(i, [])), ", ".join(shapes.get(i, []))]))
        todo += [(k, depth + 1) for k in reversed(children.get(i, []))]
        if len(out) > 200:
            out.append(_row(["…"]))
            break
    head = f"<b>{escape(model.name or 'model')}</b>: nq {model.nq}, nv {model.nv}, nu {model.nu}, {model.mass:.6g} kg, hash <code>{model.hash}</code>"
    return f"<div>{head}{_TABLE}{''.join(out)}</table></div>"


def report_html(report: Report) -> str:
    """A step's report as a table."""
    lines = str(report).split("\n")
    rows = "".join(_row([escape(line[2:13].strip()), escape(line[14:])]) for line in lines[1:])
    return f"<div><b>{escape(lines[0])}</b>{_TABLE}{rows}</table></div>"


def sim_html(sim: Sim) -> str:
    """The run so far as a table."""
    if sim.closed:
        return "<div>closed</div>"
    lines = str(sim.summary).split("\n")
    rows = "".join(_row([escape(line[2:13].strip()), escape(line[14:])]) for line in lines[1:])
    contacts = "".join(_row([escape(f"{a} on {b}"), f"{f[0]:.6g} N"]) for (a, b), f in list(zip(sim.contacts.names, sim.contacts.force))[:20])
    return f"<div><b>{escape(sim.model.name)}</b>: {escape(lines[0])}{_TABLE}{rows}{contacts}</table></div>"


def run_html(run: Run) -> str:
    """The run as a table, and in the viewer's page where there is one."""
    lines = str(run).split("\n")
    rows = "".join(_row([escape(line[2:13].strip()), escape(line[14:])]) for line in lines[1:])
    head = f"<div><b>{escape(lines[0])}</b>{_TABLE}{rows}</table></div>"
    r = run._replay
    if r is None or r.steps == 0:
        return head
    if r.seconds > _PATIENCE:
        return head + f"<div><small>it took {r.seconds:.0f} s; knuckle.view(run) makes it again to look at it</small></div>"
    from .look import view

    try:
        return head + view(run)._repr_html_()
    except KnuckleError as e:
        return head + f"<div><small>{escape(str(e))}</small></div>"
