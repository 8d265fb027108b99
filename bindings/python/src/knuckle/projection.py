"""Constrained dynamics by the linear projection operator (docs/projection.md): plain matrices, no bodies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ._kn import ffi, lib
from .arrays import Floats, frozen, given, pointer
from .errors import BadArgumentError, check


@dataclass(frozen=True)
class ProjectorMatrices:
    """P, Mo = P M P, Mc, Mo⁺, S (n x n) and A⁺ (n x m)."""

    P: Floats
    Mo: Floats
    Mc: Floats
    Mo_plus: Floats
    S: Floats
    A_plus: Floats


@dataclass(frozen=True)
class Constrained:
    """Accelerations `qdd` (n), constraint force `f` = Aᵀ λ (n), the multipliers `lam` of least norm (m), and which of them the motion determines."""

    qdd: Floats
    f: Floats
    lam: Floats
    determinate: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class ProjectionImpact:
    """Velocity after an impact, impulse `i_f` = Aᵀ i_lambda; `energy` (J) by the formula, `energy_difference` by ½ vᵀMv; gamma = K⁺ / K⁻;
    tensile: an impulse would have to pull."""

    v: Floats
    i_f: Floats
    i_lambda: Floats
    energy: float
    energy_difference: float
    gamma: float
    kinetic: float
    tensile: bool


class Projector:
    """M (n x n, symmetric positive definite) and constraint rows A (m x n, any rank), A v = 0.

    rank_tol: rows of unit length with less than this left after orthogonalisation follow from the others; 0: 1e-3. `rank`; `nu`, the
    virtual mass of the constrained directions; `condition` of Mc; `lambda_min`, `lambda_max`: nonzero eigenvalues of Mo.
    """

    def __init__(self, M: npt.ArrayLike, A: npt.ArrayLike, rank_tol: float = 0.0) -> None:
        mass = given(M, (None, None), "M")
        n = mass.shape[0]
        if mass.shape != (n, n) or not 1 <= n <= 10_000:
            raise BadArgumentError(f"M: shape {mass.shape}, expected n x n with n >= 1")
        rows = given(A, (None, n), "A")
        m = rows.shape[0]
        out = ffi.new("kn_projector**")
        check(lib.kn_projector_create(out, n, m))
        self._c = ffi.gc(out[0], lib.kn_projector_destroy)
        check(lib.kn_projector_set(self._c, n, m, pointer(mass), pointer(rows), float(given(rank_tol, (), "rank_tol"))))
        info = ffi.new("kn_projector_info*")
        check(lib.kn_projector_describe(info, self._c))
        self.n: int = n
        self.m: int = m
        self.rank: int = info.rank
        self.nu: float = info.nu
        self.condition: float = info.condition
        self.lambda_min: float = info.lambda_min
        self.lambda_max: float = info.lambda_max

    @property
    def matrices(self) -> ProjectorMatrices:
        """The operators themselves."""
        n, m = self.n, self.m
        parts = [np.zeros((n, n)) for _ in range(5)] + [np.zeros((n, m))]
        check(lib.kn_projector_write(ffi.new("kn_projector_matrices*", [pointer(x) for x in parts]), self._c))
        return ProjectorMatrices(*(frozen(x) for x in parts))

    def accelerate(self, force: npt.ArrayLike, Adot_v: npt.ArrayLike | None = None) -> Constrained:
        """Motion and constraint force under `force` = u - h (n); Adot_v: Ȧ v (m), 0 without."""
        u, bias = given(force, (self.n,), "force"), None if Adot_v is None else given(Adot_v, (self.m,), "Adot_v")
        qdd, f, lam, sure = np.zeros(self.n), np.zeros(self.n), np.zeros(self.m), np.zeros(max(self.m, 1), np.bool_)
        check(lib.kn_projector_accelerate(pointer(qdd), pointer(f), pointer(lam), ffi.from_buffer("bool[]", sure), self._c, pointer(u),
                                          ffi.NULL if bias is None else pointer(bias)))
        return Constrained(frozen(qdd), frozen(f), frozen(lam), frozen(sure[: self.m]))

    def impact(self, v: npt.ArrayLike, e: npt.ArrayLike, i_u: npt.ArrayLike | None = None) -> ProjectionImpact:
        """The rows are hit at once with velocity v (n), A v⁺ = -diag(e) A v⁻; i_u: external impulse (n)."""
        a, c = given(v, (self.n,), "v"), given(e, (self.m,), "e")
        push = None if i_u is None else given(i_u, (self.n,), "i_u")
        out, after, i_f, i_l = ffi.new("kn_projection_impact*"), np.zeros(self.n), np.zeros(self.n), np.zeros(self.m)
        check(lib.kn_projector_impact(out, pointer(after), pointer(i_f), pointer(i_l), self._c, pointer(a), pointer(c),
                                      ffi.NULL if push is None else pointer(push)))
        return ProjectionImpact(frozen(after), frozen(i_f), frozen(i_l), out.energy, out.energy_difference, out.gamma, out.kinetic, bool(out.tensile))

    def momentum(self, p: npt.ArrayLike, e: float, i_u: npt.ArrayLike | None = None) -> Floats:
        """The same impact on momenta p (n), one e for all rows: p⁺."""
        a, push = given(p, (self.n,), "p"), None if i_u is None else given(i_u, (self.n,), "i_u")
        out = np.zeros(self.n)
        check(lib.kn_projector_momentum(pointer(out), self._c, pointer(a), float(given(e, (), "e")), ffi.NULL if push is None else pointer(push)))
        return frozen(out)

    def __repr__(self) -> str:
        return f"<Projector: {self.n} coordinates, {self.m} rows of rank {self.rank}>"


__all__ = ["Constrained", "ProjectionImpact", "Projector", "ProjectorMatrices"]
