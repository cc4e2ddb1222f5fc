"""The numbers that the dashboard and the metrics show, as events come."""

import projbandits as pb
from projbandits.service.overview import RECENT_DECISIONS, Overview

ARMS = [[1.0, 0.0], [0.0, 1.0]]


def test_an_overview_says_what_became_of_the_last_decisions() -> None:
    decider = pb.Decider(subspace=pb.Subspace.coordinates([0], d=2), log=True, seed=0)
    for id in ("told", "amended", "withdrawn", "back", "late"):
        decider.ask(ARMS, request_id=id)
    for id in ("told", "amended", "withdrawn"):
        decider.tell(id, 1.0)
    decider.amend("amended", 0.5)
    decider.withdraw("withdrawn", "a bot")
    decider.withdraw("back")
    decider.amend("back", 2.0)
    decider.expire(after=1e-9)
    decider.ask(ARMS, request_id="pending")
    seen = Overview(decider._ledger)
    assert seen.update()
    assert not seen.update()
    said = seen.numbers()
    became = {each["id"]: (each["state"], each["outcome"]) for each in said["recent"]}
    assert became == {
        "pending": ("pending", None),
        "late": ("expired", None),
        "back": ("amended", 2.0),
        "withdrawn": ("a bot", None),
        "amended": ("amended", 0.5),
        "told": ("told", 1.0),
    }
    assert said["recent"][0]["id"] == "pending"
    assert said["outcomes"] == decider.ridge.n == 3
    assert (said["pending"], said["expired"], said["withdrawn"]) == (1, 1, 1)
    assert said["revised"] == 3
    assert seen.gauges()["ledger_outcomes"] == 3


def test_only_the_last_decisions_are_kept() -> None:
    decider = pb.Decider(subspace=pb.Subspace.coordinates([0], d=2), log=True, seed=0)
    for i in range(RECENT_DECISIONS + 5):
        decider.tell(decider.ask(ARMS, request_id=f"q{i}"), 1.0)
    seen = Overview(decider._ledger)
    seen.update()
    kept = [each["id"] for each in seen.numbers()["recent"]]
    assert kept == [f"q{i}" for i in range(RECENT_DECISIONS + 4, 4, -1)]
    assert seen.numbers()["distinct"] == len(seen.chosen)
