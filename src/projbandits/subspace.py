"""Subspaces of R^d and the orthogonal projection P_U onto them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt
import scipy.linalg

from projbandits._linalg import orthonormal
from projbandits._validation import Array, did_you_mean, integer, real_array
from projbandits.tables import Attributes

if TYPE_CHECKING:
    import pandas as pd


DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Subspace:
    """The subspace U of R^d that counts; its complement is corruption.

    Build one with `span`, `coordinates`, `without` or `against`. With A its basis of orthonormal
    columns, P_U = A A^T.

    Parameters
    ----------
    basis : ndarray of shape (d, u)
        Orthonormal columns that span U.
    names : tuple of str, optional
        The names of the d coordinates, if they have any.

    Examples
    --------
    >>> import projbandits as pb
    >>> U = pb.Subspace.coordinates(keep=[0, 1], d=3)
    >>> U.project([1.0, 2.0, 3.0])
    array([1., 2., 0.])
    >>> U.dim, U.ambient
    (2, 3)
    """

    basis: Array
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        basis = real_array("basis", self.basis, ndim=2)
        large = np.abs(basis).max(initial=0.0) > 2.0  # its square may overflow
        if large or np.abs(basis.T @ basis - np.eye(basis.shape[1])).max(initial=0.0) > 1e-8:
            raise ValueError(
                "basis must have orthonormal columns, got others: use Subspace.span for a basis "
                "of any kind"
            )
        object.__setattr__(self, "basis", basis)

    @classmethod
    def span(cls, A: npt.ArrayLike) -> Subspace:
        """Return the span of the columns of a d x u matrix.

        The columns may be dependent and of any scale: each is brought to length one, and a
        Householder QR with pivoting drops those that add no direction. Less than 1e-9 of such a
        column's length lies outside the span of the others, which may be round-off.

        Examples
        --------
        >>> import projbandits as pb
        >>> pb.Subspace.span([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
        Subspace(dim=1, ambient=3)
        """
        matrix = real_array("A", A, ndim=2)
        basis = orthonormal(matrix, DEPENDENT)
        if basis.size == 0:
            raise ValueError(
                f"A must have a column that is not zero, got rank 0 and shape {matrix.shape}: "
                "a subspace to learn on needs at least one direction"
            )
        return cls._sound(basis)

    @classmethod
    def _sound(cls, basis: Array) -> Subspace:
        """Return the subspace of a basis just made here, which needs no check and no copy."""
        subspace = object.__new__(cls)
        object.__setattr__(subspace, "basis", basis)
        object.__setattr__(subspace, "names", None)
        return subspace

    @classmethod
    def coordinates(cls, keep: Iterable[int], d: int) -> Subspace:
        """Return the subspace that keeps the coordinates in `keep` and drops the others.

        Examples
        --------
        >>> import projbandits as pb
        >>> pb.Subspace.coordinates(keep=range(5), d=10)
        Subspace(dim=5, ambient=10)
        """
        d = integer("d", d, least=1)
        if not isinstance(keep, Iterable):
            raise TypeError(f"keep must list coordinates, got {keep!r}: pass [{keep!r}]")
        kept = sorted({integer("keep", i, least=0, most=d - 1) for i in keep})
        if not kept:
            raise ValueError("keep must name at least one coordinate, got none")
        return cls(np.eye(d)[:, kept])

    @classmethod
    def without(
        cls, names: str | Iterable[str], columns: Iterable[str], *, prefix: str | None = None
    ) -> Subspace:
        """Return the subspace of all columns but the protected ones.

        Parameters
        ----------
        names : str or iterable of str
            The protected columns.
        columns : iterable of str
            All columns, in the order of the arms' features; `df.columns` will do.
        prefix : str, optional
            What stands between a protected name and the level in columns made of it: with "_",
            `country` stands for `country_fr`, `country_de` and all others that begin with
            `country_`, as `pd.get_dummies` calls them.

        Examples
        --------
        >>> import projbandits as pb
        >>> U = pb.Subspace.without(["race"], columns=["price", "race", "length"])
        >>> U.project([9.0, 1.0, 7.0])
        array([9., 0., 7.])
        >>> columns = ["price", "country_de", "country_fr"]
        >>> pb.Subspace.without("country", columns=columns, prefix="_").project([9.0, 0.0, 1.0])
        array([9., 0., 0.])
        """
        for name, value in (("names", names), ("columns", columns)):
            if not isinstance(value, Iterable):
                raise TypeError(f"{name} must list column names, got {value!r}")
        known = tuple(columns)
        twice = sorted({str(name) for name in known if known.count(name) > 1})
        if twice:
            raise ValueError(f"columns must be distinct, got {twice[0]!r} more than once")
        protected = {names} if isinstance(names, str) else set(names)
        descendants = {
            name: [column for column in known if _descends(column, name, prefix)]
            for name in sorted(protected, key=str)
        }
        for name, found in descendants.items():
            if name not in known and not found:
                raise ValueError(
                    f"names must be among the columns, got {name!r}{_hint(name, known)}"
                )
        made = {column for found in descendants.values() for column in found}
        kept = [i for i, name in enumerate(known) if name not in protected | made]
        if not kept:
            raise ValueError(
                "names must leave at least one column to decide on, got all of them: "
                f"{list(known)!r}"
            )
        return cls(np.eye(len(known))[:, kept], known)

    @classmethod
    def uncorrelated_with(cls, X: npt.ArrayLike | pd.DataFrame, attributes: Any) -> Subspace:
        """Return the part of the features that no linear predictor of the attributes can use.

        It is the orthogonal complement of cov(x, z): over these items cov(P_U x, z) = 0. For two
        groups what is left out is the difference of their means. `find_subspace` says besides how
        sure that is, and reads what does not fit into memory.

        Parameters
        ----------
        X : array of shape (m, d) or DataFrame
            The features of items.
        attributes : array, Series or DataFrame with m rows
            What must not count: numbers or categories, in one column or several. They need not be
            features.

        Examples
        --------
        >>> import projbandits as pb
        >>> X = [[1.0, 5.0], [1.0, 3.0], [0.0, 4.0], [0.0, 2.0]]
        >>> U = pb.Subspace.uncorrelated_with(X, ["f", "f", "m", "m"])
        >>> abs(U.basis).round(3)
        array([[0.707],
               [0.707]])
        """
        items = real_array("X", X, ndim=2)
        known, Z = Attributes().read("attributes", attributes)
        if len(Z) != len(items):
            raise ValueError(
                f"attributes must have as many rows as X, got {len(Z)} and {len(items)}"
            )
        apart, spread = items - items.mean(axis=0), Z - Z.mean(axis=0)
        C = apart.T @ spread
        sizes = np.linalg.norm(C, axis=0)
        real = sizes > 1e-12 * np.linalg.norm(apart) * np.linalg.norm(spread, axis=0)
        rest = orthonormal(C[:, real], DEPENDENT)
        if rest.shape[1] == 0:
            raise ValueError(
                f"attributes must go with some feature, got cov(x, z) = 0 for {known.names}: "
                "there is nothing to leave out"
            )
        if rest.shape[1] == items.shape[1]:
            raise ValueError(
                f"attributes must leave a direction to decide on, got {len(known.keys)} columns "
                f"that go with all {items.shape[1]}: pass fewer, or find_subspace(leave_out=...)"
            )
        table: Any = X
        names = tuple(map(str, table.columns)) if hasattr(table, "columns") else None
        return cls(rest, names).complement()

    @property
    def dim(self) -> int:
        """The dimension u of the subspace."""
        return int(self.basis.shape[1])

    @property
    def ambient(self) -> int:
        """The dimension d of the space around it."""
        return int(self.basis.shape[0])

    @cached_property
    def matrix(self) -> Array:
        """The d x d projection matrix P_U."""
        return self.basis @ self.basis.T

    @overload
    def project(self, x: pd.DataFrame) -> pd.DataFrame: ...
    @overload
    def project(self, x: pd.Series[Any]) -> pd.Series[Any]: ...
    @overload
    def project(self, x: npt.ArrayLike) -> Array: ...
    def project(self, x: Any) -> Any:
        """Return P_U x, for a vector, for each row of a matrix, or for each row of a DataFrame.

        A DataFrame keeps its index and the order of its columns. If the subspace has names,
        the columns must be the same set, in any order.

        Examples
        --------
        >>> import pandas as pd, projbandits as pb
        >>> U = pb.Subspace.without("age", columns=["age", "price"])
        >>> U.project(pd.DataFrame({"price": [3.0], "age": [40.0]}))
           price  age
        0    3.0  0.0
        """
        if hasattr(x, "columns") and hasattr(x, "to_numpy"):
            return self._project_frame(x)
        if hasattr(x, "to_frame") and self.names is not None:  # a row of a table, with its names
            return self._project_frame(x.to_frame().T).iloc[0]
        rows = real_array("x", x, ndim=2 if np.ndim(x) == 2 else 1)
        self.check_width("x", rows.shape[-1])
        return (rows @ self.basis) @ self.basis.T

    def complement(self) -> Subspace:
        """Return the orthogonal complement, the part that is corruption.

        Examples
        --------
        >>> import projbandits as pb
        >>> U = pb.Subspace.coordinates(keep=[0], d=2)
        >>> U.complement().project([3.0, 4.0])
        array([0., 4.])
        """
        if self.dim == 0:
            return Subspace(np.eye(self.ambient), self.names)
        Q, _ = scipy.linalg.qr(self.basis)
        return Subspace(np.ascontiguousarray(Q[:, self.dim :]), self.names)

    def direction_outside(self, other: Subspace) -> Array | None:
        """Return the unit vector of this subspace farthest from `other`, or None if inside.

        Examples
        --------
        >>> import projbandits as pb
        >>> plane = pb.Subspace.coordinates([0, 1], d=3)
        >>> pb.Subspace.coordinates([1, 2], d=3).direction_outside(plane)
        array([0., 0., 1.])
        """
        rest = self.basis - other.project(self.basis.T).T
        _, sizes, rows = np.linalg.svd(rest, full_matrices=False)
        if sizes.max(initial=0.0) <= 1e-8:
            return None
        direction: Array = self.basis @ rows[0]
        sign = -1.0 if direction[np.abs(direction).argmax()] < 0 else 1.0
        return sign * direction + 0.0

    def describe(self, direction: Array) -> str:
        """Return a direction as text, by column name if there are names.

        Examples
        --------
        >>> import projbandits as pb
        >>> U = pb.Subspace.without("age", columns=["age", "price", "size"])
        >>> U.describe([0.0, 1.0, -0.5])
        '1 price - 0.5 size'
        """
        names = feature_names(self.names, self.ambient)
        largest = np.argsort(-np.abs(direction), kind="stable")[:4]
        terms = [
            f"{'-' if direction[i] < 0 else '+'} {abs(direction[i]):.3g} {names[i]}"
            for i in largest
            if abs(direction[i]) > 1e-6
        ]
        return " ".join(terms).removeprefix("+ ")

    def check_fits(self, d: int, columns: Sequence[str] | None = None) -> None:
        """Raise unless arms with `d` features, called `columns` if given, live in this space."""
        self.check_width("arms", d)
        if self.names is not None and columns is not None and tuple(columns) != self.names:
            raise ValueError(
                f"the arms' columns must be those of the subspace in the same order, got "
                f"{list(columns)!r} for {list(self.names)!r}: pass df[list(subspace.names)]"
            )

    def _project_frame(self, frame: Any) -> Any:
        columns = list(frame.columns)
        order = list(range(len(columns)))
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            raise ValueError(f"x must have distinct columns, got {twice[0]!r} more than once")
        if self.names is not None:
            for name in columns:
                if name not in self.names:
                    hint = did_you_mean(name, self.names)
                    raise ValueError(f"x has a column {name!r} that the subspace lacks{hint}")
            for name in self.names:
                if name not in columns:
                    hint = did_you_mean(name, columns)
                    raise ValueError(f"x must have a column {name!r}, it is missing{hint}")
            order = [columns.index(name) for name in self.names]
        projected = np.empty(frame.shape)
        projected[:, order] = self.project(real_array("x", frame, ndim=2)[:, order])
        return type(frame)(projected, columns=frame.columns, index=frame.index)

    def check_width(self, name: str, width: int, columns: Sequence[str] | None = None) -> None:
        """Raise unless what is called `name` has as many features as this space, its columns."""
        if width != self.ambient:
            known = "" if columns is None else f", {list(columns)!r}"
            raise ValueError(
                f"{name} must have {self.ambient} features, as many as the space of the subspace "
                f"has dimensions{known}, got {width}"
            )

    def __repr__(self) -> str:
        return f"Subspace(dim={self.dim}, ambient={self.ambient})"


def feature_names(names: Sequence[str] | None, d: int) -> Sequence[str]:
    """Return the names of d features, made up where there are none."""
    return names or [f"x[{j}]" for j in range(d)]


def _descends(column: Any, name: Any, prefix: str | None) -> bool:
    return prefix is not None and str(column).startswith(f"{name}{prefix}")


def _hint(name: Any, columns: Sequence[Any]) -> str:
    """Return what may have been meant by a name: columns made of it, or one spelt like it."""
    for prefix in ("_", "=", ".", ":"):
        made = [column for column in columns if _descends(column, name, prefix)]
        if made:
            return (
                f", but {made!r} begin with it: to protect all of them, pass prefix={prefix!r}, or "
                "let pb.Features encode the column"
            )
    return did_you_mean(name, columns)
