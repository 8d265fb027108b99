"""Everything the C API and the command line do can be done from Python: what is not is listed here, with the reason."""

import re
from pathlib import Path

import knuckle
from knuckle._kn import lib

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "bindings/python"

#: C functions that are not called, and why. A name with * stands for all that begin so.
NOT_WRAPPED = {
    "kn_model_find_*": "names are indices: the tables of a Model look them up, and say which names are near",
    "kn_batch_set": "Batch.set writes the lanes of all worlds at once",
    "kn_batch_get": "Batch.q, v, qdd read the lanes of all worlds at once",
    "kn_broad_default": "the choices of a broad phase are about speed; Broad takes the defaults and makes room by itself",
    "kn_compliance_recursive": "the same Λ as Sim.compliance by the recursion of the paper, for tests and benches in C",
    "kn_body_pose": "Sim.body_poses has all",
    "kn_frame_pose": "Sim.frame_poses has all",
    "kn_actuator_force": "Sim.forces.actuator has them, Sim.actuator_force those before the gear",
    "kn_problem_check": "solve_cone and problem_error look at shapes and numbers, the solver at the rest",
    "kn_problem_velocity": "W @ r + q, Solution.w",
    "kn_solver_work_create": "solve_cone makes its scratch memory for the problem: kn_solver_work_for",
    "kn_solver_work_pairs": "room for heaps, whose pairs a simulator knows and a matrix does not",
    "kn_qp_work_*": "scratch memory: made and freed inside the functions",
    "kn_cone_solver_find": "solve_cone takes the name",
    "kn_lcp_certificate": "Solution.verdict.certificate names it",
    "kn_verdict_text": "Verdict has its own sentence",
    "kn_verdict_name": "VerdictKind has the names",
    "kn_status_name": "Status has the names",
    "kn_contact_mode_name": "Mode has the names",
    "kn_last_error": "exceptions have text, file, line and column (kn_last_error_info)",
    "kn_built_with": "features() has all",
    "kn_mesh_has_assimp": "features() has all",
    "kn_material_default": "Material's own defaults",
    "kn_hull_default": "hulls take the defaults",
    "kn_hull_counts": "Shape.triangles gives the surface",
    "kn_load_text": "load(files=…) reads texts from memory",
    "kn_load_format": "the file's ending says it",
    "kn_study_read": "a study from memory; load(study=…) reads a file",
    "kn_study_read_edited": "cases of a sweep: `sweep` leaves them to the program",
    "kn_sweep_value": "cases of a sweep: `sweep` leaves them to the program",
    "kn_study_beside": "load finds the study by itself",
    "kn_pool_model": "Pool.model",
    "kn_sim_model": "Sim.model",
    "kn_sim_data": "the simulator's own scratch",
    "kn_sim_settings_of": "Sim.settings",
    "kn_sim_watch_problems": "hands out pointers that are valid during the call only; `knuckle run --dump-problems` writes the problems as files, read_fclib reads them",
    "kn_problem_dump_*": "`knuckle run --dump-problems` writes the problems of a run as files, read_fclib reads them",
    "kn_hdf5_write": "h5py and pandas write tables; `knuckle export -o RUN.h5` writes a run's",
    "kn_step": "Sim.step counts its steps: kn_step_many",
    "kn_report_in_trouble": "Report.events, Run.troubles",
    "kn_trouble_find": "choices(\"trouble\") has the names",
    "kn_sensors_*": "Sim.sensors, and columns sensor.NAME of a recording",
    "kn_batch_index": "Batch turns the lanes into rows",
}

#: what the commands of the program are here
COMMANDS = {
    "demo": "view", "run": "Sim", "view": "view", "sweep": "sweep", "fit": "fit", "compare": "compare", "diagnose": "diagnose", "certify": "certify",
    "check": "load", "export": "read", "plot": "plot", "verify": "verify", "solve": "solve_lcp", "list": "choices",
}
NOT_HERE = {"study": "writes a commented file to edit", "bench": "measures the C library", "completion": "of a shell", "help": "of the program: help(knuckle)"}


def functions() -> dict[str, str]:
    """Every function of the public headers, and its header."""
    out: dict[str, str] = {}
    for header in sorted((ROOT / "include/knuckle").glob("*.h")):
        for kind in (r"KN_API", r"static inline"):
            for found in re.finditer(kind + r"[^;{]*?\b(kn_\w+)\s*\(", header.read_text()):
                out[found[1]] = header.name
    return out


def excused(name: str) -> str | None:
    """The entry of the list that a name belongs to."""
    return next((k for k in NOT_WRAPPED if k == name or (k.endswith("*") and name.startswith(k[:-1]))), None)


def used() -> set[str]:
    text = "".join(p.read_text() for p in (PACKAGE / "src/knuckle").glob("*.py")) + (PACKAGE / "native/glue.h").read_text()
    return set(re.findall(r"\bkn_\w+(?=\s*\()|(?<=lib\.)kn_\w+", text))


def test_every_function_of_c_is_called_or_listed():
    declared, called = functions(), used()
    assert len(declared) > 300
    missing = {n: h for n, h in declared.items() if n not in called and not excused(n)}
    assert not missing, f"neither called by the package nor listed in NOT_WRAPPED: {missing}"
    wrong = [n for n in called if n in declared and excused(n)]
    assert not wrong, f"called, but listed as not wrapped: {wrong}"
    stale = [k for k in NOT_WRAPPED if not any(excused(n) == k for n in declared)]
    assert not stale, f"listed, but not in the headers: {stale}"
    assert all(reason for reason in NOT_WRAPPED.values())


def test_every_function_of_c_is_in_the_module():
    """Headers that the module does not declare would not be seen by the test above."""
    inline = set(re.findall(r"static inline[^;{]*?\b(kn_\w+)\s*\(", "".join(p.read_text() for p in (ROOT / "include/knuckle").glob("*.h"))))
    assert not [n for n in functions() if n not in inline and not hasattr(lib, n)]


def test_every_command_has_its_function(command):
    words = re.findall(r"^  (\w+) +\w", command("--help"), re.M)
    assert set(words) == {*COMMANDS, *NOT_HERE}
    assert all(hasattr(knuckle, f) for f in COMMANDS.values())


def test_version():
    assert knuckle.__version__ == re.search(r'^version = "(.*)"', (PACKAGE.parents[1] / "pyproject.toml").read_text(), re.M)[1]
