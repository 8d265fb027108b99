"""Knuckle: contact and collision dynamics of articulated rigid bodies, with a verdict for every step.

    import knuckle
    model = knuckle.load("robot.xml")       # or a built-in scene: knuckle.load("pendulum-2014")
    sim = knuckle.Sim(model)
    print(sim.run(1.0))                     # residual, energy, troubles, state hash
    print(sim.contacts)                     # forces, and whether the motion determines them
    print(sim.q["elbow"], sim.sensors["imu_acc"], sim.body_poses.p)

Arrays follow one rule: `q`, `v`, `ctrl`, `force` are live, writable views of the state that keep it alive; everything the
library reports is a read-only snapshot. SI units; quaternions are (w, x, y, z); same words as in C and on the command line.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from ._kn import ffi as _ffi
from ._kn import lib as _lib
from .arrays import NamedArray
from .errors import (
    BadArgumentError,
    BusyError,
    ClosedError,
    FileError,
    InfeasibleError,
    InterruptedRunError,
    KnuckleError,
    ModelError,
    NoSolutionError,
    NotConvergedError,
    NotFiniteError,
    NotFoundError,
    OutOfMemoryError,
    ReadWriteError,
    Status,
    UnsupportedError,
)
from .model import (
    Actuator,
    Body,
    Frame,
    Geom,
    Items,
    Joint,
    JointType,
    Keyframe,
    Loop,
    LoopType,
    Material,
    Model,
    Note,
    Pair,
    Sensor,
    SensorType,
    ShapeType,
    Visual,
    load,
    scenes,
)
from .poses import Pose, Poses
from .report import Answer, Contacts, Energy, EnergyRise, Event, Ledger, Mode, Report, Trouble, Verdict, VerdictKind
from .run import Run
from .sim import Compliance, Controller, Forces, Hybrid, Rollout, Settings, Sim, choices
from .state import State

if _TYPE_CHECKING:  # at run time these come with their first use (_LATER): a first step does not wait for them
    from .analyse import (
        Certificate,
        Comparison,
        Diagnosis,
        ModeMatrix,
        Trial,
        certify,
        certify_impact,
        compare,
        diagnose,
        mode_matrix,
        rod_compliance,
    )
    from .batch import Batch
    from .broad import Broad
    from .fitting import Fit, FitParameter, fit
    from .loads import Loads, LoadSum
    from .look import View, view
    from .meshes import MassProps, MeshData, MeshInfo, principal_axes, read_mesh
    from .pool import Linearization, Pool, PoolRun, Ranges
    from .problems import (
        FclibFile,
        FrictionlessSolution,
        QpSolution,
        certify_frictionless,
        certify_lmi,
        certify_rho,
        lcp_residual,
        problem_error,
        qp_residual,
        read_fclib,
        solve_frictionless,
        solve_qp,
        write_fclib,
        write_lcp,
    )
    from .projection import Constrained, ProjectionImpact, Projector, ProjectorMatrices
    from .recording import Recorder, Recording, Step, Verification, Violation, plot, read, record, verify
    from .shapes import (
        Distance,
        Impact,
        Manifold,
        RayHit,
        Shape,
        Sweep,
        distance,
        line_ellipse,
        manifold_query,
        ray_cast,
        shape_box,
        shape_massprops,
        support,
        time_of_impact,
    )
    from .solve import LcpFile, PMatrix, Solution, Solutions, enumerate_lcp, is_p_matrix, lcp_solvers, read_lcp, solve_cone, solve_lcp
    from .spec import Spec
    from .sweeps import sweep

_LATER: dict[str, str] = {name: module for module, names in {
    "analyse": "Certificate Comparison Diagnosis ModeMatrix Trial certify certify_impact compare diagnose mode_matrix rod_compliance",
    "batch": "Batch",
    "broad": "Broad",
    "fitting": "Fit FitParameter fit",
    "loads": "Loads LoadSum",
    "look": "View view",
    "meshes": "MassProps MeshData MeshInfo principal_axes read_mesh",
    "pool": "Linearization Pool PoolRun Ranges",
    "problems": "FclibFile FrictionlessSolution QpSolution certify_frictionless certify_lmi certify_rho lcp_residual problem_error qp_residual read_fclib solve_frictionless solve_qp write_fclib write_lcp",
    "projection": "Constrained ProjectionImpact Projector ProjectorMatrices",
    "recording": "Recorder Recording Step Verification Violation plot read record verify",
    "shapes": "Distance Impact Manifold RayHit Shape Sweep distance line_ellipse manifold_query ray_cast shape_box shape_massprops support time_of_impact",
    "solve": "LcpFile PMatrix Solution Solutions enumerate_lcp is_p_matrix lcp_solvers read_lcp solve_cone solve_lcp",
    "spec": "Spec",
    "sweeps": "sweep",
}.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'knuckle' has no attribute {name!r}")
    thing: object = getattr(_import_module(f"knuckle.{_LATER[name]}"), name)
    globals()[name] = thing
    return thing


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__version__: str = _ffi.string(_lib.kn_version()).decode()


def features() -> dict[str, bool]:
    """What this build of the library can do beside simulating: hulls, recordings, study files, …"""
    out: dict[str, bool] = {}
    at = _lib.kn_features()
    while at[len(out)].name != _ffi.NULL:
        f = at[len(out)]
        out[_ffi.string(f.name).decode()] = bool(f.built)
    return out


__all__ = [
    "Actuator", "Answer", "BadArgumentError", "Batch", "Body", "Broad", "BusyError", "Certificate", "ClosedError", "Comparison",
    "Compliance", "Constrained", "Contacts", "Controller", "Diagnosis", "Distance", "Energy", "EnergyRise", "Event", "FclibFile",
    "FileError", "Fit", "FitParameter", "Forces", "Frame", "FrictionlessSolution", "Geom", "Hybrid", "Impact", "InfeasibleError",
    "InterruptedRunError", "Items", "Joint", "JointType", "Keyframe", "KnuckleError", "LcpFile", "Ledger", "Linearization", "LoadSum",
    "Loads", "Loop", "LoopType", "Manifold", "MassProps", "Material", "MeshData", "MeshInfo", "Mode", "ModeMatrix", "Model",
    "ModelError", "NamedArray", "NoSolutionError", "NotConvergedError", "NotFiniteError", "NotFoundError", "Note", "OutOfMemoryError",
    "PMatrix", "Pair", "Pool", "PoolRun", "Pose", "Poses", "ProjectionImpact", "Projector", "ProjectorMatrices", "QpSolution",
    "Ranges", "RayHit", "ReadWriteError", "Recorder", "Recording", "Report", "Rollout", "Run", "Sensor", "SensorType", "Settings",
    "Shape", "ShapeType", "Sim", "Solution", "Solutions", "Spec", "State", "Status", "Step", "Sweep", "Trial", "Trouble",
    "UnsupportedError", "Verdict", "VerdictKind", "Verification", "View", "Violation", "Visual", "certify", "certify_frictionless",
    "certify_impact", "certify_lmi", "certify_rho", "choices", "compare", "diagnose", "distance", "enumerate_lcp", "features", "fit",
    "is_p_matrix", "lcp_residual", "lcp_solvers", "line_ellipse", "load", "manifold_query", "mode_matrix", "plot",
    "principal_axes", "problem_error", "qp_residual", "ray_cast", "read", "read_fclib", "read_lcp", "read_mesh", "record",
    "rod_compliance", "scenes", "shape_box", "shape_massprops", "solve_cone", "solve_frictionless", "solve_lcp", "solve_qp",
    "support", "sweep", "time_of_impact", "verify", "view", "write_fclib", "write_lcp",
]
