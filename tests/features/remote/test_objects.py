"""Bytes of a store are fetched in exact ranges, and what is not the whole of what was asked for is an error."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness.corpora.files.reading import Extent, FileState, lines_within
from pyharness.corpora.files.splitting import Fragment
from pyharness.features.remote import faults, objects
from pyharness.features.remote.objects import StoredFile, guarded, state_in
from pyharness.types import InputError


@dataclass
class Memory:
    """A file system of fsspec with one file, which records the ranges that are asked for."""

    data: bytes
    version: str = "1"
    cut: int = 0  # so many answers are half
    asked: list[tuple[int, int]] = field(default_factory=list)

    def invalidate_cache(self) -> None:
        pass

    def info(self, path: str) -> Mapping[str, Any]:
        return {"name": path, "size": len(self.data), "type": "file", "ETag": f'"{self.version}"'}

    def open(self, path: str, mode: str, **_: Any) -> Any:
        assert (path, mode) == ("b/rows.jsonl", "rb")
        memory, size = self, len(self.data)

        class Handle(io.BytesIO):
            def __init__(self) -> None:
                super().__init__(memory.data)
                self.size = size

            def read(self, length: int | None = -1, /) -> bytes:
                assert length is not None
                assert length > 0
                memory.asked.append((self.tell(), length))
                memory.cut -= 1
                return super().read(length // 2 if memory.cut >= 0 else length)

        return Handle()

    def file(self, until: int | None = None) -> StoredFile:
        return StoredFile(self, "s3", "b/rows.jsonl", state_in(self.info("b/rows.jsonl")), until)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objects, "FIRST_BYTES", 8)
    monkeypatch.setattr(objects, "MOST_BYTES", 32)
    monkeypatch.setattr(objects, "AFTER_BYTES", 2)
    monkeypatch.setattr(faults, "PAUSES", (0, 0))


STEPS = st.lists(st.tuples(st.sampled_from(["seek", "read"]), st.integers(0, 90)), max_size=12)


@pytest.mark.usefixtures("small")
@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=80), st.booleans(), st.none() | st.integers(0, 90), STEPS)
def test_a_stored_file_reads_like_a_file(
    data: bytes, exact: bool, until: int | None, steps: list[tuple[str, int]]
) -> None:
    memory, plain = Memory(data), io.BytesIO(data)
    reader = objects._Ranges(memory.file(until), exact)
    for step, number in steps:
        if step == "seek":
            assert reader.seek(number) == plain.seek(number)
        else:
            mine = b""
            while len(mine) < number and (more := reader.read(number - len(mine))):
                mine += more
                assert len(mine) == min(number, len(data) - plain.tell()) or not exact
            assert mine == plain.read(number)
        assert reader.tell() == plain.tell()


@given(st.binary(min_size=1, max_size=400))
@settings(max_examples=examples(100), deadline=None)
def test_in_order_each_byte_is_asked_for_once(data: bytes) -> None:
    memory = Memory(data)
    with memory.file().open("rb") as content:
        assert content.read() == data
    assert [start for start, _ in memory.asked] == [0, *(start + size for start, size in memory.asked[:-1])]
    assert sum(size for _, size in memory.asked) == len(data)


@given(st.integers(1, 60), st.integers(2, 9), st.lists(st.integers(0, 30), min_size=1, max_size=30))
@settings(max_examples=examples(100), deadline=None)
def test_parts_ask_for_little_more_than_their_share(longest: int, count: int, lengths: list[int]) -> None:
    data = b"".join(b"x" * min(length, longest) + b"\n" for length in lengths)
    memory, lines = Memory(data), []
    bounds = [len(data) * one // count for one in range(count + 1)]
    for start, stop in pairwise(bounds):
        lines += [line for _, line in lines_within(memory.file(stop), start, stop)] if start < stop else []
    assert lines == data.split(b"\n")[:-1]
    assert sum(size for _, size in memory.asked) <= len(data) + count * (1 + 4 * longest + 6)


def test_half_an_answer_is_asked_for_again_and_then_an_error() -> None:
    memory = Memory(b"0123456789" * 3, cut=2)
    assert memory.file().open("rb").read() == memory.data
    assert memory.asked[:3] == [(0, 8)] * 3
    memory = Memory(b"0123456789" * 3, cut=3)
    with pytest.raises(InputError, match=r"s3://b/rows\.jsonl came with"):
        memory.file().open("rb").read()


def test_a_file_that_changes_fails_by_name() -> None:
    memory = Memory(b'{"text": "a"}\n')

    def read(extents: Any) -> Any:
        for extent in extents:
            yield Fragment(extent.file.open("rb").read().decode())
            memory.version = "2"

    reading = guarded(read)((Extent(memory.file()),))
    assert next(reading).text == memory.data.decode()
    with pytest.raises(InputError, match=r"s3://b/rows\.jsonl changed"):
        next(reading)


def test_what_is_damaged_because_it_changed_is_said_to_have_changed() -> None:
    memory = Memory(b"a")

    def read(extents: Any) -> Any:
        memory.data += b"longer"
        raise InputError(f"{next(iter(extents)).file} is damaged")
        yield

    with pytest.raises(InputError, match="changed"):
        next(guarded(read)((Extent(memory.file()),)))


def test_a_file_that_is_gone_is_said_to_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(b"a")

    def gone(path: str) -> Any:
        raise FileNotFoundError(path)

    def read(extents: Any) -> Any:
        monkeypatch.setattr(memory, "info", gone)
        raise InputError("it cannot be read")
        yield

    extent = Extent(memory.file())
    with pytest.raises(InputError, match="not exist"):
        next(guarded(read)((extent,)))


def test_a_file_without_a_size_is_refused() -> None:
    with pytest.raises(faults.NoRanges):
        state_in({"name": "x", "size": None})
    assert state_in({"size": 3, "ETag": 'W/"a"'}) == FileState(3, "a")


def test_a_name_is_the_last_part_of_an_address() -> None:
    state = FileState(0, "")
    assert StoredFile(None, "s3", "b/year=2024/a b.jsonl.gz", state).name == "a b.jsonl.gz"
    web = StoredFile(None, "https", "https://host/x/a%20b.parquet?download=true", state)
    assert web.name == "a b.parquet"
    assert str(StoredFile(None, "s3", "b/x://y.txt", state)) == "s3://b/x://y.txt"
    assert str(web) == "https://host/x/a%20b.parquet?download=true"
    assert StoredFile(None, "gs", "b/k", state).name == "k"
