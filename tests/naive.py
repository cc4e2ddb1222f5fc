"""Slow, obvious versions of what the library computes, written from the definitions alone."""

from __future__ import annotations

import itertools
import math
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import minimize_scalar

Array = np.ndarray[Any, np.dtype[np.float64]]


def projection_matrix(A: Array) -> Array:
    """P_U = A (A^T A)^-1 A^T, as the paper writes it; A must have full column rank."""
    return np.asarray(A @ np.linalg.inv(A.T @ A) @ A.T)


def ridge(X: Array, r: Array, penalty: float) -> tuple[Array, Array]:
    """V and theta-hat from all observations at once."""
    V = penalty * np.eye(X.shape[1])
    b = np.zeros(X.shape[1])
    for x, y in zip(X, r, strict=True):
        V = V + np.outer(x, x)
        b = b + y * x
    return V, np.asarray(np.linalg.solve(V, b), dtype=np.float64)


def centred_ridge(
    X: Array, r: Array, penalty: float, weights: Array | None = None
) -> tuple[Array, Array, float]:
    """V, theta-hat and the level by the normal equations with an unpenalised column of ones.

    V is what is left of theta's precision once the level is integrated out.
    """
    w = np.ones(len(r)) if weights is None else weights
    Z = np.column_stack([np.ones(len(X)), X])
    whole = Z.T @ (w[:, None] * Z)
    whole[1:, 1:] += penalty * np.eye(X.shape[1])
    level, *theta = np.linalg.solve(whole, Z.T @ (w * r))
    V = whole[1:, 1:] - np.outer(whole[1:, 0], whole[0, 1:]) / whole[0, 0]
    return V, np.array(theta), float(level)


def free(X: Array, penalty: float) -> float:
    """n - tr(V^-1 sum x x^T) in fractions, which do not round."""
    n, d = X.shape
    rows = [[Fraction(float(value)) for value in x] for x in X]
    seen = [[sum((x[a] * x[b] for x in rows), Fraction(0)) for b in range(d)] for a in range(d)]
    V = [[seen[a][b] + Fraction(penalty) * (a == b) for b in range(d)] for a in range(d)]
    work = [left + right for left, right in zip(V, seen, strict=True)]  # [V, S] to [I, V^-1 S]
    for c in range(d):
        work[c] = [value / work[c][c] for value in work[c]]
        for a in range(d):
            if a != c:
                factor = work[a][c]
                work[a] = [v - factor * w for v, w in zip(work[a], work[c], strict=True)]
    return float(n - sum(work[a][d + a] for a in range(d)))


def rank(X: Array, tolerance: float) -> int:
    """How many pivots of a QR factorisation with pivoting are large, columns at the same scale."""
    largest = np.abs(X).max(axis=0)
    unit_free = X / np.where(largest > 0, largest, 1.0)
    sizes = np.abs(np.diag(scipy.linalg.qr(unit_free.T, mode="r", pivoting=True)[0]))
    return int((sizes > tolerance * sizes[0]).sum())


def entropy_ball_maximum(c: Array, bound: float) -> float:
    """The largest <c, x> over {x >= 0, sum x log x <= bound}, from the Lagrangian dual.

    For every mu > 0 the value is at most mu (sum exp(c_i / mu - 1) + bound), and the least of
    these is attained.
    """

    def dual(log_mu: float) -> float:
        mu = math.exp(log_mu)
        with np.errstate(over="ignore"):
            return float(mu * (np.exp(c / mu - 1).sum() + bound))

    size = np.abs(c).max()
    c = c / size
    grid = np.linspace(-14, 8, 2001)
    start = min(grid, key=dual)
    best = minimize_scalar(
        dual, bounds=(start - 0.02, start + 0.02), method="bounded", options={"xatol": 1e-14}
    )
    return float(size * best.fun)


def vertices(A: Array, b: Array) -> Array:
    """Every vertex of {A x <= b}, by solving each set of d constraints."""
    found = []
    for rows in itertools.combinations(range(len(A)), A.shape[1]):
        corner = A[list(rows)]
        if abs(np.linalg.det(corner)) > 1e-9:
            x = np.linalg.solve(corner, b[list(rows)])
            if (A @ x <= b + 1e-9).all():
                found.append(x)
    return np.array(found)


