"""Problems and strategies as text: what is read, and what is said of what cannot be."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import projbandits as pb
from projbandits import specs

RNG = np.random.default_rng(0)


def test_every_public_strategy_and_problem_has_a_name_and_nothing_else_has() -> None:
    public = {name: getattr(pb, name) for name in pb.__all__}
    strategies = {
        name
        for name, value in public.items()
        if inspect.isclass(value)
        and issubclass(value, pb.LinearStrategy)
        and not inspect.isabstract(value)
    }
    assert set(specs.STRATEGIES) == strategies >= {"GENTRY", "CURSE", "REGRET", "UE", "EIIDS"}
    named = {"random_arms", "random_theta", "entropy_ball", "wine", "instance", "offers"}
    assert set(specs.PROBLEMS) == named | {"estimated_subspace", "groups"}
    assert set(specs.NOISE_MAKERS) == {"Gaussian", "Uniform", "Bernoulli"}
    assert set(specs.DRIFTS) == {"Jump", "Wander"}
    assert set(specs.SUBSPACE_MAKERS) == {"uncorrelated_with", "span", "coordinates", "without"}
    assert "ConvexSet" not in specs.SET_MAKERS


@pytest.mark.parametrize(
    "strategy",
    [
        pb.GENTRY(),
        pb.GENTRY(alpha=0.3, penalty=2.0, schedule="smooth", basis="first"),
        pb.REGRET(alpha=1e-7),
        pb.UE(alpha=0.5),
    ],
    ids=repr,
)
def test_a_label_can_be_pasted_back(strategy: pb.Strategy) -> None:
    assert specs.strategy(repr(strategy)) == strategy


def test_calls_nest() -> None:
    made = specs.problem("random_arms(d=3, u=1, noise=Uniform(scale=0.1))")
    assert made == pb.problems.random_arms(d=3, u=1, noise=pb.problems.Uniform(0.1))
    within = specs.problem("estimated_subspace(problem=random_arms(d=3, u=1), size=50)")
    assert within == pb.problems.estimated_subspace(pb.problems.random_arms(d=3, u=1), size=50)
    assert specs.problem(" wine( scale = None ) ") == pb.problems.wine(scale=None)
    drifting = specs.problem("offers(context=2, drift=Jump(every=50))")
    assert drifting == pb.problems.offers(context=2, drift=pb.problems.Jump(every=50))
    world = specs.problem(
        "instance(arms=[[1, 0], [0, 1]], theta=[1, -5], subspace=coordinates(keep=[0], d=2))"
    ).world(RNG)
    assert world.theta is not None
    assert world.theta.tolist() == [1.0, -5.0]
    assert world.best_arm.index == 0
    ball = "instance(arms=Ball(d=2), theta=[3, 4], subspace=span(A=[[1, 0], [0, 1]]))"
    assert specs.problem(ball).world(RNG).best_reward == pytest.approx(5.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("GENTRI", r"^strategy must be one of .*'UE', .*got 'GENTRI': did you mean 'GENTRY'\?"),
        ("gentry", "did you mean 'GENTRY'"),
        ("Strategy", "got 'Strategy'"),
        ("GENTRY(alhpa=2)", "GENTRY takes .*schedule, basis, got 'alhpa': did you mean 'alpha'"),
        ("GENTRY(alpha='two')", "strategy GENTRY: alpha must be a number, got 'two'"),
        ("GENTRY(alpha=-1)", r"strategy GENTRY: alpha must be positive, got -1\.0"),
        ("GENTRY(basis=first)", "basis must be a number, a text in quotes.*, got first"),
        ("GENTRY(schedule=open('x'))", "schedule must name its parameters"),
        ("GENTRY(alpha=__import__('os').getpid())", "alpha must be a name, or a call"),
        ("GENTRY(alpha=1 if 1 else 2)", "alpha must be a number"),
        ("GENTRY(2)", r"must name its parameters, as in 'name\(key=2\)', got 'GENTRY\(2\)'"),
        ("GENTRY(**{})", "must name its parameters"),
        ("GENTRY(name='UE')", "must name its parameters|takes"),
        ("GENTRY(alpha=1, alpha=2)", "each parameter once"),
        ("pb.GENTRY()", "must be a name, or a call"),
        ("GENTRY(", "must be a name, or a call"),
        ("", "must be a name, or a call"),
    ],
)
def test_what_is_no_strategy_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        specs.strategy(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("random_arm", "did you mean 'random_arms'"),
        ("random_arms(noise=Unifrom())", "noise must be one of .*did you mean 'Uniform'"),
        ("random_arms(noise=Uniform(scale=-1))", "random_arms: noise Uniform: noise must not be"),
        ("instance(arms=[[1]])", "problem instance must have subspace, it has none"),
        ("instance(arms=[[1]], subspace=span(A=[[1]]))", "theta, or both returns and rewards"),
    ],
)
def test_what_is_no_problem_is_named(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        specs.problem(text)


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path


def test_a_file_says_the_same_in_tables(tmp_path: Path) -> None:
    plan = specs.read(
        write(
            tmp_path,
            """
trials = 20
checkpoints = [5, 10]
problem = {name = "random_arms", d = 3, u = 1, noise = {name = "Bernoulli"}}
[[strategies]]
name = "GENTRY"
alpha = 2
[[strategies]]
name = "UE"
""",
        )
    )
    assert plan.problem == pb.problems.random_arms(d=3, u=1, noise=pb.problems.Bernoulli())
    assert plan.strategies == (pb.GENTRY(alpha=2), pb.UE())
    assert plan.options == {"trials": 20, "checkpoints": [5, 10]}


def test_a_file_may_hold_calls_and_name_a_table_beside_it(tmp_path: Path) -> None:
    (tmp_path / "arms.csv").write_text("length,age\n1,0\n0,1\n1,1\n")
    plan = specs.read(
        write(
            tmp_path,
            """
strategies = ["GENTRY(alpha=2)", "CURSE"]
[problem]
name = "instance"
arms = "arms.csv"
theta = [1.0, 3.0]
noise = "Uniform(scale=0.1)"
subspace = {name = "without", names = ["age"], columns = ["length", "age"]}
""",
        )
    )
    world = plan.problem.world(RNG)
    assert np.asarray(world.arm_rewards).tolist() == [1, 0, 1]
    assert world.noise == pb.problems.Uniform(0.1)
    assert plan.strategies == (pb.GENTRY(alpha=2), pb.CURSE())


GOOD = 'problem = "random_arms"\nstrategies = ["UE"]\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD + "trails = 3", "plan.toml takes problem, .*trials,.* got 'trails': did you mean"),
        ('problem = "random_arms"', "must have problem and strategies, it has no strategies"),
        ('strategies = ["UE"]', "it has no problem"),
        ('problem = "random_arms"\nstrategies = "UE"', r"must be a list of \[\[strategies\]\]"),
        ('problem = "random_arms"\nstrategies = ["UE", 3]', "strategy 2 must be a text.*got 3"),
        ('problem = {d = 3}\nstrategies = ["UE"]', "problem must be .* a table with a name"),
        ('problem = {name = 3}\nstrategies = ["UE"]', "problem must be one of .*got 3"),
        (
            'problem = "random_arms"\nstrategies = [{name = "UE"}, {name = "UE", alpah = 1}]',
            "strategy 2 UE takes .*did you mean 'alpha'",
        ),
        ("problem: 3", r"plan.toml must be a TOML file: .*line 1"),
        (b"\xff\xfe\x00", r"plan\.toml must be a TOML file"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, text: str | bytes, said: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises((ValueError, TypeError), match=said):
        specs.read(path)
