#!/usr/bin/env python3
"""site.py ROOT OUT: the documents as a site that needs no network (scripts/site.sh has built what it shows).

OUT/pages is written here, page by page, then MkDocs makes OUT/html of it: the tutorial are the notebooks with what they print and
draw, the Python pages come from the package's docstrings, the C pages from the headers (OUT/pages/c, made by scripts/api.sh), the rest
from docs/. Fails when a link leads nowhere, or a page loads anything from elsewhere.
"""

import ast
import contextlib
import dataclasses
import enum
import html.parser
import inspect
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

ROOT, OUT = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PAGES = OUT / "pages"
NOTEBOOKS = ["five_minutes", "own_robot", "contact_forces", "painleve", "restitution", "closing_a_loop", "sweep", "fitting"]
USING = ["python", "beside", "cli", "viewer", "loading", "model", "recording", "sensors", "pool", "sweeps", "fitting", "sleep", "troubles"]
PHYSICS = ["contact", "events", "projection", "hybrid", "grasp", "collision", "dynamics", "solvers", "evidence", "notation", "bibliography"]
GROUPS = {
    "Models": ["load", "scenes", "Model", "Spec", "Items", "Body", "Joint", "Geom", "Frame", "Actuator", "Sensor", "Loop", "Keyframe", "Pair", "Visual", "Material", "Note",
               "JointType", "ShapeType", "SensorType", "LoopType"],
    "Simulating": ["Sim", "Settings", "Compliance", "Hybrid", "State", "NamedArray", "Controller", "Run", "Rollout", "Poses", "Pose", "Forces", "choices", "features"],
    "Reports": ["Report", "Contacts", "Mode", "Energy", "Ledger", "EnergyRise", "Event", "Trouble", "Verdict", "VerdictKind", "Answer"],
    "Many worlds": ["Pool", "PoolRun", "Ranges", "Linearization", "Batch", "sweep"],
    "Questions": ["fit", "Fit", "FitParameter", "compare", "Comparison", "Trial", "diagnose", "Diagnosis", "mode_matrix", "ModeMatrix", "certify", "certify_impact", "Certificate",
                  "certify_rho", "certify_lmi", "rod_compliance"],
    "Problems without bodies": ["solve_lcp", "solve_cone", "enumerate_lcp", "is_p_matrix", "lcp_solvers", "Solution", "Solutions", "PMatrix", "solve_qp", "QpSolution",
                                "solve_frictionless", "FrictionlessSolution", "lcp_residual", "problem_error", "qp_residual", "certify_frictionless", "read_lcp", "write_lcp",
                                "LcpFile", "read_fclib", "write_fclib", "FclibFile", "Projector", "ProjectorMatrices", "Constrained", "ProjectionImpact"],
    "Shapes": ["Shape", "distance", "Distance", "manifold_query", "Manifold", "ray_cast", "RayHit", "time_of_impact", "Sweep", "Impact", "support", "shape_box",
               "line_ellipse", "Broad", "islands", "shape_massprops", "MassProps", "principal_axes", "read_mesh", "MeshData", "MeshInfo"],
    "Recordings and pictures": ["record", "Recorder", "read", "Recording", "Step", "Loads", "LoadSum", "verify", "Verification", "Violation", "plot", "view", "View"],
}


# ---- Markdown as GitHub reads it, for Python-Markdown ----


def portable(text: str) -> str:
    """A list or table may follow a paragraph without an empty line there, and needs one here."""
    out: list[str] = []
    fence = False
    for line in text.split("\n"):
        before = out[-1] if out else ""
        item = re.compile(r"\s*([-*]|\d+\.) ")
        if not fence and before.strip() and (
                (item.match(line) and not item.match(before) and not before.startswith("  ")) or
                (line.startswith("|") and not before.startswith("|")) or (line.startswith("```") and not before.startswith("  "))):
            out.append("")
        if line.lstrip().startswith("```"):
            fence = not fence
        out.append(line)
    return "\n".join(out)


