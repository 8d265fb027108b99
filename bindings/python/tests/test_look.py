"""Looking at runs: what goes into the viewer's page, and that the page itself shows it in a browser."""

import base64
import gzip
import html
import json
import os
import pickle
import re
import shutil
import subprocess
from pathlib import Path

import knuckle
import numpy as np
import pytest
from knuckle import look

EMPTY = '<!doctype html><body><script id="run" type="application/json"></script><script>go()</script></body>'


@pytest.fixture
def blank(tmp_path, monkeypatch):
    """A page without a viewer: what is put into it is looked at here."""
    path = tmp_path / "view.html"
    path.write_text(EMPTY)
    monkeypatch.setenv("KNUCKLE_VIEW_PAGE", str(path))


def inside(page: str) -> dict:
    found = re.search(r'<script id="run" type="application/json">(.*?)</script>', page, re.S)
    assert found and page.endswith("<script>go()</script></body>")
    return json.loads(found[1])


def steps_inside(page: str, tmp_path: Path) -> knuckle.Recording:
    payload = inside(page)
    (file,) = payload["files"]
    assert payload["words"] == [file["path"]]
    path = tmp_path / "inside.mcap"
    path.write_bytes(gzip.decompress(base64.b64decode(file["gzip"])))
    return knuckle.read(path)


def test_a_scene_is_simulated_in_the_page(blank, command):
    model = knuckle.load("pendulum-2014", links=3)
    payload = inside(knuckle.view(model, 0.25, law="newton", dt=5e-4).html)
    assert payload["words"] == ["pendulum-2014", "--set", "links=3", "--law", "newton", "--dt", "0.0005"] and payload["duration"] == 0.25
    # the command line makes the same run of these words
    said = json.loads(command("run", *payload["words"], "--time", "0.25", "--json"))
    assert payload["checks"][-1] == [500, said["state_hash"]]
    assert [step for step, _ in payload["checks"]] == list(range(3, 500, 3)) + [500]


def test_a_run_is_made_again_to_the_bit(blank, arm, tmp_path):
    sim = knuckle.Sim(arm)
    sim.q["elbow"] = 0.3
    sim.step(7)
    run = sim.run(0.202)  # every second step is recorded, the first and this last one too
    assert steps_inside(knuckle.view(run).html, tmp_path)[-1].hash == sim.hash == run.hash
    again = pickle.loads(pickle.dumps(run))
    assert again == run and knuckle.view(again).html == knuckle.view(run).html
    # from a scene's own beginning it is a recipe, and the hash at the end is the run's
    stack = knuckle.Sim(knuckle.load("stack")).run(0.1)
    assert inside(knuckle.view(stack).html)["checks"][-1][1] == stack.hash
    page = stack._repr_html_()
    assert page.count("<iframe srcdoc=") == 1 and inside(html.unescape(re.search('srcdoc="(.*?)"', page, re.S)[1]))["words"] == ["stack"]


def test_a_controller_is_not_asked_again(blank, arm, tmp_path):
    calls = []

    def noisy(t, q, v, ctrl, tau):
        calls.append(t)
        ctrl[:] = np.sin(len(calls)), 0.1
        tau[1] += 0.2 * np.cos(len(calls))

    sim = knuckle.Sim(arm)
    run = sim.run(0.102, noisy)
    asked = len(calls)
    assert steps_inside(knuckle.view(run).html, tmp_path)[-1].hash == run.hash == sim.hash and len(calls) == asked >= 50


def test_a_simulator_goes_on_in_a_copy(blank, sim, tmp_path):
    sim.step(10)
    before = sim.hash
    rec = steps_inside(knuckle.view(sim, 0.102).html, tmp_path)
    assert sim.hash == before
    sim.run(0.102)
    assert rec[-1].hash == sim.hash


def test_recordings_and_files(blank, sim, tmp_path):
    path = tmp_path / "a.mcap"
    with knuckle.record(sim, path) as rec:
        rec.step(20)
    for what in (path, str(path), knuckle.read(path)):
        shown = knuckle.view(what)
        assert inside(shown.html)["words"] == ["/a.mcap"] and "recorded" in repr(shown)
        assert len(steps_inside(shown.html, tmp_path)) == 20
    knuckle.view(path).save(tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == knuckle.view(path).html


def test_names_are_text(blank, tmp_path):
    spec = knuckle.Spec("</script><b>")
    spec.body('"><i>', pos=[0, 0, 1], mass=1.0, inertia=[1, 1, 1])
    spec.joint("<script>", body='"><i>', type="free")
    model = spec.compile()
    shown = knuckle.view(model, 0.01)
    assert shown.html.count("</script>") == EMPTY.count("</script>") and len(steps_inside(shown.html, tmp_path)) > 0
    assert "<b>" not in shown._repr_html_() and "</script>" not in shown._repr_html_()
    assert "<script>" not in knuckle.Sim(model).run(0.01)._repr_html_()


def test_mistakes(arm, sim, tmp_path, monkeypatch):
    monkeypatch.setenv("KNUCKLE_VIEW_PAGE", str(tmp_path / "none.html"))
    with pytest.raises(knuckle.NotFoundError, match="make viewer"):
        knuckle.view("stack", 0.01).html
    assert "make viewer" in sim.run(0.01)._repr_html_() and "<iframe" not in sim.run(0.0)._repr_html_()
    for call in (lambda: knuckle.view(sim.summary), lambda: knuckle.view(sim, dt=0.1), lambda: knuckle.view(sim, -1.0), lambda: knuckle.view(sim.run(0.01), 1.0),
                 lambda: knuckle.view(arm, 0.01, height=5), lambda: knuckle.view(3), lambda: knuckle.view(arm, 0.01, colour="red")):
        with pytest.raises(knuckle.BadArgumentError):
            call()
    with pytest.raises(knuckle.NotFoundError):
        knuckle.view("stak")
    with pytest.raises(knuckle.KnuckleError):
        knuckle.view(tmp_path / "none.mcap")
    sim.close()
    with pytest.raises(knuckle.ClosedError):
        knuckle.view(sim)


def test_the_viewer_shows_it_inside_a_notebook(tmp_path):
    """As Jupyter does: the HTML of a run inside a page, in a real browser. The page says itself whether its hashes came out."""
    try:
        look.page()
    except knuckle.NotFoundError:
        pytest.skip("the viewer's page is not built (make viewer)")
    chromium = shutil.which("chromium")
    if not chromium:
        pytest.skip("there is no chromium")
    run = knuckle.Sim(knuckle.load("stack")).run(0.2)
    watch = """<pre id="said"></pre><script>setInterval(() => {
      const w = document.querySelector('iframe').contentWindow, k = w.knuckle, s = k && k.session;
      said.textContent = s && s.complete ? `ready=${w.document.documentElement.dataset.ready} checked=${s.checked} wrong=${s.mismatch} end=${s.hashAt(s.history.count - 1)}` : '';
    }, 50)</script>"""
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><meta charset='utf-8'><body>{run._repr_html_()}{watch}</body>")
    words = [chromium, "--headless", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--dump-dom",
             *(["--no-sandbox"] if os.geteuid() == 0 else []), path.as_uri()]
    said = ""
    for patience in (20_000, 60_000, 180_000):  # of the browser's clock, which runs ahead of a slow machine
        dom = subprocess.run([*words, f"--virtual-time-budget={patience}"], capture_output=True, text=True, timeout=240).stdout
        said = re.search(r'id="said">([^<]*)<', dom)[1]
        if said:
            break
    every = run.steps // 200 + 1
    assert said == f"ready=1 checked={-(-run.steps // every)} wrong=null end={run.hash}"
