"""Segments: who asked, by the values of a column or of a note."""

from projbandits.audit.segments import OTHERS, Segments


def test_the_twenty_most_frequent_values_have_a_segment_each() -> None:
    values = [f"{i:02}" for i in range(25) for _ in range(i + 1)]
    segment = Segments.of(values)
    assert segment is not None
    assert segment.names == tuple(f"{i:02}" for i in range(5, 25))
    assert (segment("04"), segment("05")) == (OTHERS, "05")
