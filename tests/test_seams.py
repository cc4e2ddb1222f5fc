"""Where one folder of the library ends and the next begins."""

import ast
from collections.abc import Iterator
from pathlib import Path

import projbandits as pb

ROOT = Path(str(pb.__file__)).parent
FILES = {path.relative_to(ROOT): ast.parse(path.read_text()) for path in ROOT.rglob("*.py")}


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def folder(module: str) -> Path:
    """Return where a module of the library is."""
    path = Path(*module.split(".")[1:])
    return path if (ROOT / path).is_dir() else path.parent


def imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each module of the library that a file imports from, and the name that it takes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("projbandits"):
            for name in node.names:
                yield str(node.module), name.name


def test_no_underscored_name_crosses_a_folder() -> None:
    found = [
        f"{path}: {module}.{name}"
        for path, tree in FILES.items()
        for module, name in imported(tree)
        if private(name)
        and not (ROOT / f"{name}.py").exists()  # the commons are open to all
        and path.parent != folder(module)
    ]
    assert found == []


def test_nobody_reaches_into_a_decider() -> None:
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in FILES.items()
        if path.parts[0] != "deciding"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and private(node.attr)
        and ast.unparse(node.value).rpartition(".")[2].strip("_") in {"decider", "Decider"}
    ]
    assert found == []


def test_nobody_but_a_history_and_those_who_write_reads_a_ledger() -> None:
    found = [
        f"{path}: {module}"
        for path, tree in FILES.items()
        if path.parts[0] in {"audit", "evaluation", "plots", "service"}
        for module, name in imported(tree)
        if module in {"projbandits.ledger.reading", "projbandits.ledger.statements"}
    ]
    assert found == []
