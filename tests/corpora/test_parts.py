"""The parts of a corpus, in their order, are the documents of the whole; each reads hardly more than its share."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness.corpora import keyed, open_corpus
from pyharness.corpora.files import parquet, reading
from pyharness.corpora.files.reading import Extent, FileState
from pyharness.corpora.parts import FileListing, part_name, whole_of
from pyharness.types import Corpus, InputError, Piece, Tally

TEXTS = st.lists(st.text(st.sampled_from("a é\n\u4e2d\U0001f600"), max_size=12), max_size=8)
KINDS = st.sampled_from(["jsonl", "jsonl.gz", "txt", "txt.xz", "parquet", "md.bz2"])
FILES = st.lists(st.tuples(KINDS, TEXTS), min_size=1, max_size=5)
OPENERS: dict[str, Any] = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open}


def write(path: Path, texts: Sequence[str], spaced: bool = False, rows_together: int = 2) -> None:
    """Write texts as the suffix of a file says: rows of JSON Lines or Parquet, else one text."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table({"text": pa.array(texts, pa.string())}), path, row_group_size=rows_together)
        return
    rows = "jsonl" in path.name
    between = "\n\n" if spaced else "\n"
    text = "".join(json.dumps({"text": one}, ensure_ascii=False) + between for one in texts) if rows else "".join(texts)
    opener = OPENERS.get(path.suffix[1:], open)
    with opener(path, "wb") as file:
        file.write((text[:-1] if spaced else text).encode())


def read(corpus: Corpus) -> tuple[list[Piece], Tally]:
    tally = Tally()
    pieces = list(keyed(corpus, tally))
    for piece in pieces:
        tally.add(piece.text)
    return pieces, tally


def read_parts(spec: str, count: int) -> tuple[list[Piece], Tally]:
    pieces: list[Piece] = []
    tally = Tally()
    for index in range(count):
        own, counts = read(open_corpus(part_name(spec, index, count)))
        pieces += own
        tally.merge(counts)
    return pieces, tally


@settings(deadline=None, max_examples=examples(500), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(FILES, st.integers(1, 40), st.integers(4, 30), st.booleans(), st.sampled_from(["", "&split=line"]))
def test_any_split_gives_the_documents_of_the_whole(
    tmp_path: Path, files: list[tuple[str, list[str]]], count: int, limit: int, spaced: bool, split: str
) -> None:
    for old in tmp_path.iterdir():
        old.unlink()
    for number, (suffix, texts) in enumerate(files):
        write(tmp_path / f"{number}.{suffix}", texts, spaced)
    spec = f"path:{tmp_path}?max_document_bytes={limit}{split}"
    pieces, tally = read_parts(spec, count)
    try:
        whole, expected = read(open_corpus(spec))
    except InputError:  # no documents
        whole, expected = [], tally
    assert pieces == whole
    assert tally == expected


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.integers(1, 50))
def test_extents_are_the_bytes_of_the_whole_each_once(sizes: list[int], count: int) -> None:
    files = tuple(Path(f"{number}.jsonl") for number in range(len(sizes)))
    listing = FileListing(files, tuple(FileState(size, "0") for size in sizes))
    extents = [extent for index in range(count) for extent in listing.part(index, count)]
    for file, size in zip(files, sizes, strict=True):
        own = [(one.start, one.stop) for one in extents if one.file == file]
        assert [start for start, _ in own] == [0, *(stop for _, stop in own[:-1])]
        assert own[-1][1] == size


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TEXTS.filter(any), st.sampled_from(["repeat:1:", "repeat:7:", "repeat:3:repeat:2:"]), st.integers(1, 20))
def test_passes_are_divided(tmp_path: Path, texts: list[str], repeated: str, count: int) -> None:
    write(tmp_path / "a.jsonl", texts)
    spec = f"{repeated}path:{tmp_path / 'a.jsonl'}"
    assert read_parts(spec, count) == read(open_corpus(spec))


def test_works_and_copies_keep_their_keys(tmp_path: Path) -> None:
    rows = [{"text": f"text {number % 7}", "of": f"work {number % 3}#{number}"} for number in range(50)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    spec = f"path:{tmp_path / 'a.jsonl'}?work=of"
    assert read_parts(spec, 9) == read(open_corpus(spec))


def test_a_line_longer_than_a_part_is_of_one_part(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ["a", "b" * 5000, "c"])
    spec = f"path:{tmp_path / 'a.jsonl'}"
    lengths = [len(read(open_corpus(part_name(spec, index, 20)))[0]) for index in range(20)]
    assert sum(lengths) == 3
    assert lengths.count(0) == 18


def consumed(spec: str, count: int) -> int:
    """Return the bytes that reading a corpus in parts takes, as the system counts this process's reads."""

    def total() -> int:
        lines = Path("/proc/self/io").read_text(encoding="utf-8").splitlines()
        return int(dict(line.split(": ") for line in lines)["rchar"])

    read(open_corpus(part_name(spec, 0, count)))  # libraries are loaded
    before = total()
    itself = total() - before
    start = total()
    for index in range(count):
        read(open_corpus(part_name(spec, index, count)))
    return total() - start - itself


PART_BYTES = 300_000  # beyond its share: of a line at either end, of buffers, of a footer


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "xz", "txt"])
def test_parts_read_hardly_more_than_the_whole(tmp_path: Path, kind: str) -> None:
    source = random.Random(4)
    texts = ["".join(source.choices("abcdefgh \n", k=source.randrange(1, 3000))) for _ in range(4000)]
    if kind in ("jsonl", "parquet"):
        write(tmp_path / f"a.{kind}", texts, rows_together=100)
    else:
        for number in range(20):
            write(tmp_path / f"{number:02}.{'jsonl.xz' if kind == 'xz' else 'txt'}", texts[number::20])
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert consumed(f"path:{tmp_path}", 10) <= 1.02 * size + 10 * PART_BYTES


