"""Numbers of simulations and deciders, frozen, to tell whether a change of the code changes them.

    python -m tests.oracles                      compare everything with the frozen files
    python -m tests.oracles --only amended       compare one corpus
    python -m tests.oracles freeze --why "..."   freeze again, with a line in the changelog

`adapter.py` alone knows the public names of the library. Everything else, the frozen files
included, speaks the adapter's vocabulary: outcome, labels, request_id, penalty, influence.
"""