def relinked(text: str, page: Path, known: dict[Path, str], depth: int) -> str:
    """Links to pages of the site lead there; of files that are not in it the name is left."""

    def change(m: re.Match[str]) -> str:
        bang, label, link = m.groups()
        target, _, part = link.partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return m[0]
        there = known.get((page.parent / target).resolve())
        if there is None:
            return label
        return f"{bang}[{label}]({'../' * depth}{there}{'#' + part if part else ''})"

    return re.sub(r"(!?)\[((?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*)\]\(([^)\s]+)\)", change, text)


def put(name: str, text: str) -> None:
    path = PAGES / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(portable(text))


def documents() -> None:
    """docs/ and the pages of the top folder."""
    known: dict[Path, str] = {}
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.is_file():
            known[path] = str(path.relative_to(ROOT / "docs"))
    known[ROOT / "docs/README.md"] = "all.md"
    known[ROOT / "docs/decisions"] = "decisions/README.md"
    for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"):
        known[ROOT / name] = "index.md" if name == "README.md" else name.lower()
    for path, name in known.items():
        if path.suffix == ".md":
            put(name, relinked(path.read_text(), path, known, name.count("/")))
        elif path.is_file():
            (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, PAGES / name)


# ---- the tutorial ----


def shown(value: Any) -> str:
    """What a notebook shows for the last expression of a cell."""
    if hasattr(value, "savefig"):
        return ""  # among the figures
    made = getattr(value, "_repr_html_", None)
    text = made() if made and type(value).__name__ not in ("Run", "View") else None
    return text or f"```text\n{value if type(value).__name__ == 'Run' else repr(value)}\n```"


def cell(source: str, names: dict[str, Any], stem: str, count: list[int]) -> str:
    """The output of a cell as Markdown."""
    from matplotlib import pyplot

    tree, out, last = ast.parse(source), io.StringIO(), None
    end = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(out):
        exec(compile(tree, stem, "exec"), names)
        if end is not None:
            last = eval(compile(ast.Expression(end.value), stem, "eval"), names)
    parts = [f"```text\n{out.getvalue().rstrip()}\n```"] if out.getvalue().strip() else []
    if type(last).__name__ == "View" and (ROOT / "viewer/dist/view.html").exists():
        count[0] += 1
        last.save(PAGES / "tutorial" / f"{stem}-{count[0]}.html")
        parts.append(f'<iframe src="{stem}-{count[0]}.html" title="{stem}" style="width:100%;height:640px;border:0"></iframe>')
    elif last is not None and shown(last):
        parts.append(shown(last))
    figures = [pyplot.figure(i) for i in pyplot.get_fignums()]
    if hasattr(last, "savefig") and last not in figures:
        figures.append(last)
    for figure in figures:
        count[0] += 1
        name = f"{stem}-{count[0]}.svg"
        figure.savefig(PAGES / "tutorial" / name)
        parts.append(f"![]({name})")
    pyplot.close("all")
    return "\n\n".join(parts)


def notebook(stem: str) -> str:
    """A notebook as a page, with its outputs; returns its title."""
    import matplotlib

    matplotlib.use("svg")
    (PAGES / "tutorial").mkdir(parents=True, exist_ok=True)
    cells = json.loads((ROOT / f"bindings/python/notebooks/{stem}.ipynb").read_text())["cells"]
    names: dict[str, Any] = {"__name__": "__main__"}
    count, out = [0], []
    for c in cells:
        source = "".join(c["source"])
        if c["cell_type"] == "markdown":
            out.append(source)
        elif source.strip():
            out += [f"```python\n{source}\n```", cell(source, names, stem, count)]
    title = re.search(r"^# (.+)$", out[0], re.M)
    put(f"tutorial/{stem}.md", "\n\n".join(out))
    return title[1] if title else stem


# ---- the Python API ----


def typed(text: str) -> str:
    """Types as a reader says them: without modules, and NumPy's arrays by what they hold."""
    text = re.sub(r"knuckle\.\w+\.|<factory>", "", text).replace("'", "")
    text = re.sub(r"npt\.NDArray\[(?:np\.)?(\w+?)_?\]", r"ndarray[\1]", text)
    text = re.sub(r"\bFloats\b", "ndarray[float64]", text)
    return text.replace("npt.", "").replace("os.PathLike", "PathLike")


