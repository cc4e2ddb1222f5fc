"""What arms are called: texts and whole numbers, written as texts that can be told apart."""

from __future__ import annotations

import json

Label = str | int

SPECIAL = '"-0123456789'
"""How a text begins that could be taken for a number, or for one in quotes."""


def write_label(label: Label) -> str:
    r"""Return a label as a text, from which it can be read again.

    Examples
    --------
    >>> from projbandits.ledger.labels import write_label
    >>> write_label("film"), write_label(17), write_label("17")
    ('film', '17', '"17"')
    """
    if isinstance(label, str):
        return label if label[:1] not in SPECIAL else json.dumps(label)
    return str(int(label))


def read_label(text: str) -> Label:
    """Return the label that was written.

    Examples
    --------
    >>> from projbandits.ledger.labels import read_label
    >>> read_label("film"), read_label("17"), read_label('"17"')
    ('film', 17, '17')
    """
    if text[:1] not in SPECIAL:
        return text
    return str(json.loads(text)) if text[0] == '"' else int(text)
