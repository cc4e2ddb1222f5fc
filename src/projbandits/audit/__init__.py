"""Accounts of what was decided: `explain` one decision, `audit` all of them."""