def signature(name: str, thing: Any) -> str:
    """The call as code; one argument a line where it is long. A class returns itself, and `self` is not given."""
    try:
        call = inspect.signature(thing)
    except (TypeError, ValueError):
        return f"```python\n{name}(…)\n```"
    given = [p for p in call.parameters.values() if p.name != "self"]
    result = "" if inspect.isclass(thing) or call.return_annotation is inspect.Signature.empty else f" -> {call.return_annotation}"
    plain = typed(str(call.replace(parameters=given, return_annotation=inspect.Signature.empty)))
    line = f"{name}{plain}{typed(result)}"
    if len(line) > 110:
        parts, star = [], False
        for p in given:
            if p.kind is p.KEYWORD_ONLY and not star:
                parts.append("*")
            star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
            parts.append(typed(str(p)))
        line = f"{name}(\n    " + ",\n    ".join(parts) + f"\n){typed(result)}"
    return f"```python\n{line}\n```"


def member(owner: str, name: str, thing: Any) -> str:
    plain = thing.__func__ if isinstance(thing, (staticmethod, classmethod)) else thing
    if isinstance(plain, property):
        kind = typed(str(inspect.signature(plain.fget).return_annotation)) if plain.fget else ""
        return f"### {owner}.{name}\n\n```python\n{owner.lower()}.{name}: {kind}\n```\n\n{inspect.getdoc(plain) or ''}\n"
    before = owner if isinstance(thing, (staticmethod, classmethod)) else owner.lower()
    return f"### {owner}.{name}\n\n{signature(f'{before}.{name}', plain)}\n\n{inspect.getdoc(plain) or ''}\n"


def entry(name: str) -> str:
    import knuckle

    thing = getattr(knuckle, name)
    if not inspect.isclass(thing):
        doc = inspect.getdoc(thing) if inspect.isfunction(thing) else "`controller(t, q, v, ctrl, tau)`: fills `ctrl` and adds to `tau`."
        return f"## {name}\n\n{signature(name, thing) if inspect.isfunction(thing) else ''}\n\n{doc}\n"
    own = inspect.getdoc(thing) or ""
    out = [f"## {name}\n", own + "\n"]
    if issubclass(thing, enum.Enum):
        out.append(", ".join(f"`{e.name}` = {e.value}" for e in thing) + "\n")
        return "\n".join(out)
    if dataclasses.is_dataclass(thing):
        rows = [f"| `{f.name}` | `{typed(str(f.type)).replace('|', chr(92) + '|')}` |" for f in dataclasses.fields(thing) if not f.name.startswith("_")]
        out.append("| field | type |\n|---|---|\n" + "\n".join(rows) + "\n")
    elif thing.__init__ is not object.__init__ and "__init__" in vars(thing):
        out.append(signature(name, thing) + "\n")
    for key, value in vars(thing).items():
        if not key.startswith("_") and (isinstance(value, (property, staticmethod, classmethod)) or inspect.isfunction(value)):
            out.append(member(name, key, value))
    return "\n".join(out)


def python_pages() -> list[dict[str, str]]:
    import knuckle

    errors = [n for n in knuckle.__all__ if n.endswith("Error")] + ["Status"]
    groups = {**GROUPS, "Errors": errors}
    left = set(knuckle.__all__) - {n for names in groups.values() for n in names}
    assert not left, f"public names in no group of scripts/site.py: {sorted(left)}"
    nav = []
    for title, names in groups.items():
        page = f"api/{title.lower().replace(' ', '-')}.md"
        put(page, f"# {title}\n\n" + "\n".join(entry(n) for n in names))
        nav.append({title: page})
    return nav


# ---- the site ----


def title_of(name: str) -> str:
    found = re.search(r"^# (.+)$", (PAGES / name).read_text(), re.M)
    return found[1] if found else name


