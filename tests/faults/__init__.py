"""Faults, made for real: processes and servers killed, disks full, files damaged, signals.

By hand, for as long as you like: `python -m tests.faults kills --store sqlite --tries 100`. The
tests run short forms. A fault returns how often it came to what; an outcome in CAPITALS must not
occur, and makes the command fail.
"""
