"""Where the rows of a log come from: tables at hand, Parquet and CSV files, read piece by piece."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from projbandits._validation import short
from projbandits.tables import Columns

BATCH_ROWS = 65_536
"""How many rows of a table are looked at together."""
BLOCK_BYTES = 1 << 23
"""How many bytes of a CSV file are read together."""
ENOUGH_ROWS = 4 * BATCH_ROWS
"""This many rows are enough for one piece; groups of a Parquet file may have more."""


class Piece(Protocol):
    """Some rows of a log that are read on their own, here or on another machine."""

    @property
    def first(self) -> int:
        """The number of its first row."""
        ...

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[int, Columns]]:
        """Yield the number of the first row and some rows, with these columns."""
        ...


class Source(Protocol):
    """All rows of a log."""

    names: tuple[str, ...]
    rows: int | None

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces in order."""
        ...


@dataclass(frozen=True)
class TablePiece:
    """Rows of a table at hand."""

    first: int
    table: Any

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[int, Columns]]:
        """Yield the rows in batches, which stay in the cache."""
        rows, cut = len(Columns("log", self.table)), _cutter(self.table)
        for start in range(0, rows, BATCH_ROWS):
            batch = cut(start, min(start + BATCH_ROWS, rows))
            yield self.first + start, Columns("log", batch)


@dataclass(frozen=True)
class ParquetPiece:
    """Some groups of rows of a Parquet file, one after the other.

    It knows where they are and not what is in them, so it takes no time to send.
    """

    first: int
    path: str
    groups: tuple[int, ...]

    def tables(self, columns: Sequence[str]) -> Iterator[tuple[int, Columns]]:
        """Yield the rows in batches: a group may be larger than memory."""
        import pyarrow as pa
        from pyarrow import parquet as pq

        first = self.first
        if not os.path.exists(self.path):
            raise FileNotFoundError(
                f"log must be a file that every worker can read, {self.path!r} is not there"
            )
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(
                BATCH_ROWS, row_groups=[*self.groups], columns=[*columns], use_threads=False
            ):
                yield first, Columns("log", pa.Table.from_batches([batch]))
                first += batch.num_rows


class Table:
    """A table of pandas, polars or Arrow, a dict of columns or a list of dicts."""

    def __init__(self, table: Any) -> None:
        columns = Columns("log", table)
        self.names = columns.names
        self.rows: int | None = len(columns)
        self._table = table
        self._cut = _cutter(table)

    def pieces(self) -> Iterator[Piece]:
        """Yield slices, not copies, where the library can."""
        assert self.rows is not None
        size = min(max(self.rows // 8, BATCH_ROWS), ENOUGH_ROWS)
        for first in range(0, self.rows, size):
            yield TablePiece(first, self._cut(first, min(first + size, self.rows)))


class Parquet:
    """A Parquet file, or all Parquet files of a folder in the order of their names."""

    def __init__(self, path: Path) -> None:
        from pyarrow import parquet as pq

        path = path.absolute()  # workers may be in another folder
        files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not files:
            raise ValueError(f"log must have Parquet files, the folder {str(path)!r} has none")
        self._pieces: list[ParquetPiece] = []
        self.names: tuple[str, ...] = ()
        first = 0
        for file in files:
            try:
                metadata = pq.read_metadata(file)
                names = tuple(pq.read_schema(file).names)
            except (OSError, ValueError) as error:
                raise ValueError(
                    f"log must be Parquet, or CSV with a name that ends in .csv, {str(file)!r} is "
                    f"not: {error}"
                ) from error
            if self.names and not {*self.names} <= {*names}:
                missing = sorted({*self.names} - {*names})
                raise ValueError(f"log must have the columns {missing} in {str(file)!r} too")
            self.names = self.names or names
            together, start = list[int](), first
            for group in range(metadata.num_row_groups):
                together.append(group)
                first += metadata.row_group(group).num_rows
                if first - start >= ENOUGH_ROWS or group == metadata.num_row_groups - 1:
                    self._pieces.append(ParquetPiece(start, str(file), tuple(together)))
                    together, start = [], first
        self.rows: int | None = first

    def pieces(self) -> Iterator[Piece]:
        """Yield the groups of rows."""
        yield from self._pieces


class Csv:
    """A CSV file with a header, read in blocks one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._open() as reader:
            self.names = tuple(reader.schema.names)
        self.rows: int | None = None

    def _open(self) -> Any:
        import pyarrow as pa

        try:
            return self._reader()
        except pa.ArrowException as error:
            raise self._error(error, None) from error

    def _reader(self, types: Any = None, odd: Any = None) -> Any:
        """Open the file; with `odd` in one thread, in which rows are counted."""
        from pyarrow import csv

        return csv.open_csv(
            self._path,
            csv.ReadOptions(block_size=BLOCK_BYTES, use_threads=odd is None),
            csv.ParseOptions(invalid_row_handler=odd),
            csv.ConvertOptions(column_types=types),
        )

    def pieces(self) -> Iterator[Piece]:
        """Yield the blocks."""
        import pyarrow as pa

        first = 0
        with self._open() as reader:
            while True:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except pa.ArrowException as error:
                    raise self._error(error, reader.schema) from error
                yield TablePiece(first, pa.Table.from_batches([batch]))
                first += batch.num_rows

    def _error(self, error: Exception, schema: Any) -> ValueError:
        """Return what is wrong with the file, and in which row: it is read again as text."""
        import pyarrow as pa

        found: list[Any] = []

        def odd(row: Any) -> str:
            found.append(row)
            return "error"

        row, names = 0, [] if schema is None else schema.names
        try:
            with self._reader(dict.fromkeys(names, pa.string()), odd) as reader:
                for batch in reader:
                    for field in schema or ():
                        at = _unlike(batch.column(field.name), field.type)
                        if at is not None:
                            return ValueError(
                                "log must hold values of one kind in each column, got "
                                f"{short(batch.column(field.name)[at].as_py())} in row {row + at}, "
                                f"column {field.name!r}, which began with {field.type}"
                            )
                    row += batch.num_rows
        except pa.ArrowException:
            if found:
                return ValueError(
                    f"log must have {found[0].expected_columns} columns in each row, got "
                    f"{found[0].actual_columns} in row {found[0].number - 2}: "
                    f"{short(found[0].text)}"
                )
        return ValueError(f"log must be CSV, {str(self._path)!r} is not: {error}")


def _unlike(column: Any, kind: Any) -> int | None:
    """Return the first text in a column that cannot be read as of a kind, None if all can be."""
    import pyarrow as pa

    def fails(some: Any) -> bool:
        try:
            some.cast(kind)
        except pa.ArrowException:
            return True
        return False

    if not fails(column):
        return None
    return next(
        (i for i in range(len(column)) if column[i].as_py() and fails(column.slice(i, 1))), None
    )


def source(table: Any) -> Source:
    """Return where the rows of a log come from."""
    if not isinstance(table, str | os.PathLike):
        return Table(table)
    path = Path(table)
    if not path.exists():
        raise FileNotFoundError(f"log must be a table, a file or a folder, {str(path)!r} is none")
    return Csv(path) if ".csv" in path.suffixes else Parquet(path)


def _cutter(table: Any) -> Callable[[int, int], Any]:
    if hasattr(table, "iloc"):
        return lambda start, stop: table.iloc[start:stop]
    if hasattr(table, "slice"):
        return lambda start, stop: table.slice(start, stop - start)
    if isinstance(table, dict):
        return lambda start, stop: {name: values[start:stop] for name, values in table.items()}
    return lambda start, stop: table[start:stop]
