"""Files that someone crafted, with a checksum that fits: refused by name, or harmless."""

import dataclasses
import random
import re
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import projbandits as pb
from projbandits.decisions.footer import declared
from projbandits.ledger.codec import LENGTH, decode, encode
from projbandits.ledger.events import Decided
from tests.crafted import refused, sign
from tests.crafted_parts import cases, log_cases, saved, unpacked, write

SAMPLE = 120

MUST: list[tuple[str, Any]] = [
    ("strategy", {"class": "__init__", "fields": {}}),
    ("strategy", {"class": "base", "fields": {}}),
    ("strategy", {"class": "LinearStrategy", "fields": {}}),
    ("strategy", {"class": "Choice", "fields": {"arm": 1, "probability": 1.0}}),
    ("strategy", {"class": "GENTRY", "fields": {"alpha": -1.0}}),
    ("strategy", {"class": "GENTRY", "fields": {"alpha": 1e300}}),
    ("strategy", {"class": "GENTRY", "fields": {"alpha": 2.0}}),
    ("strategy", {"class": "GENTRY", "fields": {"arm_effects": 0.5}}),
    ("strategy", {"class": "GENTRY", "fields": {"schedule": "never"}}),
    ("strategy", ["GENTRY"]),
    ("label", "UE()"),
    ("features", 2),
    ("features", "3"),
    ("base", -1),
    ("base", 10**400),
    ("last", 3),
    ("last", 1e3),
    ("whole", 1),
    ("session", -1),
    ("draws", 1.5),
    ("span_checked", 1),
    ("history", []),
    ("log_files", "told.parquet"),
    ("log_files", ["told.parquet"]),
    ("log_files", ["http://127.0.0.1:9/log.parquet"]),
    ("log_files", ["s3://bucket/log.parquet"]),
    ("log_files", ["file:///log.parquet"]),
    ("log_files", ["simplecache::http://127.0.0.1:9/log.parquet"]),
    ("log_files", [7]),
    ("log_files", None),
    ("more", 1),
]


@pytest.mark.parametrize(("field", "value"), MUST)
def test_a_field_that_save_cannot_have_written_is_refused(
    tmp_path: Path, field: str, value: Any
) -> None:
    path = tmp_path / "decider"
    saved(path)
    fields, parts = unpacked(path)
    write(path, fields, parts)
    assert not refused(path)
    write(path, {**fields, field: value}, parts)
    with pytest.raises(ValueError, match=re.escape(str(path))):
        pb.Decider.load(path)


@pytest.mark.parametrize("strategy", [pb.GENTRY(), pb.EIIDS()], ids=repr)
@pytest.mark.parametrize("crafted", [cases, log_cases])
def test_what_is_changed_is_refused_by_name_or_does_no_harm(
    tmp_path: Path, strategy: pb.GENTRY | pb.EIIDS, crafted: Any
) -> None:
    # `python -m tests.attacks files --tries 9000` tries every case.
    path = tmp_path / "decider"
    results = []
    for _, make in crafted(path, strategy)[:SAMPLE]:
        make()
        results.append(refused(path))
    assert sum(results) > SAMPLE / 2


def test_a_log_that_would_fill_the_memory_is_refused_unless_it_is_asked_for(tmp_path: Path) -> None:
    path, spilled = tmp_path / "decider", tmp_path / "told.parquet"
    saved(path)
    log = pb.Decider.load(path).log().iloc[:1].drop(columns=["known", "told_at", "meta", "ledger"])
    many: Any = np.zeros(10**6)
    for table in (log.iloc[np.zeros(2000, dtype=int)], log.assign(offered=[many])):
        table.to_parquet(spilled, index=False)
        assert spilled.stat().st_size < 10**5
        with pytest.raises(ValueError, match=r"told\.parquet.* memory.*largest=\.\.\."):
            pb.Decider.load(path, largest=10**6).log()
        assert len(pb.Decider.load(path).log()) > len(table)


def test_a_footer_says_what_pyarrow_reads_of_it(tmp_path: Path) -> None:
    saved(tmp_path / "decider")
    with (tmp_path / "told.parquet").open("rb") as file:
        found = declared(file)
        about = pq.ParquetFile(file).metadata
    groups = map(about.row_group, range(about.num_row_groups))
    chunks = [group.column(j) for group in groups for j in range(about.num_columns)]
    assert found == (
        about.num_rows,
        sum(chunk.num_values for chunk in chunks),
        sum(chunk.total_uncompressed_size for chunk in chunks),
    )


@pytest.mark.parametrize("footer", [b"", b"\x1c" * 10**5, b"\x19" * 9, b"\xff" * 99, b"\x1b\x00"])
def test_a_footer_that_is_none_is_refused(tmp_path: Path, footer: bytes) -> None:
    path, spilled = tmp_path / "decider", tmp_path / "told.parquet"
    saved(path)
    spilled.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match=r"told\.parquet' must be a log"):
        pb.Decider.load(path).log()


def test_a_spilled_file_that_is_gone_is_named(tmp_path: Path) -> None:
    path, spilled = tmp_path / "decider", tmp_path / "told.parquet"
    saved(path)
    spilled.unlink()
    decider = pb.Decider.load(path)
    with pytest.raises(FileNotFoundError, match=r"told\.parquet', which is not there"):
        decider.log()


def test_bytes_changed_at_random_are_refused_or_do_no_harm(tmp_path: Path) -> None:
    path, chance = tmp_path / "decider", random.Random(0)
    saved(path)
    body = path.read_bytes().split(b"\n", 2)[2]
    for _ in range(100):
        garbled = bytearray(body)
        for _ in range(chance.randint(1, 3)):
            garbled[chance.randrange(len(body))] = chance.randrange(256)
        end = chance.choice([len(body), chance.randrange(len(body))])
        sign(path, bytes(garbled[:end]))
        refused(path)


def test_fields_that_are_no_json_or_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "decider"
    saved(path)
    for text in (b"[" * 10**5 + b"]" * 10**5, b"{", b"\xff", b"[]", b"9" * 5000):
        sign(path, LENGTH.pack(len(text)) + text)
        assert refused(path)


def test_a_few_bytes_cannot_stand_for_many_arms(tmp_path: Path) -> None:
    path = tmp_path / "decider"
    saved(path, spill=False)
    fields, parts = unpacked(path)
    at, decision = next(
        (i, decode(part.record)) for i, part in enumerate(parts) if part.record.kind == 5
    )
    assert isinstance(decision, Decided)
    many = dataclasses.replace(decision, rows=np.arange(10**6, dtype=np.uint32))
    parts[at] = parts[at]._replace(record=encode(many))
    write(path, fields, parts)
    tracemalloc.start()
    assert refused(path)
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()