def first_independent(X: Array) -> list[int]:
    """The first arms that are independent, each tested by the rank of a matrix."""
    taken: list[int] = []
    for i in range(len(X)):
        if np.linalg.matrix_rank(X[[*taken, i]]) == len(taken) + 1:
            taken.append(i)
    return taken


def epsilon(schedule: str, alpha: float, k: int, t: int) -> float:
    """The three schedules, as printed."""
    if schedule == "finite":
        return min(1.0, alpha * k / t)
    if schedule == "infinite":
        return min(1.0, alpha * k / math.cbrt(t))
    return min(1.0, alpha * k / math.sqrt(t))


def expected_improvement(
    mean: Array, target: Array, seen: Array, C: Array, own: Array, sd: float, shrink: Array | None
) -> tuple[float, Array, Array]:
    """delta, the gaps and the information of EIIDS, arm by arm.

    `shrink` is how far along a pull of each arm to go, to take delta's derivative by differences.
    """
    K, h = len(mean), int(np.argmax(mean))
    moved = [0.0] * K if shrink is None else list(shrink)

    def covariance(y: int, z: int) -> float:
        both = float((target[y] - target[h]) @ C @ seen[z])
        return both + (own[y] if z == y else 0.0) - (own[h] if z == h else 0.0)

    def variance(z: int) -> float:
        return float(seen[z] @ C @ seen[z] + own[z] + sd**2)

    delta, info = 0.0, np.zeros(K)
    for y in range(K):
        if y == h:
            continue
        square = float((target[y] - target[h]) @ C @ (target[y] - target[h])) + own[y] + own[h]
        square -= sum(moved[z] * covariance(y, z) ** 2 / variance(z) for z in range(K))
        s = math.sqrt(square)
        u = (mean[h] - mean[y]) / s
        phi = math.exp(-u * u / 2) / math.sqrt(2 * math.pi)
        delta += s * (phi - u * 0.5 * math.erfc(u / math.sqrt(2)))
        for z in range(K):
            info[z] += phi / (2 * s) * covariance(y, z) ** 2 / variance(z)
    return delta, delta + mean[h] - mean, info


def two_actions(h: int, gaps: Array, info: Array, grid: int = 2001) -> float:
    """The least squared gap per information over all pairs (h, j) and a grid of p."""
    best = math.inf
    for j in range(len(gaps)):
        for p in np.linspace(0, 1, grid):
            told = (1 - p) * info[h] + p * info[j]
            if told > 0:
                best = min(best, ((1 - p) * gaps[h] + p * gaps[j]) ** 2 / told)
    return best


def play(
    name: str,
    X: Array,
    P: Array,
    theta: Array,
    sd: float,
    alpha: float,
    basis: list[int],
    horizon: int,
    trials: int,
    rng: np.random.Generator,
) -> Array:
    """Trials of a strategy of the paper on finitely many arms, from Section IV, side by side.

    Returns the projection regret and the return regret at the horizon, a row for each trial.
    """
    K, d = X.shape
    F = X @ P
    V = np.tile(np.eye(d), (trials, 1, 1))
    b = np.zeros((trials, d))
    regrets = np.zeros((trials, 2))
    for t in range(1, horizon + 1):
        estimate = np.linalg.solve(V, b[:, :, None])[:, :, 0]
        score = estimate @ (X if name in ("UE", "CURSE") else F).T
        if name in ("UE", "ProjectedUE"):
            width = np.sqrt(np.einsum("ka,nab,kb->nk", X, np.linalg.inv(V), X))
            radius = alpha * math.sqrt(math.log(t) * min(d * math.log(t), K))
            i = (score + radius * width).argmax(axis=1)
        else:
            explores = rng.random(trials) < epsilon("finite", alpha, len(basis), t)
            i = np.where(explores, rng.choice(basis, size=trials), score.argmax(axis=1))
        r = X[i] @ theta + sd * rng.normal(size=trials)
        learnt = F[i] if name == "REGRET" else X[i]
        V = V + learnt[:, :, None] * learnt[:, None, :]
        b = b + r[:, None] * learnt
        regrets[:, 0] += (F @ theta).max() - F[i] @ theta
        regrets[:, 1] += (X @ theta).max() - X[i] @ theta
    return regrets


