"""Phased elimination in the compiled loop, as in `strategies.elimination`.

The plan is the room for a phase: a row of numbers, rows with an entry per arm or per feature, and
two matrices. The functions take arrays, not the view: that halves the time they take to compile.
"""

from __future__ import annotations

import math

from projbandits.simulation.kernels.common import bind, inlined, inner
from projbandits.simulation.kernels.finite import finite_steps
from projbandits.simulation.kernels.posterior import sigma_of
from projbandits.strategies.elimination import FINER, ROWS, WORTH_PLAYING
from projbandits.strategies.information import TIE

BEGINS, ENDS, LEADER, WIDTH, COST = range(5)
NUMBERS, PULLS, ACTIVE, BOUNDS, MEAN, WIDTHS, SQUARES, TOLD, WORK, ONE, OTHER = range(ROWS)
NOISE, RIDGE, HORIZON, FIRST, PENALTY = range(5)
"""The positions in the plan's first row, the rows of the plan, and the parameters."""


@inner
def first_largest(values, K):  # type: ignore[no-untyped-def]
    """Return the first position whose value is the largest, up to rounding."""
    largest = values[0]
    for j in range(1, K):
        largest = max(largest, values[j])
    first = 0
    while values[first] < largest * (1.0 - TIE):
        first += 1
    return first


@inner
def times(M, v, out):  # type: ignore[no-untyped-def]
    """Fill out with M v."""
    for j in range(M.shape[0]):
        total = 0.0
        for a in range(M.shape[1]):
            total += M[j, a] * v[a]
        out[j] = total


@inner
def deviation(sigma, M, F, y, z):  # type: ignore[no-untyped-def]
    """Return sigma |F_y - F_z| in the norm of M."""
    total = 0.0
    for a in range(F.shape[1]):
        row = 0.0
        for b in range(F.shape[1]):
            row += M[a, b] * (F[y, b] - F[z, b])
        total += row * (F[y, a] - F[z, a])
    return sigma * math.sqrt(max(total, 0.0))


@inner
def design(plan, X, F, penalty, least, target, most_pulls, most_cost):  # type: ignore[no-untyped-def]
    """Fill pulls, V^-1, width and cost as `designed` does; return the number of pulls.

    A pull costs the bound on its regret, or `least` if that is more; 1 before there are bounds.
    """
    K, d = X.shape
    pulls, active, bounds, numbers = plan[PULLS], plan[ACTIVE], plan[BOUNDS], plan[NUMBERS]
    widths, squares, along, v, inverse = (
        plan[WIDTHS],
        plan[SQUARES],
        plan[WORK],
        plan[ONE],
        plan[ROWS : ROWS + d],
    )
    h = int(numbers[LEADER])
    for a in range(d):
        for b in range(d):
            inverse[a, b] = 1.0 / penalty if a == b else 0.0
    for z in range(K):
        pulls[z], widths[z], squares[z] = 0.0, 0.0, 0.0
        for a in range(d):
            beyond = (F[z, a] - F[h, a]) * active[z]
            widths[z] += beyond * beyond / penalty
            squares[z] += X[z, a] * X[z, a] / penalty
    count, numbers[COST] = 0, 0.0
    while True:
        widest = first_largest(widths, K)
        numbers[WIDTH] = math.sqrt(widths[widest])
        if numbers[WIDTH] <= target or count >= most_pulls or numbers[COST] > most_cost:
            return count
        for a in range(d):
            plan[OTHER, a] = F[widest, a] - F[h, a]
        times(inverse[:, :d], plan[OTHER], v)
        times(X, v, along)
        for z in range(K):
            price = max(bounds[z], least) if least > 0.0 else 1.0
            along[z] = along[z] * along[z] / ((1.0 + squares[z]) * price)
        z = first_largest(along, K)
        times(inverse[:, :d], X[z], v)
        weight = 1.0
        for a in range(d):
            weight += X[z, a] * v[a]
        weight = 1.0 / weight
        for a in range(d):
            for b in range(d):
                inverse[a, b] -= weight * (v[a] * v[b])
        times(X, v, along)
        for y in range(K):
            squares[y] = max(squares[y] - weight * along[y] * along[y], 0.0)
        times(F, v, along)
        origin = along[h]
        for y in range(K):
            step = (along[y] - origin) * active[y]
            widths[y] = max(widths[y] - weight * step * step, 0.0)
        pulls[z] += 1.0
        count += 1
        numbers[COST] += max(bounds[z], least) if least > 0.0 else 1.0


