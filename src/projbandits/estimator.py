"""The estimate as a scikit-learn estimator: fit on returns, predict projection rewards."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np

from projbandits._blas import while_small
from projbandits._validation import Array, positive, real_vector
from projbandits.ridge import Ridge
from projbandits.subspace import Subspace

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.metrics import r2_score
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        'ProjectedRidge needs scikit-learn: install it with pip install "projbandits[sklearn]"'
    ) from error


class ProjectedRidge(RegressorMixin, BaseEstimator):
    """Ridge regression on whole observations that predicts the part that counts.

    It has no intercept: an intercept that counts is a column of ones that the subspace keeps.

    Parameters
    ----------
    subspace : Subspace, optional
        The part of the features that counts; all of it by default.
    penalty : float
        lambda, the weight of the L2 penalty.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        P_U theta-hat, the coefficients of the projection reward.
    standard_errors_ : ndarray of shape (d,)
        Their standard errors.
    theta_ : ndarray of shape (d,)
        theta-hat, the coefficients of the return.
    noise_ : float
        The estimated standard deviation of the noise.
    ridge_ : Ridge
        The estimate itself.
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = pb.ProjectedRidge(pb.Subspace.coordinates(keep=[0], d=2))
    >>> model.fit(X, X @ [1.0, 5.0]).coef_.round(2)
    array([1., 0.])
    """

    def __init__(self, subspace: Subspace | None = None, penalty: float = 1.0) -> None:
        self.subspace = subspace
        self.penalty = penalty

    ridge_: Ridge

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ProjectedRidge:
        """Learn from observations X, one per row, and their returns y.

        The noise of a return of weight w has the variance noise_^2 / w.
        """
        return self._learn(X, y, sample_weight, fresh=True)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> ProjectedRidge:
        """Learn from more observations."""
        return self._learn(X, y, sample_weight, fresh=not hasattr(self, "ridge_"))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the R^2 of the whole return, <x, theta-hat>.

        What `predict` predicts is never observed. Compared with returns it would win by taking in
        the effect of what must not count, so a search over penalties would choose the most biased.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        with while_small(*rows.shape):
            return float(r2_score(y, rows @ self.theta_, sample_weight=sample_weight))

    def _learn(self, X: Any, y: Any, weights: Any, fresh: bool) -> ProjectedRidge:
        before = self.__dict__.copy()
        try:
            return self._learn_or_raise(X, y, weights, fresh)
        except BaseException:
            self.__dict__ = before
            raise

    def _learn_or_raise(self, X: Any, y: Any, weights: Any, fresh: bool) -> ProjectedRidge:
        penalty = positive("penalty", self.penalty)
        if not isinstance(self.subspace, Subspace | None):
            raise TypeError(f"subspace must be a Subspace, got {self.subspace!r}: see pb.Subspace")
        rows, returns = validate_data(self, X, y, reset=fresh, dtype=np.float64, y_numeric=True)
        if weights is not None:
            given = real_vector("sample_weight", weights, len(rows))
            if (given < 0).any():
                raise ValueError(f"sample_weight must not be negative, got {given.min()}")
            if not given.any():
                raise ValueError("sample_weight must hold a weight above zero, got zeros only")
            roots = np.sqrt(given)
            told = roots > 0
            rows, returns = rows[told] * roots[told, None], returns[told] * roots[told]
        d = rows.shape[1]
        names = getattr(self, "feature_names_in_", None)
        if self.subspace is not None:
            self.subspace.check_fits(d, None if names is None else list(names))
        known = Ridge.prior(d) if fresh else self.ridge_
        ridge = Ridge(penalty, known.n, known.factor)
        with while_small(*rows.shape):
            self.ridge_ = ridge.update_many(rows, returns)
            P = np.eye(d) if self.subspace is None else self.subspace.matrix
            self.theta_ = self.ridge_.theta
            # One for each coordinate of P theta-hat, as P e_j is the j-th row of P.
            self.coef_, self.standard_errors_ = self.ridge_.projected(P, np.eye(d))
            self.noise_ = self.ridge_.noise
        return self

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...
    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return the projection reward of each row of X, with its standard error if asked for."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        P = np.eye(rows.shape[1]) if self.subspace is None else self.subspace.matrix
        with while_small(*rows.shape):
            values, errors = self.ridge_.projected(P, rows)
        return (values, errors) if return_std else values
