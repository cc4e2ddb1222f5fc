"""`theory` and `list`: questions that nothing is simulated for."""

import json

import pytest

import projbandits as pb
from projbandits import theory
from tests.commands import call, refused
from tests.worlds import world_of


def test_theory_shows_the_constants_of_the_simulated_world() -> None:
    shown = call("theory", "random_arms", "--trial", "2", "--seed", "5", "--json").stdout
    values = {row["quantity"]: row["value"] for row in json.loads(shown)}
    world = world_of(pb.problems.random_arms(), 2, seed=5)
    c = theory.constants(world)
    assert values["asymptotic_constant"] == pytest.approx(theory.asymptotic_constant(world).value)
    assert values["gap"] == c.gap
    assert values["alpha_threshold"] == c.alpha_threshold
    assert values["alpha_exceeds"] is False
    assert values["theorem_1"] == pytest.approx(theory.theorem_1(10_000, 45))
    assert "theorem_2" not in values
    assert "misspecified" in refused("theory", "wine")


def test_theory_over_many_worlds() -> None:
    shown = call("theory", "random_arms", "--trials", "21", "--alpha", "20000", "--json").stdout
    rows = {row["quantity"]: row for row in json.loads(shown)}
    worlds = [world_of(pb.problems.random_arms(), i) for i in range(21)]
    thresholds = sorted(theory.constants(world).alpha_threshold for world in worlds)
    expected = (thresholds[2], thresholds[10], thresholds[18])
    assert tuple(rows["alpha_threshold"][q] for q in ("p10", "median", "p90")) == expected
    share = sum(threshold < 20_000 for threshold in thresholds) / 21
    assert 0 < share < 1
    assert rows["alpha_exceeds"]["mean"] == share
    infinite = call("theory", "entropy_ball", "--trials", "3").stdout
    assert "alpha_threshold\tinf\tinf\tinf\tinf\t" in infinite


def test_list_names_everything_with_its_parameters() -> None:
    rows = json.loads(call("list", "--json").stdout)
    assert {row["kind"] for row in rows} == {"problems", "strategies", "figures"}
    (gentry,) = (row for row in rows if row["name"] == "GENTRY")
    assert "alpha=1.0" in gentry["parameters"]
    assert gentry["about"].startswith("The greedy projection strategy")
    only = call("list", "problems").stdout.splitlines()
    assert only[0].split("\t") == ["kind", "name", "parameters", "about"]
    assert {line.split("\t")[0] for line in only[1:]} == {"problems"}
    assert "did you mean 'figures'" in refused("list", "figure")
