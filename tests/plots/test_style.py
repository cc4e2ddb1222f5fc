"""What all figures share: looks that can be told apart."""

import numpy as np
from matplotlib.colors import to_rgb

import projbandits as pb
from projbandits import plots


def test_nine_strategies_have_nine_looks_and_any_parameter_can_be_an_axis() -> None:
    looks = {tuple(str(v) for v in plots.look(i).values()) for i in range(64)}
    assert len(looks) == 64
    result = pb.simulate(
        pb.problems.random_arms(), [pb.GENTRY(), pb.GENTRY(basis="first")], trials=2, horizon=5
    )
    assert plots.against(result, "basis").get_xlabel().startswith("basis")


def test_colours_differ_for_every_kind_of_colour_vision() -> None:
    # Full dichromacy (Machado, Oliveira and Fernandes 2009, severity 1), on linear RGB.
    visions = {
        "usual": np.eye(3),
        "protan": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
        "deutan": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
        "tritan": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    }
    rgb = np.array([to_rgb(c) for c in plots.COLOURS[:6]]) ** 2.2
    for name, matrix in visions.items():
        seen = np.clip(rgb @ np.array(matrix).T, 0, 1) ** (1 / 2.2)
        distance = np.linalg.norm(seen[:, None] - seen[None], axis=-1) + 9 * np.eye(6)
        assert distance.min() > 0.1, name