def paired(one: Array, other: Array, z: float) -> tuple[float, float, float, float]:
    """The mean of `one` minus `other` over trials, its interval, and how often `one` is less."""
    differences = [a - b for a, b in zip(one, other, strict=True)]
    n = len(differences)
    mean = sum(differences) / n
    variance = sum((x - mean) ** 2 for x in differences) / (n - 1)
    half = z * math.sqrt(variance / n)
    return mean, mean - half, mean + half, sum(a < b for a, b in zip(one, other, strict=True)) / n


def stretch(
    most: int, drift: float, sd: float, q: float, low: float, high: float, rng: np.random.Generator
) -> tuple[int, float]:
    """Pull one arm until c leaves [low, high], at most `most` times, looking at every step."""
    S = 0.0
    for m in range(1, most + 1):
        S += drift + sd * rng.normal()
        if not low <= S / (1 + m * q) <= high:
            return m, S
    return most, S


def with_arm_effects(
    X: Array, aims: Array, pulls: Array, penalty: float, ratio: float, noise: float
) -> tuple[Array, Array, Array]:
    """What is believed of each arm by a ridge with one more coordinate for each of them.

    Returns the means of what is wanted, the covariance of what is wanted and what is returned of
    all arms, and the variance of what each returns on average.
    """
    K = len(X)
    scale = math.sqrt(ratio * penalty)  # so that the coordinate's effect has variance tau^2
    returned = np.hstack([X, scale * np.eye(K)])
    wanted = np.hstack([aims, scale * np.eye(K)])
    rows = returned[pulls[:, 0].astype(int)]
    V, coefficients = ridge(rows, pulls[:, 1], penalty)
    both = np.vstack([wanted, returned])
    covariance = noise**2 * both @ np.linalg.inv(V) @ both.T
    return wanted @ coefficients, covariance, np.diag(covariance)[K:]


def asymptotic_constant(X: Array, P: Array, theta: Array, sd: float) -> float:
    """The constant of log n by a general convex solver, from its definition.

    The best arm must be one. Its pulls cost nothing, so there are infinitely many: what is then
    unknown lies orthogonal to it, and only the other arms tell about that.
    """
    import cvxpy

    F = X @ P
    gaps = (F @ theta).max() - F @ theta
    h = int(np.argmin(gaps))
    others = [z for z in range(len(X)) if z != h]
    Q = np.linalg.svd(X[[h]])[2][1:].T
    pulls = cvxpy.Variable(len(others), nonneg=True)
    V = sum(pulls[i] * np.outer(X[z] @ Q, X[z] @ Q) for i, z in enumerate(others))
    constraints = [
        cvxpy.matrix_frac((F[y] - F[h]) @ Q * (2**0.5 * sd / gaps[y]), V) <= 1 for y in others
    ]
    problem = cvxpy.Problem(cvxpy.Minimize(gaps[others] @ pulls), constraints)
    return float(problem.solve(solver=cvxpy.CLARABEL))


def with_item_effects(
    history: list[tuple[str, Array, float]],
    names: list[str],
    on_offer: list[str],
    X: Array,
    aims: Array,
    weights: Array,
    penalty: float,
    ratio: float,
    noise: float,
) -> tuple[Array, Array, Array]:
    """What is believed of items by a weighted ridge with one more column for each of them.

    Returns the means of what is wanted of those on offer, its covariance, and that with what they
    return.
    """
    scale = math.sqrt(ratio * penalty)  # so that the column's effect has variance tau^2

    def row(label: str, x: Array) -> Array:
        return np.append(x, scale * (np.array(names) == label))

    rows = np.array([row(label, x) for label, x, _ in history])
    returns = np.array([r for _, _, r in history])
    V = penalty * np.eye(rows.shape[1]) + rows.T @ (weights[:, None] * rows)
    coefficients = np.linalg.solve(V, rows.T @ (weights * returns))
    wanted = np.array([row(label, a) for label, a in zip(on_offer, aims, strict=True)])
    returned = np.array([row(label, x) for label, x in zip(on_offer, X, strict=True)])
    covariance = noise**2 * np.linalg.inv(V)
    return wanted @ coefficients, wanted @ covariance @ wanted.T, wanted @ covariance @ returned.T


def degrees(one: Array, other: Array) -> float:
    """The largest angle between two subspaces, by their bases."""
    return float(np.rad2deg(scipy.linalg.subspace_angles(one, other)).max())


