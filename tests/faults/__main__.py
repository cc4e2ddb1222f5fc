"""Run one fault by hand."""

import argparse
import random
import sys
from collections.abc import Callable

from tests.faults import disorder, files, forks, kills, requests, services, signals
from tests.faults.verdicts import Outcomes

FAULTS: dict[str, Callable[[str, int, random.Random], Outcomes]] = {
    "kills": kills.kills,
    "restarts": kills.restarts,
    "cuts": kills.cuts,
    "damage": files.damage,
    "disorder": disorder.disorder,
    "forks": forks.forks,
    "full": files.full,
    "read-only": files.read_only,
    "requests": requests.requests,
    "servers": forks.servers,
    "services": services.services,
    "signals": signals.signals,
}
TRIES = {
    "cuts": 50,
    "damage": 1000,
    "disorder": 2000,
    "full": 20,
    "read-only": 1,
    "requests": 3000,
    "restarts": 10,
    "services": 50,
}
BOTH = ["kills", "forks", "servers", "signals", "disorder", "services", "requests"]
SUITS = {
    "sqlite": [*BOTH, "full", "read-only", "damage"],
    "postgresql": [*BOTH, "restarts", "cuts"],
}
"""Which faults each database can have."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", choices=[*FAULTS, "all"])
    parser.add_argument("--store", choices=["sqlite", "postgresql"], default="sqlite")
    parser.add_argument("--tries", type=int, help="how often; by default enough to find something")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chosen = SUITS[options.store] if options.fault == "all" else [options.fault]
    wrong = False
    for name in chosen:
        tries = options.tries or TRIES.get(name, 100)
        print(f"{name}, {options.store}, {tries} tries")
        found = FAULTS[name](options.store, tries, random.Random(options.seed))
        for outcome, times in sorted(found.items()):
            print(f"{times:>8,}  {outcome}")
        wrong |= any(word.isupper() for what in found for word in what.split(":")[0].split())
    sys.exit(wrong)


if __name__ == "__main__":
    main()
