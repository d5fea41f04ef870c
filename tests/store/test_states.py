"""States of cases in one file: what is written is read back, and what is no state is not written."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from cases.state_archives import written
from pyharness.metrics import counters
from pyharness.metrics.counting import state_arrays
from pyharness.metrics.counting.state import CorpusState, Facts
from pyharness.statistics.jackknife import GROUPS
from pyharness.store import states
from pyharness.store.states import CaseStates, NoState, StateReader, write_case
from pyharness.system import bounded_file
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import InputError, TokenKind, Tokens, Vocabulary

SHAPES = arrays_of.array_shapes(min_dims=1, max_dims=2, min_side=0)


INTEGERS = arrays_of.arrays(st.sampled_from(["u1", "<u2", ">u4", "<u8", "i1", "<i8"]), SHAPES)


STATES = st.dictionaries(st.text(min_size=1, max_size=9), INTEGERS, max_size=4)


@given(st.dictionaries(st.text(max_size=9), STATES, max_size=3))
def test_what_is_read_is_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, cases: dict[str, dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("states")
    paths = [written(folder / name, cases) for name in ("one", "two")]
    assert paths[0].read_bytes() == paths[1].read_bytes(), "the same arrays give the same bytes"
    with StateReader(paths[0]) as reader:
        for case, state in cases.items():
            arrays = reader.of(case)
            assert arrays.keys() == state.keys()
            for name, array in state.items():
                assert np.array_equal(arrays[name], array)
                assert arrays[name].dtype == array.dtype.newbyteorder("<")
        assert "no such case" not in reader


def test_arrays_that_cases_share_are_there_once(tmp_path: Path) -> None:
    shared, own = np.arange(5000), np.arange(10)
    path = written(tmp_path / "s", {"a": {"x": shared}, "b": {"y": shared, "z": own}})
    assert len(zipfile.ZipFile(path).namelist()) == 3  # two arrays and the index
    digest = next(name for name in zipfile.ZipFile(path).namelist() if name != "index.json")
    loaded = np.load(io.BytesIO(zipfile.ZipFile(path).read(digest)), allow_pickle=False)
    assert np.array_equal(loaded, shared), "NumPy reads an array as it stands"


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"x": np.zeros(2)}, "'x'.*integers"),
        ({"x": np.array([{}], object)}, "'x'.*integers"),
        ({"x": [1, 2]}, "'x'.*integers"),
        ({"": np.zeros(2, int)}, "names are text"),
        ({1: np.zeros(2, int)}, "names are text"),
        ({"x" * 201: np.zeros(2, int)}, "names are text"),
    ],
)
def test_what_is_no_state_is_not_written(tmp_path: Path, state: dict[Any, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_case(tmp_path / "s.zip", "case", state)
    assert not (tmp_path / "s.zip").exists()


def test_sizes_are_bounded_when_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "LARGEST_ARRAY", 100)
    monkeypatch.setattr(states, "LARGEST_STATE", 150)
    with pytest.raises(ValueError, match=r"'x'.* 104 bytes.* 100\b"):
        write_case(tmp_path / "s.zip", "case", {"x": np.zeros(13, np.int64)})
    with pytest.raises(ValueError, match=r"160 bytes.* 150\b"):
        write_case(tmp_path / "s.zip", "case", {"x": np.zeros(10, np.int64), "y": np.ones(10, np.int64)})


USES = st.lists(st.tuples(st.integers(0, GROUPS - 1), st.integers(0, 11), st.integers(0, 1 << 40)), max_size=30)


@given(USES, st.booleans(), st.dictionaries(st.text("ab ", max_size=3), st.integers(0, (1 << 128) - 1), max_size=3))
def test_a_state_comes_back(uses: list[tuple[int, int, int]], hidden: bool, sums: dict[str, int]) -> None:
    tokens = {token: b"t" * (token % 5) for token in range(12)}
    vocabulary = Vocabulary.from_tokens(tokens, {0: TokenKind.SPECIAL, 7: TokenKind.UNKNOWN})
    counted = np.ones(12, np.bool_) if hidden else vocabulary.counted
    state = CorpusState.empty(Facts(9, counted, None if hidden else vocabulary, lossy=True))
    for group, token, count in uses:
        state.histogram[group, token] += np.uint64(count)
    for name, value in sums.items():
        state.add(name, np.array([value] * GROUPS, np.object_))
    arrays = state_arrays.of_corpus_state(state, "a: ")
    again = state_arrays.corpus_state_of(arrays | {"b: facts": np.zeros(0, np.int64)}, "a: ")
    assert np.array_equal(again.histogram, state.histogram)
    assert again.histogram.dtype == np.uint64
    assert {name: values.tolist() for name, values in again.counters.items()} == {
        name: values.tolist() for name, values in state.counters.items()
    }
    assert (again.facts.vocab_size, again.facts.lossy) == (9, True)
    assert np.array_equal(again.facts.counted, counted)
    assert (again.facts.vocabulary is None) == hidden
    if again.facts.vocabulary is not None:
        assert [again.facts.vocabulary[token] for token in range(12)] == list(tokens.values())
        assert np.array_equal(again.facts.vocabulary.kinds, vocabulary.kinds)


def small_state() -> dict[str, Any]:
    state = CorpusState.empty(Facts.of(RawBytes()))
    groups = np.arange(3, dtype=np.uint8)
    state.update(["a", "bc", "d"], Tokens.from_lists([[97], [98, 99], [100]]), groups, counters().values())
    return state_arrays.of_corpus_state(state)


CONTRADICTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "facts": (lambda facts: facts[:2], "'facts' of a state has the shape"),
    "histogram types": (lambda types: types[:-1], "not of one size"),
    "histogram steps": (lambda steps: steps[:-1], "not of one size"),
    "histogram counts": (lambda counts: np.append(counts, 1), "not of one size"),
    "vocabulary lengths": (lambda lengths: lengths * 2, "not those of its bytes"),
    "vocabulary kinds": (lambda kinds: kinds[:-1], "'vocabulary kinds' of a state has the shape"),
    "counter tokens": (lambda sums: sums[:-1], "sums of a state have the shape"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_arrays_that_contradict_each_other_are_no_state(name: str) -> None:
    change, message = CONTRADICTIONS[name]
    arrays = small_state()
    with pytest.raises(InputError, match=message):
        state_arrays.corpus_state_of(arrays | {name: change(arrays[name])})
    if name.startswith(("facts", "histogram")):
        with pytest.raises(InputError, match=f" no '{name}'"):
            state_arrays.corpus_state_of({key: array for key, array in arrays.items() if key != name})


def test_a_state_of_more_ids_than_memory_is_refused_before_it_is_made() -> None:
    facts = np.array([256, 1 << 40, 0], np.int64)
    with pytest.raises(InputError, match=r"a state of 1,099,511,627,776 ids; at most 4,194,304"):
        state_arrays.corpus_state_of(small_state() | {"facts": facts})
    steps = np.array([1 << 33, 0, 0, 0], np.uint64)
    with pytest.raises(InputError, match=r"histogram\b.*\bvocabulary"):
        state_arrays.corpus_state_of(small_state() | {"histogram steps": steps})


def test_states_of_cases_become_one_file_beside_the_record(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    kept = CaseStates(record)
    digests = {}
    for case in ("a", "b"):
        path = kept.path_of(case)
        assert path is not None
        write_case(path, case, {"x": np.arange(ord(case))})
        digests[case] = bounded_file.digest(path)
        assert kept.take(case) == digests[case]
    assert kept.take("without a state") is None
    about = kept.write(["b", "a", "without a state"])
    assert about is not None
    assert (about["file"], about["bytes"]) == ("record.json.state.zip", (tmp_path / about["file"]).stat().st_size)
    with StateReader(tmp_path / about["file"], about) as reader:
        assert [len(reader.of(case)["x"]) for case in ("a", "b")] == [97, 98]
    again = CaseStates(record)
    assert again.resume("a", digests["a"])
    assert not again.resume("b", "another digest")
    assert again.resume("of a benchmark that keeps none", None)
    kept.remove()
    assert [path.name for path in tmp_path.iterdir()] == ["record.json.state.zip"]
    assert not again.resume("a", digests["a"]), "it is gone: the case is measured again"


def test_what_a_worker_leaves_is_checked(tmp_path: Path) -> None:
    kept = CaseStates(tmp_path / "record.json")
    path = kept.path_of("case")
    assert path is not None
    path.write_bytes(b"no archive")
    with pytest.raises(NoState, match="damaged: File is not a zip file"):
        kept.take("case")
    write_case(path, "another case", {"x": np.arange(3)})
    with pytest.raises(NoState, match="has no case 'case'"):
        kept.take("case")


def test_a_record_that_goes_into_a_pipe_keeps_none() -> None:
    kept = CaseStates(None)
    assert kept.path_of("case") is None
    assert kept.take("case") is None
    assert kept.write(["case"]) is None
    kept.remove()
