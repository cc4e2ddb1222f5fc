"""The part that must not count: swapped whole, and cut into groups."""

import numpy as np

import projbandits as pb
from projbandits.audit.protected import Protected, groups


def test_an_audit_changes_all_that_is_protected_and_nothing_else() -> None:
    rng = np.random.default_rng(0)
    X, others = rng.normal(size=(2, 20, 5))
    for subspace in (
        pb.Subspace.span(rng.normal(size=(5, 3))),
        pb.Subspace.coordinates([0, 3], d=5),
    ):
        swapped = Protected.of(subspace, None, X).swapped(X, others)
        rest = subspace.complement()
        np.testing.assert_allclose(subspace.project(swapped), subspace.project(X), atol=1e-12)
        np.testing.assert_allclose(rest.project(swapped), rest.project(others), atol=1e-12)


def test_groups_of_a_column_hold_each_arm_once() -> None:
    rng = np.random.default_rng(0)
    mostly = np.where(rng.random(100) < 0.8, 0.0, rng.normal(size=100))
    for values in (mostly, -np.abs(mostly), rng.normal(size=100), np.arange(3) / 3):
        found = groups(values)
        assert (sum(inside(values).astype(int) for _, inside in found) == 1).all()
        assert all(inside(values).any() for _, inside in found)
        assert len({label for label, _ in found}) == len(found)
    assert [label for label, _ in groups(np.array([-0.2585731, 1.0]))] == ["-0.259", "1"]
    assert [label for label, _ in groups(np.array([0.12341, 0.12342]))] == ["0.12341", "0.12342"]
