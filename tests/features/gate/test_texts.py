"""Fresh text: new to a benchmark in a launch, whole characters, the same for both arms, and an end that is said."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness.features.gate import texts
from pyharness.features.gate.texts import MOST_TIMES, Texts, written
from pyharness.features.gate.types import GateBenchmark
from pyharness.system import program
from pyharness.types import InputError


def benchmark(size: int, name: str = "a", kind: str = "english") -> GateBenchmark:
    return GateBenchmark(name, "encode", "pyharness", kind, size)


def of(text: str, folder: Path) -> Texts:
    path = folder / "english.txt"
    path.write_bytes(text.encode())
    return Texts({"english": path})


CHARACTERS = st.sampled_from("aé€𝄞")


@given(st.text(CHARACTERS, min_size=1, max_size=300), st.integers(4, 40), st.integers(0, 7))
def test_spans_are_new_whole_and_there_are_as_many_as_promised(text: str, size: int, launch: int) -> None:
    with TemporaryDirectory() as folder:
        fresh, one = of(text, Path(folder)), benchmark(size)
        fresh.begin(launch)
        data = text.encode()
        try:
            promised = fresh.affordable(one, 1)
        except InputError:
            return
        assert promised is not None
        spans = sorted(fresh.spans(one, promised))
        for begin, length in spans:
            assert size - 3 <= length <= size
            data[begin : begin + length].decode()  # raises where a character is cut
        assert all(begin + length <= after for (begin, length), (after, _) in pairwise(spans))
        assert spans[-1][0] + spans[-1][1] <= len(data)


def test_it_goes_on_where_it_was_and_each_benchmark_has_all_of_it(tmp_path: Path) -> None:
    fresh = of("0123456789" * 10, tmp_path)
    fresh.begin(0)
    assert fresh.spans(benchmark(10), 2) == ((0, 10), (10, 10))
    assert fresh.spans(benchmark(10), 1) == ((20, 10),)
    assert fresh.spans(benchmark(10, "b"), 1) == ((0, 10),)
    fresh.begin(0)
    assert fresh.spans(benchmark(10), 1) == ((0, 10),)


def test_launches_begin_in_other_places_and_go_round(tmp_path: Path) -> None:
    fresh = of("0123456789" * 100, tmp_path)
    begins = []
    for launch in range(6):
        fresh.begin(launch)
        spans = fresh.spans(benchmark(10), 98)
        begins.append(spans[0][0])
        assert len({begin // 10 for begin, _ in spans}) >= 97
    assert len(set(begins)) == 6
    assert min(abs(a - b) for a in begins for b in begins if a != b) > 50


@pytest.mark.parametrize("launch", range(4))
def test_nothing_comes_twice_up_to_the_end(tmp_path: Path, launch: int) -> None:
    fresh = of("0123456789" * 10, tmp_path)
    fresh.begin(launch)
    spans: list[tuple[int, int]] = []
    with suppress(InputError):
        while len(spans) < 100:
            spans += fresh.spans(benchmark(7), 1)
    places = sorted(spans)
    assert len(places) >= 12
    assert all(begin + length <= after for (begin, length), (after, _) in pairwise(places))


def test_too_little_is_said_with_figures(tmp_path: Path) -> None:
    fresh = written({"english": "sample:prose?max_bytes=2kB"}, tmp_path)
    fresh.begin(0)
    said = r"^benchmark 'a': .*'english' \(sample:prose\?max_bytes=2kB\) .*\b1 fresh texts of 900 bytes,.*\b25\b"
    with pytest.raises(InputError, match=said):
        fresh.affordable(benchmark(900), 25)
    with pytest.raises(InputError, match=r"\b2 fresh texts of 900 bytes, .*\b3\b"):
        fresh.spans(benchmark(900), 3)


def test_what_is_taken_is_no_more_afforded(tmp_path: Path) -> None:
    fresh = of("x" * 1010, tmp_path)
    fresh.begin(0)
    assert fresh.affordable(benchmark(10), 10) == 10
    fresh.spans(benchmark(10), 50)
    assert fresh.affordable(benchmark(10), 10) == 5


def test_a_benchmark_without_text_gets_none(tmp_path: Path) -> None:
    fresh = Texts({})
    assert fresh.spans(benchmark(0, kind=""), 5) == ()
    assert fresh.affordable(benchmark(0, kind=""), 5) is None


def test_documents_are_written_whole_and_in_order(tmp_path: Path) -> None:
    lines = tmp_path / "poems.jsonl"
    lines.write_text("".join(json.dumps({"text": text}) + "\n" for text in ("ein", "zwé", "drei")), encoding="utf-8")
    fresh = written({"poems": f"path:{lines}"}, tmp_path)
    assert fresh.paths["poems"].read_text(encoding="utf-8") == "ein\nzwé\ndrei\n"


def test_a_corpus_that_is_unknown_or_empty_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="unknown corpus"):
        written({"english": "installd:python-docs"}, tmp_path)
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(InputError, match="empty"):
        written({"english": f"path:{tmp_path / 'empty.txt'}"}, tmp_path)


def test_text_that_the_gate_brings_along_is_lengthened_by_its_lines_in_other_orders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "source.txt"
    lines = [f"line {number} é" for number in range(1000)]
    mine.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(texts, "CORPORA", {"english": f"path:{mine}"})
    fresh = written({"english": f"path:{mine}", "own": f"path:{mine}"}, tmp_path)
    assert fresh.paths["own"].read_text(encoding="utf-8").splitlines() == lines
    longer = fresh.paths["english"].read_text(encoding="utf-8").splitlines()
    assert longer[:1000] == lines
    assert sorted(longer) == sorted(lines * MOST_TIMES)
    neighbours = list(pairwise(longer))
    assert len(set(neighbours)) > 0.97 * len(neighbours)  # of so few lines, some two meet again by chance
    (tmp_path / "again").mkdir()
    again = written({"english": f"path:{mine}"}, tmp_path / "again")
    assert again.paths["english"].read_bytes() == fresh.paths["english"].read_bytes()


def test_a_text_is_not_lengthened_beyond_what_a_gate_may_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "MOST_BYTES", 10_000)
    monkeypatch.setattr(texts, "CORPORA", {"english": "sample:prose?max_bytes=3kB"})
    fresh = written({"english": "sample:prose?max_bytes=3kB"}, tmp_path)
    assert 6_000 < fresh.paths["english"].stat().st_size <= 10_000


def test_time_that_runs_out_while_a_corpus_is_read_is_seen(tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text("text", encoding="utf-8")
    with program.until(0.0), pytest.raises(program.OutOfTime, match=r"time ran out .*corpus 'path:.*' was read"):
        written({"mine": f"path:{tmp_path / 'source.txt'}"}, tmp_path)
