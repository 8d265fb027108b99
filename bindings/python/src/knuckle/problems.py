"""More problems without bodies: judges, quadratic programs, frictionless contact, files of FCLIB and of LCPs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, path_text, pointer, snapshot
from .errors import BadArgumentError, Status, check, failure, text_of
from .solve import cone_problem, lcp_of


def lcp_residual(M: npt.ArrayLike, q: npt.ArrayLike, z: npt.ArrayLike, lo: npt.ArrayLike | None = None, hi: npt.ArrayLike | None = None) -> tuple[float, float]:
    """How far z is from solving an LCP: the natural map on the original data, and scaled to any system of units (the judge's number)."""
    c, n, _keep = lcp_of(M, q, lo, hi)
    point = given(z, (n,), "z")
    return lib.kn_lcp_residual(c, pointer(point)), lib.kn_lcp_residual_scaled(c, pointer(point))


def problem_error(W: npt.ArrayLike, q: npt.ArrayLike, mu: npt.ArrayLike, r: npt.ArrayLike, *, dimension: int = 3, free: int = 0) -> tuple[float, float]:
    """How far impulses r are from Coulomb's law: the error of FCLIB and Siconos, and the largest of a contact, scaled (the judge's number)."""
    problem, n, _m, _keep = cone_problem(W, q, mu, dimension, free)
    x = given(r, (n,), "r")
    return lib.kn_problem_error(problem, pointer(x)), lib.kn_problem_error_scaled(problem, pointer(x))


@dataclass(frozen=True)
class QpSolution:
    """x, and the multipliers y of H x + g = Aᵀ y (>= 0 at lo, <= 0 at hi). residual: largest violation, relative to the terms summed."""

    status: Status
    x: Floats
    y: Floats
    residual: float
    iterations: int

    @property
    def solved(self) -> bool:
        """Is it solved to the tolerance?"""
        return self.status == Status.OK


def solve_qp(H: npt.ArrayLike, g: npt.ArrayLike, A: npt.ArrayLike | None = None, lo: npt.ArrayLike | None = None,
             hi: npt.ArrayLike | None = None, *, tol: float = 1e-10) -> QpSolution:
    """min ½ xᵀ H x + gᵀ x with lo <= A x <= hi; H symmetric positive semidefinite. lo = hi: an equality; None or infinite: no bound.

    Rows that contradict each other: InfeasibleError.
    """
    matrix = given(H, (None, None), "H")
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n == 0:
        raise BadArgumentError(f"H: shape {matrix.shape}, expected n x n with n >= 1")
    vector, rows = given(g, (n,), "g"), np.zeros((0, n)) if A is None else given(A, (None, n), "A")
    m = rows.shape[0]
    bounds = [None if b is None else given(b, (m,), name, finite=False) for b, name in ((lo, "lo"), (hi, "hi"))]
    if any(b is not None and np.isnan(b).any() for b in bounds):
        raise BadArgumentError("lo, hi: hold a NaN")
    qp = ffi.new("kn_qp*", {"n": n, "m": m, "H": pointer(matrix), "g": pointer(vector), "A": pointer(rows)})
    qp.lo, qp.hi = (ffi.NULL if b is None else pointer(b) for b in bounds)
    settings = ffi.new("kn_lcp_settings*", lib.kn_lcp_settings_default())
    settings.tol = float(given(tol, (), "tol"))
    x, y, info = np.zeros(n), np.zeros(m), ffi.new("kn_solve_info*")
    status = lib.kn_qp_solve(pointer(x), pointer(y), info, qp, settings, ffi.NULL)
    if status not in (Status.OK, Status.NOT_CONVERGED):
        raise failure(status)
    return QpSolution(Status(status), frozen(x), frozen(y), info.residual, info.iterations)


def qp_residual(H: npt.ArrayLike, g: npt.ArrayLike, A: npt.ArrayLike, lo: npt.ArrayLike, hi: npt.ArrayLike, x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Largest violation of stationarity, bounds and complementarity by x and y, relative to the terms summed."""
    matrix = given(H, (None, None), "H")
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n == 0:
        raise BadArgumentError(f"H: shape {matrix.shape}, expected n x n with n >= 1")
    vector, rows = given(g, (n,), "g"), given(A, (None, n), "A")
    m = rows.shape[0]
    low, high = given(lo, (m,), "lo", finite=False), given(hi, (m,), "hi", finite=False)
    a, b = given(x, (n,), "x"), given(y, (m,), "y")
    qp = ffi.new("kn_qp*", {"n": n, "m": m, "H": pointer(matrix), "g": pointer(vector), "A": pointer(rows), "lo": pointer(low), "hi": pointer(high)})
    return lib.kn_qp_residual(qp, pointer(a), pointer(b))


@dataclass(frozen=True)
class FrictionlessSolution:
    """Accelerations `a` (n) and contact forces `lam` (m, N) of bodies at rest without friction.

    gap: duality gap, 0 for the answer; overlap: largest -(J a)_i, relative: 0 or rounding; norm: |a|_M.
    """

    a: Floats
    lam: Floats
    method: str
    gap: float
    overlap: float
    norm: float
    iterations: int


def _frictionless(M: npt.ArrayLike, J: npt.ArrayLike, Q: npt.ArrayLike) -> tuple[Any, int, int, list[Any]]:
    mass = given(M, (None, None), "M")
    n = mass.shape[0]
    if mass.shape != (n, n) or n == 0:
        raise BadArgumentError(f"M: shape {mass.shape}, expected n x n with n >= 1")
    rows, force = given(J, (None, n), "J"), given(Q, (n,), "Q")
    m = rows.shape[0]
    return ffi.new("kn_frictionless*", {"n": n, "m": m, "M": pointer(mass), "J": pointer(rows), "Q": pointer(force)}), n, m, [mass, rows, force]


def solve_frictionless(M: npt.ArrayLike, J: npt.ArrayLike, Q: npt.ArrayLike, method: str = "force") -> FrictionlessSolution:
    """How bodies at rest begin to move: mass matrix M (n x n), contact normals J (m x n), forces Q (n). method: `choices("frictionless")`."""
    c, n, m, _keep = _frictionless(M, J, Q)
    a, lam, info = np.zeros(n), np.zeros(m), ffi.new("kn_frictionless_info*")
    check(lib.kn_frictionless_solve(pointer(a), pointer(lam), info, c, str(method).encode()))
    return FrictionlessSolution(frozen(a), frozen(lam), text_of(info.method), info.gap, info.overlap, info.norm, info.iterations)


def certify_frictionless(M: npt.ArrayLike, J: npt.ArrayLike, Q: npt.ArrayLike, a: npt.ArrayLike, lam: npt.ArrayLike) -> tuple[float, float]:
    """Duality gap and overlap of any a (n) and lam (m), whoever made them: both 0 (or rounding) for the answer only."""
    c, n, m, _keep = _frictionless(M, J, Q)
    x, y, info = given(a, (n,), "a"), given(lam, (m,), "lam"), ffi.new("kn_frictionless_info*")
    check(lib.kn_frictionless_certify(info, c, pointer(x), pointer(y)))
    return info.gap, info.overlap


def write_lcp(path: str | os.PathLike[str], M: npt.ArrayLike, q: npt.ArrayLike, lo: npt.ArrayLike | None = None, hi: npt.ArrayLike | None = None, *,
              title: str = "", z: npt.ArrayLike | None = None) -> None:
    """An LCP as a JSON file that `read_lcp` and `knuckle solve` read, numbers with 17 digits; z: a solution beside it."""
    c, n, _keep = lcp_of(M, q, lo, hi)
    point = None if z is None else given(z, (n,), "z")
    check(lib.kn_lcp_file_write(os.fsencode(path_text(path)), c, str(title).encode(), ffi.NULL if point is None else pointer(point)))


@dataclass(frozen=True)
class FclibFile:
    """A friction problem of FCLIB: u = W r + q, W dense (n x n), mu per contact, `dimension` rows each, then `free` equality rows.

    as_stored: "local" or "global" (M, H, f, w: condensed when read). `solve_cone(W, q, mu, dimension=…, free=…)` solves it.
    """

    W: Floats = field(repr=False)
    q: Floats = field(repr=False)
    mu: Floats = field(repr=False)
    dimension: int
    free: int
    as_stored: str
    title: str


def read_fclib(path: str | os.PathLike[str], *, trusted: bool = False) -> FclibFile:
    """A friction problem from an HDF5 file of FCLIB; where the library was built with HDF5 (`features()`), otherwise UnsupportedError.

    Read in a child process, because damaged files crash the HDF5 library; trusted=True: in this one.
    """
    out = ffi.gc(ffi.new("kn_fclib*"), lib.kn_fclib_free)
    check((lib.kn_fclib_read_trusted if trusted else lib.kn_fclib_read)(out, os.fsencode(path_text(path))))
    p = out.problem
    n, contacts, d = int(p.rows), int(out.contacts), int(out.dimension)
    sizes = [int(lib.kn_set_rows(p.block[b].set)) for b in range(p.blocks)]
    W = np.zeros((n, n)) if p.W == ffi.NULL else snapshot(p.W, n * n).reshape(n, n)
    if p.sparse != ffi.NULL:
        s = p.sparse
        for b, rows in enumerate(sizes):
            for k in range(s.start[b], s.start[b + 1]):
                col = int(s.col[k])
                cols, i, j = sizes[col], p.block[b].row, p.block[col].row
                W[i:i + rows, j:j + cols] = snapshot(s.value + s.at[k], rows * cols).reshape(rows, cols)
    mu = np.array([p.block[b].mu for b in range(contacts)])
    return FclibFile(frozen(W), snapshot(p.q, n), frozen(mu), d, n - d * contacts, "global" if getattr(out, "global") else "local", text_of(out.title))


def write_fclib(path: str | os.PathLike[str], W: npt.ArrayLike, q: npt.ArrayLike, mu: npt.ArrayLike, *, dimension: int = 3, free: int = 0,
                title: str = "", r: npt.ArrayLike | None = None) -> None:
    """A friction problem as an HDF5 file of FCLIB, local form; r: a solution beside it. Where built with HDF5, otherwise UnsupportedError."""
    problem, n, _m, _keep = cone_problem(W, q, mu, dimension, free)
    point = None if r is None else given(r, (n,), "r")
    check(lib.kn_fclib_write(os.fsencode(path_text(path)), problem, str(title).encode(), ffi.NULL if point is None else pointer(point)))


def certify_rho(W: npt.ArrayLike, e: npt.ArrayLike) -> float:
    """ρ of restitution e (k) at contacts with compliance W (k x k): above 1 an impact can create energy. See `certify`."""
    matrix, wanted = _certified(W, e)
    out = ffi.new("double*")
    check(lib.kn_certify_rho(out, len(wanted), pointer(matrix), pointer(wanted)))
    return out[0]


def certify_lmi(W: npt.ArrayLike, e: npt.ArrayLike) -> Floats:
    """The nearest restitution that creates no energy by semidefinite programming, to check `certify`; UnsupportedError without DSDP."""
    matrix, wanted = _certified(W, e)
    out = np.zeros(len(wanted))
    check(lib.kn_certify_lmi(pointer(out), len(wanted), pointer(matrix), pointer(wanted)))
    return frozen(out)


def _certified(W: npt.ArrayLike, e: npt.ArrayLike) -> tuple[Floats, Floats]:
    matrix = given(W, (None, None), "W")
    k = matrix.shape[0]
    if matrix.shape != (k, k) or not 1 <= k <= lib.KN_CERTIFY_CONTACTS:
        raise BadArgumentError(f"W: shape {matrix.shape}, expected k x k with 1 <= k <= {lib.KN_CERTIFY_CONTACTS}")
    return matrix, given(e, (k,), "e")
