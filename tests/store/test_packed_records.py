"""A record packed with xz, as a page carries it, is read like one that is not, and within the same bounds."""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest

from paged import made
from pyharness import store
from pyharness.store import json_values
from pyharness.types import InputError

RECORD = made.record(["a", "b"], ["text"])
TEXT = store.dump(RECORD.data).encode()


def test_what_is_packed_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json.xz"
    path.write_bytes(store.packed(TEXT))
    assert path.stat().st_size < len(TEXT) / 2
    assert store.read(path).data == RECORD.data
    assert store.packed(TEXT) == store.packed(store.packed(TEXT))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (store.packed(TEXT)[:-20], "cut off"),
        (store.packed(TEXT)[:40] + b"x" * 40, "cannot be read"),
        (lzma.compress(b"["), "cannot be read"),
        (lzma.compress(bytes(3000)), "holds more than 2,000 bytes"),
    ],
)
def test_what_is_damaged_or_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, message: str
) -> None:
    monkeypatch.setattr(json_values, "MOST_BYTES", 2000 if "2,000" in message else json_values.MOST_BYTES)
    path = tmp_path / "a.json.xz"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        store.read(path)
