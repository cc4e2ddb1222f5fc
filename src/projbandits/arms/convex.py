"""Convex sets of arms: what they share, and the ball, the ellipsoid and the box."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from projbandits._validation import Array, integer, positive, real_array, real_vector
from projbandits.arms.base import Arm, ConvexFunction, DecisionSet, independent_rows
from projbandits.subspace import Subspace

FLAT = 1e-7
"""A set thinner than this, relative to its longest side, counts as flat: that may be round-off."""


class ConvexSet(DecisionSet):
    """A convex set, known by its support points.

    A subclass gives `d`, `longest`, `contains` and `supports`.

    Examples
    --------
    The cross-polytope {x : |x_1| + ... + |x_d| <= 1}.

    >>> import numpy as np, projbandits as pb
    >>> class Diamond(pb.ConvexSet):
    ...     d, longest = 3, 1.0
    ...     def contains(self, x, tolerance=1e-9):
    ...         return bool(np.abs(x).sum() <= 1 + tolerance)
    ...     def supports(self, directions):
    ...         at = np.abs(directions).argmax(axis=1)[:, None]
    ...         points = np.zeros_like(directions)
    ...         signs = np.sign(np.take_along_axis(directions, at, axis=1))
    ...         np.put_along_axis(points, at, signs, axis=1)
    ...         return points
    >>> Diamond().maximize([1.0, -3.0, 2.0])
    array([ 0., -1.,  0.])
    >>> Diamond().rank
    3
    """

    _given_tie: Array | None = None

    @abstractmethod
    def supports(self, directions: Array) -> Array:
        """Return argmax <direction, x> for each row of a checked m x d matrix.

        In direction 0 any point will do: `maximizers` puts `tie` there.
        """

    def maximizers(self, directions: Array) -> Array:
        """Return the support points of a checked m x d matrix, and `tie` for rows of zeros."""
        points = self.supports(directions)
        still = ~directions.any(axis=1)
        if still.any():
            points[still] = self.tie
        return points

    @property
    def tie(self) -> Array:
        """The point for direction 0, where every point is a maximiser.

        By default it is the first arm of D_k. A strategy without data aims in direction 0, and
        learns something from an arm of D_k; from the centre of a ball around 0 it learns nothing.
        """
        if self._given_tie is not None:
            return self._given_tie
        basis = self.basis_arms()
        return basis[0].x if basis else self.spanning_points[0]

    def _break_ties(self, tie: npt.ArrayLike | None) -> None:
        """Take the point that the user chose for direction 0, if it lies in the set."""
        if tie is None:
            return
        point = real_vector("tie", tie, self.d)
        if not self.contains(point):
            raise ValueError(f"tie must lie in the set, got {point.tolist()} for {self!r}")
        self._given_tie = point

    @property
    def _tie_text(self) -> str:
        """How `repr` shows the point that the user chose."""
        return "" if self._given_tie is None else f", tie={self._given_tie.tolist()}"

    @property
    def size(self) -> float:
        """The number of arms |D|, infinite."""
        return math.inf

    def best(self, direction: npt.ArrayLike) -> Arm:
        """Return the support point in the given direction, and `tie` in direction 0."""
        return Arm(self.maximizers(real_vector("direction", direction, self.d)[None])[0])

    def best_convex(self, function: ConvexFunction) -> Arm:
        """Return the best point reached by repeated support points from several starts.

        From x, go to the support point of the gradient at x. The function lies above its
        tangents, so its value never falls; the search ends when no step gains. It may end at a
        local maximum, so it starts from the support points along the axes and from those in the
        directions that the function proposes.
        """
        X = np.vstack([self.spanning_points, self.maximizers(function.directions())])
        heights = function.value(X)
        going = np.arange(len(X))
        for _ in range(1000):
            before = heights[going]
            X[going] = self.maximizers(function.gradient(X[going]))
            heights[going] = function.value(X[going])
            gains, top = heights[going] - before, heights.max()
            # Gains shrink geometrically: a start is done when it no longer gains, or when a
            # hundred more such steps would not bring it to the top.
            going = going[(gains > 1e-10 * abs(top)) & (heights[going] + 100 * gains >= top)]
            if len(going) == 0:
                break
        # Symmetric sets have equal maxima; the first start wins, not the luck of rounding.
        return Arm(X[int((heights >= top - 1e-9 * abs(top)).argmax())])

    def basis_arms(self, method: str = "pivoted-qr") -> tuple[Arm, ...]:
        """Return D_k: k independent support points.

        They are chosen among the support points along the coordinate axes (first all positive
        directions, then all negative ones). If those span less than the set does, support points
        in the missing directions are added.
        """
        if method not in self._bases:
            points = self.spanning_points
            rows = independent_rows(points, method, tolerance=FLAT)
            self._bases[method] = tuple(Arm(points[i]) for i in rows)
        return self._bases[method]

    @cached_property
    def _bases(self) -> dict[str, tuple[Arm, ...]]:
        return {}

    @cached_property
    def spanning_points(self) -> Array:
        """Support points along the coordinate axes, and as many more as it takes to span D."""
        axes = np.eye(self.d)
        points = self.supports(np.vstack([axes, -axes]))
        _, first = np.unique(points, axis=0, return_index=True)
        points = points[np.sort(first)]  # on the entropy ball, 0 would appear d times
        while True:
            size = np.linalg.norm(points, axis=1).max()
            rows = independent_rows(points, "pivoted-qr", tolerance=FLAT)
            if len(rows) == self.d:
                return points
            left_out = np.eye(self.d)
            if rows:
                left_out = Subspace.span(points[rows].T).complement().basis
            new = self.supports(np.vstack([left_out.T, -left_out.T]))
            outside = np.abs(new @ left_out).max(axis=1) > FLAT * size
            if not outside.any():
                return points
            points = np.vstack([points, new[outside]])


class Ball(ConvexSet):
    """The ball {x : |x - center| <= radius}.

    Parameters
    ----------
    d : int
        The dimension.
    radius : float
        Its radius.
    center : array of shape (d,), optional
        Its centre, the origin by default.
    tie : array of shape (d,), optional
        The point to play in direction 0; see `ConvexSet.tie`.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.Ball(d=2, radius=5.0).maximize([3.0, 4.0])
    array([3., 4.])
    """

    def __init__(
        self,
        d: int,
        radius: float = 1.0,
        center: npt.ArrayLike | None = None,
        *,
        tie: npt.ArrayLike | None = None,
    ) -> None:
        self._d = integer("d", d, least=1)
        self.radius = positive("radius", radius)
        self.center = np.zeros(d) if center is None else real_vector("center", center, d)
        self._break_ties(tie)

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return self._d

    @property
    def longest(self) -> float:
        """The largest |x|, Z of Assumption 2."""
        return float(np.linalg.norm(self.center)) + self.radius

    def supports(self, directions: Array) -> Array:
        """Return the points of the sphere in the given directions."""
        return self.center + self.radius * _units(directions)

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the ball, up to a tolerance relative to its size."""
        distance = np.linalg.norm(real_vector("x", x, self.d) - self.center)
        return bool(distance <= self.radius + tolerance * self.longest)

    def __repr__(self) -> str:
        center = f", center={self.center.tolist()}" if self.center.any() else ""
        return f"Ball(d={self.d}, radius={self.radius}{center}{self._tie_text})"


