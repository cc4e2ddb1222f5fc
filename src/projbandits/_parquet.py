"""Parquet files that say what they hold and carry a checksum of all of it.

The checksum stands between the pages and the footer, where Parquet leaves room: every reader finds
the footer from the end of the file and the pages from its beginning. So the file stays one that
any tool reads, and the checksum covers every other byte of it.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from projbandits._files import write_whole

MAGIC = b"PAR1"
MARK = b"projbandits sha256 "
SEAL = len(MARK) + hashlib.sha256().digest_size * 2
ABOUT = b"projbandits"


class Read(NamedTuple):
    """What a file held.

    Parameters
    ----------
    table : pyarrow.Table
        Its columns, the values of arrays of shape `about["shape"]`.
    about : dict
        What it says of itself.
    verified : bool
        Whether it carries a checksum that matches.
    """

    table: Any
    about: dict[str, Any]
    verified: bool


def write_table(target: Path, table: Any, about: dict[str, Any]) -> None:
    """Write a table whose columns are arrays of shape `about["shape"]`, and `about`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    metadata = {**(table.schema.metadata or {}), ABOUT: json.dumps(about).encode()}
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(metadata), sink)
    content = memoryview(sink.getvalue())
    at = _footer(content)
    seal = MARK + hashlib.sha256(content).hexdigest().encode()
    write_whole(target, b"".join([content[:at], seal, content[at:]]))


def read_table(path: Path) -> Read:
    """Read a file that `write_table` wrote, or one without a checksum.

    Raises
    ------
    ValueError
        If something is wrong with it; the message continues a sentence that begins with its name.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        content = path.read_bytes()
    except IsADirectoryError as error:
        raise ValueError("is a folder") from error
    verified = _verified(content)
    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        about = json.loads((file.metadata.metadata or {}).get(ABOUT, b"{}"))
        shape = about.get("shape", ())
        # Checked before use: a wrong size could ask for all the memory there is.
        if not all(type(n) is int and n > 0 for n in shape):
            raise ValueError(f"its shape is {shape}")
        if shape and math.prod(shape) != file.metadata.num_rows:
            raise ValueError(f"it has {file.metadata.num_rows} rows for the shape {shape}")
        return Read(file.read(), about, verified)
    except (pa.ArrowException, OSError, *UNREADABLE) as error:
        raise ValueError(f"cannot be read ({error})") from error


UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError),
    *(OverflowError, MemoryError, RecursionError),
)
"""What reading unexpected content may raise."""


def _verified(content: bytes) -> bool:
    """Tell whether a file has a checksum; raise if it does not match."""
    if len(content) < 12 or not content.startswith(MAGIC) or not content.endswith(MAGIC):
        raise ValueError("is no Parquet file, or only a part of one")
    at = _footer(content)
    start = at - SEAL
    if start >= 0 and content[start:at].startswith(MARK):
        rest = hashlib.sha256(content[:start])
        rest.update(content[at:])
        if MARK + rest.hexdigest().encode() == content[start:at]:
            return True
    elif MARK not in content:
        return False
    raise ValueError("is damaged: its checksum does not fit its content")


def _footer(content: bytes | memoryview) -> int:
    """Return where the footer of a Parquet file begins."""
    return len(content) - 8 - int.from_bytes(content[-8:-4], "little")
