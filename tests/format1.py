"""Files of deciders as version 0.1.0 wrote them (format 1), and how they were made.

They are in tests/data/format1, and cannot be made by the library as it is now. This was run in a
checkout of that version, as `python -m tests.format1 tests/data/format1`.
"""

import hashlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import projbandits as pb

FOLDER = Path(__file__).parent / "data" / "format1"
KIND = b"projbandits decider, format 1"
COLUMNS = ["age", "price", "size"]
U = pb.Subspace.without("age", columns=COLUMNS)


def played(decider: pb.Decider, steps: int = 12) -> None:
    rng = np.random.default_rng(0)
    for t in range(steps):
        offer = pd.DataFrame(rng.normal(size=(5, 3)), columns=COLUMNS)
        for decision in decider.ask(offer, count=2):
            if t % 3:
                decider.tell(decision.id, float(rng.normal()))


def main(folder: Path) -> None:
    """Write a decider without and one with a log, and what they knew."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, log in (("plain", False), ("logged", True)):
        decider = pb.Decider(pb.GENTRY(alpha=3.0), subspace=U, seed=1, log=log)
        decider.learn(np.eye(3), [1.0, 2.0, 3.0])
        played(decider)
        decider.save(folder / f"{name}.decider")
        told = dict(decider._outcomes.recent)  # type: ignore[attr-defined]
        known = {
            "theta": decider.ridge.theta.tolist(),
            "observations": decider.ridge.n,
            "steps": decider.steps,
            "pending": [decision.id for decision in decider.pending],
            "told": told,
        }
        if log:
            known["reasons"] = {key: decider.explain(key).reason for key in decider.log()["id"][:6]}
        (folder / f"{name}.json").write_text(json.dumps(known))
    for strategy in (pb.GENTRY(), pb.EIIDS()):
        spilled(folder, strategy)


def spilled(folder: Path, strategy: pb.GENTRY | pb.EIIDS) -> None:
    """Write a decider with a log, some of it spilled, and decisions that are pending."""
    decider, rng = pb.Decider(strategy, subspace=U, seed=0, log=True), np.random.default_rng(0)
    name = type(strategy).__name__
    log, file = folder / f"{name}.parquet", folder / f"{name}.decider"
    for t in range(5):
        for decision in decider.ask(rng.normal(size=(4, 3)), count=2):
            if t % 3:
                decider.tell(decision.id, float(rng.normal()))
        if t == 2:
            decider.spill(log)
    decider.save(file)
    # The file names the log by its whole path, which depends on the machine.
    with np.load(io.BytesIO(file.read_bytes().split(b"\n", 2)[2])) as stored:
        arrays = dict(stored)
    fields = {**json.loads(arrays["meta"].tobytes()), "log_files": ["/spilled.parquet"]}
    arrays["meta"] = np.frombuffer(json.dumps(fields).encode(), dtype=np.uint8)
    np.savez(sink := io.BytesIO(), **arrays)
    digest = hashlib.sha256(sink.getvalue()).hexdigest().encode()
    file.write_bytes(b"%s\n%s\n%s" % (KIND, digest, sink.getvalue()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
