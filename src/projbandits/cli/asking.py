"""The commands that simulate nothing: what there is, and what the theorems say."""

from __future__ import annotations

import dataclasses
import inspect
import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from projbandits.cli import options

if TYPE_CHECKING:
    from projbandits.problems import World
    from projbandits.theory import Constants

MEANINGS = {
    "d": "features",
    "k": "dimension of span(D)",
    "arms": "|D|",
    "gap": "Delta, the smallest positive projection regret of an arm",
    "delta_basis": "delta_Dk, the smallest eigenvalue of the sum of x x^T over D_k",
    "Z": "bound on |x|",
    "S": "|theta|",
    "noise": "vartheta, the noise's sub-Gaussian parameter",
    "alpha_threshold": "what GENTRY's alpha must exceed in Theorem 1",
    "alpha_exceeds": "{whether} alpha = {alpha:g} exceeds it",
    "asymptotic_constant": "c(theta), the least constant of log n",
    "theorem_1": "|D| log n at n = {n:,}",
    "theorem_2": "max(k, sqrt d) n^(2/3) sqrt(log n) at n = {n:,}",
    "theorem_3": "d sqrt n at n = {n:,}, on a smooth set",
}

MOST_WORLDS = 1_000_000
"""Quantiles need no more; each world takes about ten milliseconds."""
LISTED_KINDS = ("problems", "strategies", "figures")


def theory(
    problem: options.Problem,
    trial: Annotated[int, typer.Option(help="Which world, numbered as in `simulate`.")] = 0,
    trials: Annotated[
        int, typer.Option(help="How many worlds, from that one on; several give quantiles.")
    ] = 1,
    seed: options.Seed = 0,
    alpha: Annotated[float, typer.Option(help="GENTRY's alpha.")] = 1.0,
    basis: Annotated[str, typer.Option(help="How D_k is chosen: pivoted-qr or first.")] = (
        "pivoted-qr"
    ),
    horizon: options.Horizon = 10_000,
    json: options.Json = False,
) -> None:
    """Show the theorems' constants, Theorem 1's threshold on alpha, and the orders of regret.

    The worlds are those that `simulate` and `compare` play in with the same seed.
    """
    import pandas as pd

    from projbandits import specs
    from projbandits._validation import LARGEST_SEED, integer, positive
    from projbandits.cli.output import show
    from projbandits.simulation.streams import stream
    from projbandits.theory import constants

    source = specs.problem(problem)
    first = integer("trial", trial, least=0)
    count = integer("trials", trials, least=1, most=MOST_WORLDS)
    alpha, horizon = positive("alpha", alpha), integer("horizon", horizon, least=1)
    seed = integer("seed", seed, least=0, most=LARGEST_SEED)
    worlds = (source.world(stream(seed, i, "world")) for i in range(first, first + count))
    rows = [_quantities(world, constants(world, basis), alpha, horizon) for world in worlds]
    found = pd.DataFrame(rows)
    if count == 1:
        frame = pd.DataFrame({"value": rows[0]}, dtype=object)
    else:
        share = found.pop("alpha_exceeds").mean()
        # No interpolation: infinite values would make it nan.
        frame = found.quantile([0.1, 0.5, 0.9], interpolation="lower").T
        frame.columns = pd.Index(["p10", "median", "p90"])
        frame.insert(0, "mean", found.mean())
        frame.loc["alpha_exceeds", "mean"] = share
        frame = frame.reindex(list(rows[0]))
    whether = "whether" if count == 1 else "the share of worlds in which"
    words = {"alpha": alpha, "n": horizon, "whether": whether}
    meaning = [MEANINGS[str(name)].format(**words) for name in frame.index]
    frame = frame.assign(meaning=meaning).rename_axis("quantity")
    where = f"world {first}" if count == 1 else f"{count:,} worlds"
    show(frame, as_json=json, title=f"{where} of {source}")


def _quantities(world: World, c: Constants, alpha: float, horizon: int) -> dict[str, Any]:
    from projbandits import theory

    known = {
        **dataclasses.asdict(c),
        "alpha_threshold": c.alpha_threshold,
        "alpha_exceeds": alpha > c.alpha_threshold,
    }
    if math.isfinite(c.arms):
        return {
            **known,
            "asymptotic_constant": theory.asymptotic_constant(world).value,
            "theorem_1": float(theory.theorem_1(horizon, int(c.arms))),
        }
    return {
        **known,
        "theorem_2": float(theory.theorem_2(horizon, c.k, c.d)),
        "theorem_3": float(theory.theorem_3(horizon, c.d)),
    }


def list_names(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="|".join(LISTED_KINDS), help="Only these.", show_default="everything"
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """List the problems, the strategies, and the paper's figures."""
    import pandas as pd

    from projbandits import specs
    from projbandits._validation import one_of
    from projbandits.cli.output import show
    from projbandits.paper import FIGURES

    wanted = LISTED_KINDS if kind is None else (one_of("what to list", kind, LISTED_KINDS),)
    rows = [
        (group, name, _parameters(maker), _about(maker))
        for group, makers in (("problems", specs.PROBLEMS), ("strategies", specs.STRATEGIES))
        for name, maker in makers.items()
    ]
    rows += [("figures", name, "", figure.title) for name, figure in FIGURES.items()]
    frame = pd.DataFrame(rows, columns=["kind", "name", "parameters", "about"])
    show(frame[frame["kind"].isin(wanted)].set_index("kind"), as_json=json)


def _parameters(maker: Any) -> str:
    """Return the parameters as they would be written, with their defaults."""
    return ", ".join(
        name if parameter.default is parameter.empty else f"{name}={parameter.default!r}"
        for name, parameter in inspect.signature(maker).parameters.items()
    )


def _about(maker: Any) -> str:
    """Return the first line of the docstring; of a function, what it returns."""
    return (inspect.getdoc(maker) or "").split("\n")[0].removeprefix("Return ")
