"""A decision, what was on offer and how probable it was: what makes and what reads them share."""