def cross_covariance(X: Array, Z: Array) -> Array:
    """cov(x, z), summed pair by pair around the means."""
    C = np.zeros((X.shape[1], Z.shape[1]))
    for x, z in zip(X, Z, strict=True):
        C += np.outer(x - X.mean(axis=0), z - Z.mean(axis=0)) / len(X)
    return C


def shrunk_covariance(X: Array) -> Array:
    """The covariance of rows, its correlations shrunk by the share that noise explains."""
    S, n, d = cross_covariance(X, X), len(X), X.shape[1]
    noise = squares = 0.0
    for i in range(d):
        for j in range(d):
            if i != j:
                r = S[i, j] / np.sqrt(S[i, i] * S[j, j])
                noise += (1 - r**2) ** 2 / (n - 1)
                squares += r**2
    keep = 1 - min(1.0, noise / squares)
    return np.array([[S[i, j] * (1.0 if i == j else keep) for j in range(d)] for i in range(d)])


def regressed_covariance(X: Array, Z: Array, sigma: Array) -> Array:
    """Sigma B, with B the ridge regression whose penalty is k Sigma, k = d (1 - R^2) / R^2."""
    (m, d), q = X.shape, Z.shape[1]
    x, z = X - X.mean(axis=0), Z - Z.mean(axis=0)
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / m), z.T).T  # uncorrelated, of variance 1
    left = z - x @ np.linalg.lstsq(x, z, rcond=None)[0]
    unexplained = (left**2).sum() / q / (m - 1 - d) / ((z**2).sum() / q / (m - 1))
    k = d * unexplained / (1 - unexplained)
    # A penalty b' k Sigma b is that of rows whose squares add up to k Sigma, where z is 0.
    rows = np.vstack([x, math.sqrt(k) * np.linalg.cholesky(sigma).T])
    B = np.linalg.lstsq(rows, np.vstack([z, np.zeros((d, q))]), rcond=None)[0]
    return np.asarray(sigma @ B)


def mixed_likelihood(
    X: Array, r: Array, group: Array, mu: Array, sigma: Array, noise: float
) -> float:
    """The log-density of all returns at once, each group's with its dense covariance."""
    total = 0.0
    for g in np.unique(group):
        rows, observed = X[group == g], r[group == g]
        covariance = rows @ sigma @ rows.T + noise * np.eye(len(rows))
        left = observed - rows @ mu
        total -= 0.5 * (
            len(rows) * math.log(2 * math.pi)
            + np.linalg.slogdet(covariance)[1]
            + left @ np.linalg.solve(covariance, left)
        )
    return total


def mixed_em(
    X: Array, r: Array, group: Array, mu: Array, sigma: Array, noise: float, rounds: int
) -> tuple[Array, Array, float]:
    """EM for a mixed model on the rows: condition the joint normal, then take moments."""
    labels = np.unique(group)
    for _ in range(rounds):
        weights = np.zeros((X.shape[1], X.shape[1]))
        target = np.zeros(X.shape[1])
        for g in labels:
            rows = X[group == g]
            inverse = np.linalg.inv(rows @ sigma @ rows.T + noise * np.eye(len(rows)))
            weights += rows.T @ inverse @ rows
            target += rows.T @ inverse @ r[group == g]
        mu = np.linalg.solve(weights, target)
        moments, squares = np.zeros_like(sigma), 0.0
        for g in labels:
            rows, left = X[group == g], r[group == g] - X[group == g] @ mu
            gain = sigma @ rows.T @ np.linalg.inv(rows @ sigma @ rows.T + noise * np.eye(len(rows)))
            b, spread = gain @ left, sigma - gain @ rows @ sigma
            moments += np.outer(b, b) + spread
            squares += float(((left - rows @ b) ** 2).sum() + np.trace(rows @ spread @ rows.T))
        sigma, noise = moments / len(labels), squares / len(X)
    return mu, sigma, noise


