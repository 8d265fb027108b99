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

from ._kn import ffi as _ffi
from ._kn import lib as _lib
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
from .fit import Fit, FitParameter, fit
from .loads import Loads, LoadSum
from .look import View, view
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
    Sensor,
    SensorType,
    ShapeType,
    load,
    scenes,
)
from .pool import Linearization, Pool, PoolRun, Ranges
from .record import Recorder, Recording, Step, Verification, Violation, plot, read, record, verify
from .report import Answer, Contacts, Energy, EnergyRise, Event, Ledger, Mode, Report, Trouble, Verdict, VerdictKind
from .run import Run
from .sim import Compliance, Controller, Forces, Hybrid, Poses, Rollout, Settings, Sim, choices
from .solve import LcpFile, PMatrix, Solution, Solutions, enumerate_lcp, is_p_matrix, lcp_solvers, read_lcp, solve_cone, solve_lcp
from .spec import Spec
from .state import State
from .sweeps import sweep

__version__ = "0.1.0"


def features() -> dict[str, bool]:
    """What this build of the library can do beside simulating: hulls, recordings, study files, …"""
    out: dict[str, bool] = {}
    at = _lib.kn_features()
    while at[len(out)].name != _ffi.NULL:
        f = at[len(out)]
        out[_ffi.string(f.name).decode()] = bool(f.built)
    return out


__all__ = [
    "Actuator", "Answer", "BadArgumentError", "Body", "BusyError", "Certificate", "ClosedError", "Comparison", "Compliance", "Contacts",
    "Controller", "Diagnosis", "Energy", "EnergyRise", "Event", "FileError", "Fit", "FitParameter", "Forces", "Frame", "Geom", "Hybrid", "InfeasibleError",
    "InterruptedRunError", "Items", "Joint", "JointType", "Keyframe", "KnuckleError", "LcpFile", "Ledger", "Linearization", "LoadSum", "Loads", "Loop", "LoopType", "Material",
    "Mode", "ModeMatrix", "Model", "ModelError", "NamedArray", "NoSolutionError", "NotConvergedError", "NotFiniteError", "NotFoundError",
    "Note", "OutOfMemoryError", "PMatrix", "Pool", "PoolRun", "Poses", "Ranges", "ReadWriteError", "Recorder", "Recording", "Report", "Rollout", "Run",
    "Sensor", "SensorType", "Settings",
    "ShapeType", "Sim", "Solution", "Solutions", "Spec", "State", "Status", "Step", "Trial", "Trouble", "UnsupportedError", "Verdict",
    "VerdictKind", "Verification", "View", "Violation", "certify", "certify_impact", "choices", "compare", "diagnose", "enumerate_lcp", "features", "fit",
    "is_p_matrix", "lcp_solvers", "load", "mode_matrix", "plot", "read", "read_lcp", "record", "rod_compliance", "scenes", "solve_cone",
    "solve_lcp", "sweep", "verify", "view",
]
