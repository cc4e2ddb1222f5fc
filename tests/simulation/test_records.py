"""What is kept of trials."""

import numpy as np

from projbandits.simulation.records import Questions


def test_the_window_of_the_best_share_is_two_hundred_steps() -> None:
    # A best arm is played from step 501 on.
    for horizon, checkpoints, expected in (
        (1000, [500, 600, 680, 681, 700, 1000], [0, 0.5, 0.9, 0.905, 1, 1]),
        (680, [680], [0.9]),
        (681, [681], [0.905]),
    ):
        questions = Questions(np.array(checkpoints), horizon)
        plays = np.maximum(questions.steps - 500.0, 0.0)
        pulls = np.array([[horizon - 500, 500]])
        records = questions.records(np.array([[plays, plays, plays]]), pulls)
        assert records.pulls is pulls
        assert records.best_share is not None
        assert records.found_best is not None
        np.testing.assert_allclose(records.best_share[0], expected)
        assert records.found_best.tolist() == [horizon > 680]