def test_a_listing_names_what_changed(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ["a", "b"])
    corpus = whole_of(open_corpus(f"path:{tmp_path}"))
    first = FileListing.of(corpus).digest
    assert FileListing.of(corpus).digest == first
    os.utime(tmp_path / "a.jsonl", ns=(5, 5))
    touched = FileListing.of(corpus).digest
    write(tmp_path / "b.jsonl", [])
    assert len({first, touched, FileListing.of(corpus).digest}) == 3


def test_a_part_of_passes_reads_its_passes_alone(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ["a", "b"])
    parts = [read(open_corpus(part_name(f"repeat:10:path:{tmp_path / 'a.jsonl'}", index, 4)))[0] for index in range(4)]
    assert [len(pieces) // 2 for pieces in parts] == [3, 2, 3, 2]
    assert [all(piece.again for piece in pieces) for pieces in parts] == [False, True, True, True]


@pytest.mark.parametrize("shares", ["0/0", "3/3", "1", "-1/2", "0/10000000", "a/b"])
def test_shares_that_are_none_are_refused(shares: str) -> None:
    with pytest.raises(InputError, match="part:"):
        open_corpus(f"part:{shares}:path:{__file__}")


def test_passes_over_an_empty_file_are_of_the_last_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    listing = FileListing.of(whole_of(open_corpus(f"repeat:3:path:{tmp_path / 'a.txt'}")))
    assert [len(listing.passes_of(index, 4, 3)) for index in range(4)] == [0, 0, 0, 3]


@pytest.mark.parametrize("spec", ["sample", "repeat:2:sample", "shard:0/2:path:{}", "path:{}?max_bytes=2kB"])
def test_what_has_no_parts_is_refused_by_name(tmp_path: Path, spec: str) -> None:
    write(tmp_path / "a.jsonl", ["a"])
    whole = spec.format(tmp_path / "a.jsonl")
    with pytest.raises(InputError) as refused:
        open_corpus(f"part:0/2:{whole}")
    assert repr(whole.removeprefix("repeat:2:")) in str(refused.value)


def test_a_damaged_line_is_an_error_of_its_part(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", ["a" * 100, "b" * 100, "c" * 100])
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write("{not json}\n")
    spec = f"path:{tmp_path / 'a.jsonl'}"
    assert len(read(open_corpus(part_name(spec, 0, 2)))[0]) == 2
    with pytest.raises(InputError, match=r"a\.jsonl line 3"):
        read(open_corpus(part_name(spec, 1, 2)))


def test_a_byte_order_mark_is_one_at_the_front_alone(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    row = json.dumps({"text": "a"})
    file.write_text(f"\ufeff{row}\n\ufeff{row}\n", encoding="utf-8")
    for spec in (f"path:{file}", part_name(f"path:{file}", 1, 2)):
        with pytest.raises(InputError, match="line 2"):
            read(open_corpus(spec))


def test_a_line_beyond_all_bounds_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 1000)
    write(tmp_path / "a.jsonl", ["a" * 2000, "b"])
    with pytest.raises(InputError, match="MiB"):
        read(open_corpus(part_name(f"path:{tmp_path / 'a.jsonl'}", 0, 1)))


@pytest.mark.parametrize("places", [(4, 2000, 1000), (4, -1, 900), (4, 10**9, 900), (-(2**40), -3, -2)])
def test_every_row_group_is_in_one_part_in_the_order_of_the_file(tmp_path: Path, places: tuple[int, ...]) -> None:
    """Whatever a damaged file says of their places."""
    file = tmp_path / "rows.parquet"
    file.write_bytes(bytes(3000))
    columns = [
        SimpleNamespace(has_dictionary_page=False, dictionary_page_offset=None, data_page_offset=at) for at in places
    ]
    groups = [SimpleNamespace(num_rows=1, num_columns=1, column=[one].__getitem__) for one in columns]
    metadata = SimpleNamespace(num_row_groups=len(groups), row_group=groups.__getitem__)
    assert list(parquet._groups(metadata, Extent(file))) == [0, 1, 2]
    for count in (1, 2, 7, 40):
        bounds = [3000 * part // count for part in range(count + 1)]
        read = [one for part in pairwise(bounds) for one in parquet._groups(metadata, Extent(file, *part))]
        assert read == [0, 1, 2]
