"""Evidence from the log on whether the part that must not count had an influence."""