@inner
def estimate(plan, X, F, theta):  # type: ignore[no-untyped-def]
    """Fill the means from the returns of the phase, and the sums up to now."""
    K, d = X.shape
    inverse, gram, fresh = plan[ROWS : ROWS + d], plan[ROWS + d :], plan[ONE]
    for z in range(K):
        for a in range(d):
            for b in range(d):
                gram[a, b] += plan[PULLS, z] * X[z, a] * X[z, b]
    times(gram[:, :d], theta, plan[OTHER])
    for a in range(d):
        fresh[a] = plan[OTHER, a] - plan[TOLD, a]
        plan[TOLD, a] = plan[OTHER, a]
    times(inverse[:, :d], fresh, plan[OTHER])
    times(F, plan[OTHER], plan[MEAN])


@inner
def assess(plan, F, scores, sigma, left):  # type: ignore[no-untyped-def]
    """Update bounds, active arms and leader as `replan` does; return how many are active."""
    K, d = F.shape
    inverse, active, bounds, mean = plan[ROWS : ROWS + d], plan[ACTIVE], plan[BOUNDS], plan[MEAN]
    best, spread, largest = -1, 0.0, 0.0
    for y in range(K):
        total = 0.0
        for z in range(K):
            if active[y] * active[z] > 0.0:
                s = deviation(sigma, inverse, F, y, z)
                total += s
                largest = max(largest, s)
        spread = max(spread, total)
        if active[y] > 0.0 and (best < 0 or mean[y] > mean[best]):
            best = y
    cost = plan[NUMBERS, COST] * (largest if plan[NUMBERS, BEGINS] == 1.0 else 1.0)
    radius = 0.0
    if cost > 0.0 and left > 0.0:
        radius = math.sqrt(2.0 * math.log1p(left * spread / cost))
    count, leader, sure = 0, -1, plan[WORK]
    for z in range(K):
        sure[z] = 0.0
        if active[z] > 0.0:
            most = 0.0
            for y in range(K):
                if active[y] > 0.0:
                    reach = radius * deviation(sigma, inverse, F, y, z)
                    most = max(most, mean[y] - mean[z] + reach)
                    if y == best and z != best and mean[y] - mean[z] >= reach:
                        sure[z] = 1.0
            bounds[z] = min(bounds[z], most)
    for z in range(K):
        if sure[z] > 0.0:
            active[z] = 0.0
        if active[z] > 0.0:
            count += 1
            if leader < 0 or scores[z] > scores[leader]:
                leader = z
    plan[NUMBERS, LEADER] = leader
    return count


@inner
def change(t, plan, X, F, theta, scores, parameters, sigma):  # type: ignore[no-untyped-def]
    """Begin the first phase, or end one and plan the next."""
    numbers, penalty, d = plan[NUMBERS], parameters[PENALTY], X.shape[1]
    target, most_pulls, most_cost, least = 0.0, parameters[FIRST], math.inf, 0.0
    if t == 1:
        plan[ACTIVE] = 1.0
        plan[BOUNDS] = math.inf
        for a in range(d):
            plan[ROWS + d + a, a] = parameters[RIDGE]
    else:
        left = parameters[HORIZON] - (t - 1)
        estimate(plan, X, F, theta)
        rivals = assess(plan, F, scores, sigma, left)
        numbers[BEGINS], numbers[ENDS] = t, t
        if rivals == 1 or left <= 0.0:
            return
        target = numbers[WIDTH] / FINER
        most_pulls, most_cost = left, WORTH_PLAYING * left * plan[BOUNDS, int(numbers[LEADER])]
        least = sigma * target
    numbers[BEGINS], numbers[ENDS] = t, t
    count = design(plan, X, F, penalty, least, target, most_pulls, most_cost)
    if t == 1 or (numbers[WIDTH] <= target and numbers[COST] <= most_cost):
        numbers[ENDS] = t + count


@inlined
def elimination(t, view, rng):  # type: ignore[no-untyped-def]
    """Choose as `ProjectedElimination.select` does."""
    plan, numbers = view.plan, view.plan[NUMBERS]
    if t == 1 or (t == numbers[ENDS] and numbers[BEGINS] < numbers[ENDS]):
        sigma = sigma_of(t, view, view.own)
        parameters = view.parameters
        change(float(t), plan, view.learn, view.aim, view.theta, view.scores, parameters, sigma)
    if numbers[BEGINS] == numbers[ENDS]:
        return int(numbers[LEADER])
    z, left = 0, t - numbers[BEGINS] - plan[PULLS, 0]
    while left >= 0.0:
        z += 1
        left -= plan[PULLS, z]
    return z


LOOPS = {
    "elimination": {
        "finite": bind(finite_steps, "elimination_finite", allocates=False, rule=elimination)
    }
}