class Ellipsoid(ConvexSet):
    """The ellipsoid {center + shape^(1/2) z : |z| <= 1}.

    Parameters
    ----------
    shape : array of shape (d, d)
        A symmetric positive semi-definite matrix; for a definite one the set is
        {x : (x - center)^T shape^-1 (x - center) <= 1}.
    center : array of shape (d,), optional
        Its centre, the origin by default.
    tie : array of shape (d,), optional
        The point to play in direction 0; see `ConvexSet.tie`.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> pb.Ellipsoid(np.diag([4.0, 1.0]), center=[1.0, 0.0]).maximize([1.0, 0.0])
    array([3., 0.])
    """

    def __init__(
        self,
        shape: npt.ArrayLike,
        center: npt.ArrayLike | None = None,
        *,
        tie: npt.ArrayLike | None = None,
    ) -> None:
        S = real_array("shape", shape, ndim=2)
        if S.shape[0] != S.shape[1]:
            raise ValueError(f"shape must be a square matrix, got one of shape {S.shape}")
        if not np.allclose(S, S.T, rtol=1e-10, atol=0):
            raise ValueError("shape must be symmetric, got one that is not: pass (S + S.T) / 2")
        if len(S) == 0:
            raise ValueError("shape must have at least one row, got none")
        values, axes = np.linalg.eigh((S + S.T) / 2)
        if values[0] < -1e-10 * abs(values[-1]) or values[-1] <= 0:
            raise ValueError(
                "shape must be positive semi-definite and not zero, got smallest and largest "
                f"eigenvalues {values[0]:.6g} and {values[-1]:.6g}"
            )
        self.shape: Array = (S + S.T) / 2
        self.center = np.zeros(len(S)) if center is None else real_vector("center", center, len(S))
        self.lengths: Array = np.sqrt(np.maximum(values, 0.0))
        self.axes: Array = axes
        self._break_ties(tie)

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return len(self.center)

    @property
    def longest(self) -> float:
        """A bound on |x|: the centre's length plus the longest half-axis."""
        return float(np.linalg.norm(self.center) + self.lengths[-1])

    def supports(self, directions: Array) -> Array:
        """Return the boundary points with these outward normals."""
        units = _units(directions)
        pulled = units @ self.shape
        lengths = np.sqrt(np.maximum((pulled * units).sum(axis=1, keepdims=True), 0.0))
        points: Array = self.center + pulled / np.where(lengths > 0, lengths, 1.0)
        return points

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the ellipsoid, up to a tolerance relative to its size."""
        along = (real_vector("x", x, self.d) - self.center) @ self.axes
        longest = self.lengths[-1]
        # A half-axis below the root of round-off is known no better than that.
        unknown = np.where(self.lengths < FLAT * longest, 2e-8 * longest, 0.0)
        slack = tolerance * self.longest + unknown
        return bool(np.linalg.norm(along / (self.lengths + slack)) <= 1 + tolerance)

    def __identity__(self) -> tuple[Array | None, ...]:
        return self.shape, self.center, self._given_tie

    def __repr__(self) -> str:
        center = f", center={self.center.tolist()}" if self.center.any() else ""
        return f"Ellipsoid({self.shape.tolist()}{center}{self._tie_text})"


class Box(ConvexSet):
    """The box {x : lower <= x <= upper}.

    Parameters
    ----------
    lower, upper : array of shape (d,)
        The bounds of each coordinate; equal bounds fix it.
    tie : array of shape (d,), optional
        The point to play in direction 0; see `ConvexSet.tie`.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.Box([0.0, 0.0], [1.0, 2.0]).maximize([1.0, -1.0])
    array([1., 0.])
    """

    def __init__(
        self, lower: npt.ArrayLike, upper: npt.ArrayLike, *, tie: npt.ArrayLike | None = None
    ) -> None:
        self.lower = real_array("lower", lower, ndim=1)
        self.upper = real_vector("upper", upper, len(self.lower))
        if len(self.lower) == 0:
            raise ValueError("lower must have at least one coordinate, got none")
        if (self.lower > self.upper).any():
            i = int((self.lower > self.upper).argmax())
            raise ValueError(
                f"lower must not exceed upper, got lower[{i}] = {self.lower[i]} and "
                f"upper[{i}] = {self.upper[i]}"
            )
        self._break_ties(tie)

    @property
    def d(self) -> int:
        """The number of features of an arm."""
        return len(self.lower)

    @property
    def longest(self) -> float:
        """The length of the farthest corner, Z of Assumption 2."""
        return float(np.linalg.norm(np.maximum(np.abs(self.lower), np.abs(self.upper))))

    def supports(self, directions: Array) -> Array:
        """Return the corners in the given directions; the middle where an entry is 0."""
        middle = (self.lower + self.upper) / 2
        return np.where(directions > 0, self.upper, np.where(directions < 0, self.lower, middle))

    def contains(self, x: npt.ArrayLike, tolerance: float = 1e-9) -> bool:
        """Tell whether x lies in the box, up to a tolerance relative to its size."""
        point = real_vector("x", x, self.d)
        slack = tolerance * self.longest
        return bool((point >= self.lower - slack).all() and (point <= self.upper + slack).all())

    def __repr__(self) -> str:
        return f"Box({self.lower.tolist()}, {self.upper.tolist()}{self._tie_text})"


def _units(directions: Array) -> Array:
    """Return each row at length one, or zero; safe for entries near the ends of the range."""
    largest = np.abs(directions).max(axis=1, keepdims=True)
    scaled = directions / np.where(largest > 0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    units: Array = scaled / np.where(lengths > 0, lengths, 1.0)
    return units
