"""docs/adding-a-strategy.md, followed to the letter in a copy of the tree."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "adding-a-strategy.md").read_text()
TOOLS = Path(sys.executable).parent
TESTS = [
    f"tests/{subject}.py"
    for subject in (
        "strategies/test_base",
        "simulation/test_compiled",
        "test_specs",
        "test_reference",
    )
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the page's strategy in it."""
    copy = tmp_path_factory.mktemp("copy") / "project"
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    if (ROOT / ".mypy_cache").is_dir():  # what the lint step has found of the rest
        shutil.copytree(ROOT / ".mypy_cache", copy / ".mypy_cache")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    skeleton = re.search(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert skeleton is not None
    folder = copy / "src" / "projbandits" / "strategies"
    assert f"`{folder.relative_to(copy)}/`" in PAGE
    (folder / "explore.py").write_text(skeleton[1])
    listed = (folder / "__init__.py").read_text()
    listed = listed.replace(
        "from projbandits.strategies.greedy",
        "from projbandits.strategies.explore import ExploreThenCommit\n"
        "from projbandits.strategies.greedy",
    )
    listed = listed.replace(
        '    "LinearStrategy",\n', '    "ExploreThenCommit",\n    "LinearStrategy",\n'
    )
    (folder / "__init__.py").write_text(listed)
    reference = copy / "docs" / "reference" / "index.md"
    assert f"`{reference.relative_to(copy)}`" in PAGE
    reference.parent.mkdir(parents=True)
    names = (ROOT / reference.relative_to(copy)).read_text()
    names = names.replace("   ProjectedTS\n", "   ProjectedTS\n   ExploreThenCommit\n")
    reference.write_text(names)
    return copy


@pytest.mark.parametrize(
    "command",
    [
        ["ruff", "check", "src"],
        ["ruff", "format", "--check", "src"],
        ["lint-imports"],
        ["mypy", "src/projbandits/strategies/explore.py"],
        ["python", "-m", "pytest", "-v", *TESTS, "-k", "ExploreThenCommit or public"],
    ],
    ids=lambda command: command[0],
)
def test_every_check_passes_with_the_strategy_of_the_page(tree: Path, command: list[str]) -> None:
    name, *arguments = command
    if not (TOOLS / name).exists():
        pytest.skip("the oldest versions are tested without the tools of the lint step")
    done = subprocess.run(
        [TOOLS / name, *arguments],
        cwd=tree,
        env={"PYTHONPATH": str(tree / "src"), "MPLBACKEND": "agg", "HOME": str(tree)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    if name == "python":
        assert set(re.findall(r"::(\w+)\S* PASSED", done.stdout)) >= {
            "test_every_strategy_conforms",
            "test_no_part_of_a_strategy_can_be_changed_unseen",
            "test_every_public_strategy_and_problem_has_a_name_and_nothing_else_has",
            "test_a_public_name_has_its_parameters_and_an_example",
            "test_a_strategy_states_its_rule_and_where_it_is_from",
            "test_the_reference_has_every_public_name_and_nothing_else",
        }
