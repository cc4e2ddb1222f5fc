"""The ledger of a decider: what happened, as events in order, and the belief that follows."""
