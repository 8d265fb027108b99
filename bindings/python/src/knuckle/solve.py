"""Complementarity problems without bodies: solving, judging, enumerating."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, nearest, path_text, pointer
from .errors import BadArgumentError, NotFiniteError, Status, check, failure, text_of
from .report import Answer, Verdict, verdict_of


@dataclass(frozen=True)
class Solution:
    """A solution and how good it is: `residual` is judged on the original data, scaled to any system of units.

    z: the unknowns; w: M z + q (for cones: velocities u = W r + q). determinate: which entries (for cones: contacts) every
    solution with the same w has.
    """

    status: Status
    z: Floats
    w: Floats
    residual: float
    solver: str
    iterations: int
    verdict: Verdict
    determinate: npt.NDArray[np.bool_]

    @property
    def solved(self) -> bool:
        """Is the residual within the tolerance?"""
        return self.status == Status.OK


@dataclass(frozen=True)
class PMatrix:
    """Is it a P-matrix (every LCP with it has exactly one solution)? `failing` lists rows of a minor that is not positive."""

    is_p: Answer
    failing: tuple[int, ...]
    value: float

    def __bool__(self) -> bool:
        return self.is_p == Answer.YES


@dataclass(frozen=True)
class Solutions:
    """All solutions of a small LCP. complete: every complementary cone was decided; continuum: some are not isolated."""

    z: Floats
    complete: bool
    continuum: bool
    motions_differ: bool

    def __len__(self) -> int:
        return len(self.z)


def _bounds(value: npt.ArrayLike | None, n: int, what: str) -> Floats | None:
    if value is None:
        return None
    array = given(value, (n,), what, finite=False)
    if np.isnan(array).any():
        raise NotFiniteError(f"{what}: holds a NaN", Status.NOT_FINITE)
    return array


def lcp_of(M: npt.ArrayLike, q: npt.ArrayLike, lo: npt.ArrayLike | None, hi: npt.ArrayLike | None) -> tuple[Any, int, list[Any]]:
    """As a `kn_lcp`, with its size and what must live as long."""
    matrix = given(M, (None, None), "M")
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n == 0:
        raise BadArgumentError(f"M: shape {matrix.shape}, expected n x n with n >= 1")
    vector = given(q, (n,), "q")
    low, high = _bounds(lo, n, "lo"), _bounds(hi, n, "hi")
    c = ffi.new("kn_lcp*", {"n": n, "M": pointer(matrix), "q": pointer(vector)})
    if low is not None:
        c.lo = pointer(low)
    if high is not None:
        c.hi = pointer(high)
    return c, n, [matrix, vector, low, high]


def _work(n: int) -> Any:
    out = ffi.new("kn_lcp_work**")
    check(lib.kn_lcp_work_create(out, 2 * n))
    return ffi.gc(out[0], lib.kn_lcp_work_destroy)


def _settings(tol: float, max_iterations: int) -> Any:
    s = ffi.new("kn_lcp_settings*", lib.kn_lcp_settings_default())
    s.tol = float(given(tol, (), "tol"))
    s.max_iterations = max_iterations
    return s


_ANSWERED = (Status.OK, Status.NOT_CONVERGED, Status.NO_SOLUTION)


def solve_lcp(M: npt.ArrayLike, q: npt.ArrayLike, lo: npt.ArrayLike | None = None, hi: npt.ArrayLike | None = None, *,
              solver: str = "auto", tol: float = 1e-10, max_iterations: int = 0) -> Solution:
    """z with w = M z + q, lo <= z <= hi and w_i >= 0 at lo, <= 0 at hi, 0 between (default: 0 <= z ⊥ w >= 0).

    solver: "auto" (picks, judges, falls back) or one of `lcp_solvers()`. A problem without a solution is an answer, not
    an exception: see `status` and `verdict`.
    """
    c, n, keep = lcp_of(M, q, lo, hi)
    z = np.zeros(n)
    info = ffi.new("kn_solve_info*")
    work, settings = _work(n), _settings(tol, max_iterations)
    if solver == "auto":
        status = lib.kn_lcp_solve(pointer(z), info, c, settings, work)
    else:
        found = lib.kn_lcp_solver_find(str(solver).encode())
        if found == ffi.NULL:
            raise nearest("LCP solver", solver, lcp_solvers())
        check(lib.kn_lcp_check(c))
        status = found.solve(pointer(z), info, c, settings, work)
    if status not in _ANSWERED:
        raise failure(status)
    verdict = ffi.new("kn_verdict*")
    check(lib.kn_lcp_verdict(verdict, c, pointer(z) if status == Status.OK else ffi.NULL, settings, work))
    determinate = np.zeros(n, dtype=np.bool_)
    if status == Status.OK:
        check(lib.kn_lcp_determinate(ffi.cast("bool*", ffi.from_buffer(determinate)), ffi.NULL, ffi.NULL, c, pointer(z), work))
    w = keep[0] @ z + keep[1]
    return Solution(Status(status), frozen(z), frozen(w), info.residual_scaled, text_of(info.solver), info.iterations, verdict_of(verdict),
                    frozen(determinate))


def lcp_solvers() -> list[str]:
    """Names of the solvers for `solve_lcp`."""
    count = ffi.new("int*")
    at = lib.kn_lcp_solvers(count)
    return [text_of(at[i].name) for i in range(count[0])]


def cone_problem(W: npt.ArrayLike, q: npt.ArrayLike, mu: npt.ArrayLike, dimension: int, free: int) -> tuple[Any, int, int, list[Any]]:
    """As a `kn_problem`, with its rows, its blocks and what must live as long."""
    matrix = given(W, (None, None), "W")
    n = matrix.shape[0]
    if not isinstance(free, (int, np.integer)) or not 0 <= free <= n:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadArgumentError(f"free is {free!r}, expected 0 … {n}")
    if dimension not in (2, 3) or n == 0 or (n - free) % dimension or matrix.shape != (n, n):
        raise BadArgumentError(f"W: shape {matrix.shape}, expected n x n with n - free a multiple of {dimension} (dimension 2 or 3)")
    vector = given(q, (n,), "q")
    m = (n - free) // dimension
    friction = given(np.broadcast_to(np.asarray(mu, dtype=np.float64), (m,)) if np.ndim(np.asarray(mu)) == 0 else mu, (m,), "mu")
    if (friction < 0).any():
        raise BadArgumentError("mu: expected numbers >= 0")
    blocks = ffi.new("kn_block[]", max(m + free, 1))
    for i in range(m):
        blocks[i].set = lib.KN_SET_CONE3 if dimension == 3 else lib.KN_SET_CONE2
        blocks[i].row, blocks[i].mu = dimension * i, friction[i]
    for i in range(free):
        blocks[m + i].set, blocks[m + i].row = lib.KN_SET_FREE, dimension * m + i
    problem = ffi.new("kn_problem*", {"rows": n, "blocks": m + free, "block": blocks, "W": pointer(matrix), "q": pointer(vector)})
    return problem, n, m + free, [matrix, vector, blocks]


def solve_cone(W: npt.ArrayLike, q: npt.ArrayLike, mu: npt.ArrayLike, *, dimension: int = 3, free: int = 0, solver: str = "driver",
               tol: float = 1e-10, max_iterations: int = 0) -> Solution:
    """Contact impulses r with u = W r + q and Coulomb's law in every contact: u_n >= 0, r_n >= 0, |r_t| <= mu r_n.

    Rows come contact by contact (normal, tangent 1, tangent 2), or (normal, tangent) with dimension=2. mu: one number, or
    one per contact. free: so many rows at the end are equalities, u = 0. solver: one of `choices("solver")`.
    """
    problem, n, m, keep = cone_problem(W, q, mu, dimension, free)
    matrix, vector = keep[0], keep[1]
    out = ffi.new("kn_solver_work**")
    check(lib.kn_solver_work_for(out, problem))
    work = ffi.gc(out[0], lib.kn_solver_work_destroy)
    settings = ffi.new("kn_solve_settings*", lib.kn_solve_default())
    name = ffi.new("char[]", str(solver).encode())
    settings.solver, settings.tol, settings.max_iterations = name, float(given(tol, (), "tol")), max_iterations
    r, info = np.zeros(n), ffi.new("kn_solve_info*")
    status = lib.kn_problem_solve(pointer(r), info, problem, settings, work)
    if status not in _ANSWERED:
        raise failure(status)
    verdict = ffi.new("kn_verdict*")
    check(lib.kn_problem_verdict(verdict, problem, pointer(r) if status == Status.OK else ffi.NULL, work))
    determinate = np.zeros(m, dtype=np.bool_)
    if status == Status.OK:
        check(lib.kn_problem_determinate(ffi.cast("bool*", ffi.from_buffer(determinate)), ffi.NULL, ffi.NULL, problem, pointer(r), _work(n)))
    return Solution(Status(status), frozen(r), frozen(matrix @ r + vector), info.residual_scaled, text_of(info.solver), info.iterations,
                    verdict_of(verdict), frozen(determinate))


def is_p_matrix(A: npt.ArrayLike) -> PMatrix:
    """Is A a P-matrix? Undecided where a minor is too close to zero, or beyond 26 rows."""
    matrix = given(A, (None, None), "A")
    n = matrix.shape[0]
    if matrix.shape != (n, n) or n == 0:
        raise BadArgumentError(f"A: shape {matrix.shape}, expected n x n with n >= 1")
    out = ffi.new("kn_pmatrix*")
    check(lib.kn_pmatrix_test(out, n, pointer(matrix), n))
    return PMatrix(Answer(out.is_p), tuple(i for i in range(64) if out.failing >> i & 1), out.value)


def enumerate_lcp(M: npt.ArrayLike, q: npt.ArrayLike, lo: npt.ArrayLike | None = None, hi: npt.ArrayLike | None = None, *,
                  capacity: int = 1024, tol: float = 1e-10) -> Solutions:
    """All solutions of a small LCP (up to 20 rows)."""
    c, n, keep = lcp_of(M, q, lo, hi)
    if not 1 <= capacity <= 1 << 20:
        raise BadArgumentError(f"capacity is {capacity}, expected 1 … {1 << 20}")
    z = np.zeros((capacity, n))
    out = ffi.new("kn_lcp_enumeration*")
    status = lib.kn_lcp_enumerate(pointer(z), capacity, out, c, _settings(tol, 0), _work(n))
    del keep
    if status not in _ANSWERED:
        raise failure(status)
    return Solutions(frozen(z[: min(out.count, capacity)].copy()), bool(out.complete), bool(out.continuum), bool(out.motions_differ))


@dataclass(frozen=True)
class LcpFile:
    """An LCP read from a file. Of a file with bodies at rest (mass matrix M, contact rows J, forces Q: `solve_frictionless`) q is empty."""

    M: Floats
    q: Floats
    lo: Floats | None
    hi: Floats | None
    title: str
    J: Floats | None = None
    Q: Floats | None = None


def read_lcp(path: str | os.PathLike[str], data: bytes | None = None) -> LcpFile:
    """An LCP from a JSON, Siconos .dat or binary .lcp file. data: the file's bytes, instead of the disk."""
    out, name = ffi.new("kn_lcp_file*"), os.fsencode(path_text(path))
    if data is None:
        check(lib.kn_lcp_file_read(out, name))
    else:
        check(lib.kn_lcp_file_parse(out, name, ffi.from_buffer(data), len(data)))
    try:
        n = out.lcp.n

        def some(p: Any, count: int) -> Floats | None:
            return None if p == ffi.NULL else frozen(np.frombuffer(ffi.buffer(p, 8 * count), np.float64).copy())

        f = out.frictionless
        if f.n > 0:
            mass, Q = some(f.M, f.n * f.n), some(f.Q, f.n)
            assert mass is not None and Q is not None
            rows = some(f.J, f.m * f.n) if f.m else np.zeros(0)
            return LcpFile(mass.reshape(f.n, f.n), frozen(np.zeros(0)), None, None, text_of(out.title), None if rows is None else rows.reshape(f.m, f.n), Q)
        M, q = some(out.lcp.M, n * n), some(out.lcp.q, n)
        assert M is not None and q is not None
        return LcpFile(M.reshape(n, n), q, some(out.lcp.lo, n), some(out.lcp.hi, n), text_of(out.title))
    finally:
        lib.kn_lcp_file_free(out)


__all__: Sequence[str] = ["LcpFile", "PMatrix", "Solution", "Solutions", "cone_problem", "enumerate_lcp", "is_p_matrix", "lcp_of", "lcp_solvers", "read_lcp", "solve_cone",
                          "solve_lcp"]
