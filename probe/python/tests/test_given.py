"""Values that a rehearsed program is to read, and their bytes."""

from __future__ import annotations

import struct

import pytest

from memtop.rehearsal import elements, given_values


def test_a_line_has_the_value_that_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    given = ["gpt.py:16=128", "models/gpt.py:17=2.5", "a=b/odd:name.py:3=-1"]
    monkeypatch.setattr(given_values, "told", lambda: {"set": given})
    found = given_values.values()
    assert given_values.at(found, "/home/me/gpt.py", 16) == 128
    assert given_values.at(found, "gpt.py", 16) == 128
    assert given_values.at(found, "/home/me/mygpt.py", 16) is None
    assert given_values.at(found, "/home/me/gpt.py", 17) is None
    assert given_values.at(found, "/home/models/gpt.py", 17) == 2.5
    assert given_values.at(found, "/a=b/odd:name.py", 3) == -1
    given.clear()
    assert given_values.values() == {}


@pytest.mark.parametrize(
    ("size", "value", "dtype", "expected"),
    [
        (4, 7, "torch.float32", struct.pack("<f", 7)),
        (8, 7, "torch.float64", struct.pack("<d", 7)),
        (8, 2.9, "torch.int64", struct.pack("<q", 2)),
        (2, 1, "torch.bfloat16", b"\x80\x3f"),
        (2, 1, "torch.float16", struct.pack("<e", 1)),
        (1, 1, "torch.bool", b"\1"),
        (8, 1, "torch.complex64", b""),
        (24, 9, None, struct.pack("<qqq", 9, 9, 9)),
        (4, 9, None, struct.pack("<i", 9)),
        (8, 0.5, None, struct.pack("<ff", 0.5, 0.5)),
        (1, 1, None, b"\1"),
        (3, 1, None, b"\1\1\1"),
        (1, 300, "torch.int64", b""),
    ],
)
def test_the_bytes_of_a_value(size: int, value: float, dtype: str | None, expected: bytes) -> None:
    assert elements.elements(size, value, dtype) == expected