def leak(
    A: Array, b: Array, X: Array, r: Array, penalty: float, kept: list[int], j: int
) -> tuple[float, float]:
    """What the kept column j has of the protected effect, and the error of least squares.

    The ridge is fitted twice to all observations (A, b): as it is, and with the protected effect
    of least squares taken out of the outcomes, and its own shrinkage out of neither. The level is
    that of each: both are centred.
    """
    d = A.shape[1]
    A, b, X, r = A - A.mean(axis=0), b - b.mean(), X - X.mean(axis=0), r - r.mean()
    everything = np.linalg.lstsq(A, b, rcond=None)[0]
    log = np.linalg.lstsq(X, r, rcond=None)[0]
    hidden = everything.copy()
    hidden[kept] = 0.0
    V = A.T @ A + penalty * np.eye(d)
    # The belief if outcomes were the protected effect alone: what of it is in column j.
    moved = np.linalg.solve(V, A.T @ (A @ hidden))[j]
    sigma = np.sqrt(np.sum((r - X @ log) ** 2) / (len(X) - d - 1))
    error = sigma * np.sqrt(np.linalg.inv(X.T @ X)[j, j])
    return float(moved + everything[j] - log[j]), float(error)


def policy_value(
    action: Any, reward: Array, propensity: Array, chances: Array, predicted: Array, clip: float
) -> dict[str, float]:
    """Estimates of a policy's value as textbooks have them, row by row.

    `chances` and `predicted` have a row for each decision and a column for each arm.
    """
    plain = weights = cut = doubly = 0.0
    for t, a in enumerate(action):
        w = chances[t, a] / propensity[t]
        plain += w * reward[t]
        weights += w
        cut += min(w, clip) * reward[t]
        direct = sum(chances[t, b] * predicted[t, b] for b in range(chances.shape[1]))
        doubly += direct + w * (reward[t] - predicted[t, a])
    n = len(action)
    return {
        "arm by arm": plain / n,
        "arm by arm, self-normalised": plain / weights,
        "arm by arm, clipped": cut / n,
        "arm by arm, doubly robust": doubly / n,
    }


def effects_of_arms(X: Array, action: Any, reward: Array, sure: float) -> tuple[float, float]:
    """The variance of what arms have beside their features: as estimated, and what may hide.

    Arms are the rows of X, each chosen more than once. The weighted residuals of the arms' means
    have the covariance sigma^2 M + tau^2 M N M, with M the projection away from the features.
    `sure` is the quantile of chi squared that residuals are said to exceed.
    """
    counts = np.array([float((action == a).sum()) for a in range(len(X))])
    means = np.array([reward[action == a].mean() for a in range(len(X))])
    noise = sum(float(((reward[action == a] - means[a]) ** 2).sum()) for a in range(len(X)))
    noise /= len(reward) - len(X)
    A = np.sqrt(counts)[:, None] * X
    M = np.eye(len(X)) - A @ np.linalg.solve(A.T @ A, A.T)
    y = np.sqrt(counts) * means
    per_variance, free = float(np.trace(M @ np.diag(counts))), len(X) - X.shape[1]
    missed = float(y @ M @ y)
    return (missed - free * noise) / per_variance, free * (missed / sure - noise) / per_variance


def encoded(
    rows: list[dict[str, Any]], kinds: dict[str, str], max_levels: int
) -> dict[str, list[float]]:
    """Every feature of a table by its name, entry by entry; a missing entry is None."""
    made: dict[str, list[float]] = {"constant": [1.0] * len(rows)}
    for column, kind in kinds.items():
        entries = [row[column] for row in rows]
        there = [entry for entry in entries if entry is not None]
        if kind == "categorical":
            often = {level: there.count(level) for level in there}
            order = sorted(often, key=lambda level: (-often[level], level))
            kept = sorted(order)
            if len(order) > max_levels:
                kept = sorted(level for level in order[:max_levels] if often[level] > 1)
            for level in kept:
                made[f"{column}={level}"] = [float(entry == level) for entry in entries]
            if kept:
                made[f"{column}=other"] = [
                    float(entry is not None and entry not in kept) for entry in entries
                ]
        else:
            numbers = there
            if kind == "date":
                days = [date.fromisoformat(entry).toordinal() for entry in there]
                numbers = [max(days) - day for day in days]
            mean = sum(numbers) / len(numbers)
            scale = math.sqrt(sum((x - mean) ** 2 for x in numbers) / len(numbers))
            scaled = iter([(x - mean) / scale for x in numbers])
            name = f"age({column})" if kind == "date" else column
            made[name] = [0.0 if entry is None else next(scaled) for entry in entries]
        if len(there) < len(entries):
            made[f"{column}=missing"] = [float(entry is None) for entry in entries]
    return made