CSS = """.wy-nav-content { max-width: 1100px; }
.wy-table-responsive table td, .rst-content table.docutils td { white-space: normal; }
.rst-content img { max-width: 100%; background: white; }
.rst-content code, .rst-content code.literal { color: #24292f; background: #f0f2f5; border: 0; border-radius: 3px; padding: 1px 4px; }
.rst-content a code { color: #2980b9; }
.rst-content pre, .rst-content div[class^="highlight"], .rst-content .codehilite { border-radius: 4px; }
.rst-content pre code, .rst-content pre code.literal { display: block; padding: 10px 12px; border: 1px solid #e1e4e5; border-radius: 4px; background: #f8f8f8; }
.rst-content h2 { margin-top: 44px; padding-top: 14px; border-top: 1px solid #e1e4e5; }
.rst-content h1 + h2 { margin-top: 20px; padding-top: 0; border-top: 0; }
.rst-content h3 { margin-top: 28px; font-size: 112%; }
.rst-content iframe { margin-bottom: 24px; border: 1px solid #e1e4e5 !important; border-radius: 4px; }
"""


def config(nav: list[Any]) -> None:
    (OUT / "mkdocs.yml").write_text(json.dumps({
        "site_name": "Knuckle", "docs_dir": str(PAGES), "site_dir": str(OUT / "html"), "use_directory_urls": False, "nav": nav,
        "theme": {"name": "readthedocs", "highlightjs": False, "include_homepage_in_sidebar": False, "navigation_depth": 2},
        "markdown_extensions": ["tables", "fenced_code", "sane_lists", "md_in_html", {"codehilite": {"guess_lang": False, "noclasses": True}}],
        "plugins": ["search"], "extra_css": ["site.css"],
        "validation": {"nav": {"omitted_files": "info"}, "links": {"unrecognized_links": "ignore", "anchors": "ignore", "absolute_links": "info"}},
    }))
    (PAGES / "site.css").write_text(CSS)


class Links(html.parser.HTMLParser):
    """Addresses of a page: what it loads, where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.leads: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        a = dict(attrs)
        if tag in ("script", "img", "iframe", "source") and a.get("src"):
            self.loads.append(str(a["src"]))
        if tag == "link" and a.get("href") and a.get("rel") != "canonical":
            self.loads.append(str(a["href"]))
        if tag == "a" and a.get("href"):
            self.leads.append(str(a["href"]))


def check() -> int:
    """Says which links lead nowhere and what comes from elsewhere."""
    bad = []
    pages = sorted((OUT / "html").rglob("*.html"))
    for page in pages:
        links = Links()
        links.feed(page.read_text(errors="replace"))
        for link in links.loads + links.leads:
            at = urlparse(link)
            if at.scheme or at.netloc:
                if link in links.loads and at.scheme not in ("data", "javascript"):
                    bad.append(f"{page}: loads {link}")
            elif at.path and not (page.parent / unquote(at.path)).exists():
                bad.append(f"{page}: leads nowhere: {link}")
    for line in bad[:40]:
        print(line, file=sys.stderr)
    print(f"{OUT / 'html/index.html'}: {len(pages)} pages")
    return 1 if bad else 0


def main() -> int:
    documents()
    tutorial = [{notebook(stem): f"tutorial/{stem}.md"} for stem in NOTEBOOKS]
    api = python_pages()
    gallery: list[Any] = [{"Scenes": "scenes.md"}]
    built = ROOT / "viewer/dist/view.html"
    if built.exists():
        shutil.copy(built, PAGES / "playground.html")
        gallery.append({"Playground": "playground.html"})
    used = {f"{n}.md" for n in USING + PHYSICS} | {"scenes.md", "index.md", "python.md", "all.md"}
    rest = sorted(p.name for p in PAGES.glob("*.md") if p.name not in used)
    nav: list[Any] = [{"Home": "index.md"}, {"Tutorial": tutorial}, {"Using it": [{title_of(f"{n}.md"): f"{n}.md"} for n in USING]},
                      {"Physics": [{title_of(f"{n}.md"): f"{n}.md"} for n in PHYSICS]}, {"Gallery": gallery}, {"Python API": api},
                      {"C API": [{"Reference": "c/index.html"}]},
                      {"Inside": [{"All documents": "all.md"}] + [{title_of(n): n} for n in rest] + [{"Decisions": "decisions/README.md"}]}]
    config(nav)
    shutil.rmtree(OUT / "html", ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-f", str(OUT / "mkdocs.yml")])
    (OUT / "html/404.html").unlink(missing_ok=True)  # a server's page: its links start at the server's root
    return done.returncode or check()


sys.exit(main())
