"""Logs of ids against canonical ids: 0 for canonical text, 1 for one split token, and the cause of each difference."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.command_line import call, refused
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.logs import rows
from pyharness.features.logs.canonical import Canonical, EntryVerdict
from pyharness.features.logs.entries import LogEntry, LogFields, entries_of
from pyharness.features.logs.metrics import LogState, measure
from pyharness.types import Case, InputError, Tally, Tokenizer, Unsupported
from tokenizer_files import byte_level, sentencepiece_data, write

TEXTS = ["hello w", "we hell", "é 中 hello", "   w   ", "", "ow he ll llo hello"]


@pytest.fixture(scope="module")
def row(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("logs"), "tokenizer.json", byte_level())


@pytest.fixture(scope="module")
def tokenizer(row: str) -> Tokenizer:
    return tokenizers.load(row)


@pytest.fixture(scope="module")
def judge(row: str, tokenizer: Tokenizer) -> Canonical:
    return Canonical(row, tokenizer)


def logged(tokenizer: Tokenizer, text: str) -> tuple[int, ...]:
    return tuple(tokenizer.encode_batch([text]).ids.tolist())


def log(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def values(state: LogState) -> dict[str, Any]:
    return {one.metric: one.value for one in measure(state)}


def verdict(judge: Canonical, ids: Sequence[int], text: str | None = None) -> EntryVerdict:
    (one,) = judge.verdicts([LogEntry(1, len(ids), tuple(ids), text)])
    return one


@settings(max_examples=examples(200))
@given(st.lists(st.text(st.sampled_from("hel ow\né中"), max_size=30), min_size=1, max_size=5), st.data())
def test_canonical_text_costs_nothing_and_one_split_token_costs_one(
    judge: Canonical, tokenizer: Tokenizer, texts: list[str], data: st.DataObject
) -> None:
    ids = [logged(tokenizer, text) for text in texts]
    verdicts = judge.verdicts([LogEntry(1, len(one), one, text) for one, text in zip(ids, texts, strict=True)])
    assert verdicts == [EntryVerdict(len(one), len(one)) for one in ids]
    long = [(n, place) for n, one in enumerate(ids) for place, token in enumerate(one) if judge.lengths[token] > 1]
    long = [(n, place) for n, place in long if ids[n][place] != tokenizer_space(tokenizer)]
    if not long:
        return
    number, place = data.draw(st.sampled_from(long))
    left, right = SPLITS[ids[number][place]]
    changed = (*ids[number][:place], left, right, *ids[number][place + 1 :])
    one = verdict(judge, changed, texts[number])
    assert (one.logged, one.canonical) == (len(changed), len(changed) - 1)
    assert one.change is not None
    assert (one.change.token, len(one.change.logged), len(one.change.canonical)) == (place, 2, 1)


def tokenizer_space(tokenizer: Tokenizer) -> int:
    return int(next(iter(tokenizer.added_tokens().values())))  # type: ignore[attr-defined]


FILE = byte_level()["model"]
VOCAB = FILE["vocab"]
# Each token by its two parts, as its rule has them.
SPLITS = {
    VOCAB["".join(pair.split())]: tuple(VOCAB[part] for part in pair.split()) for pair in FILE["merges"]
}  # fmt: skip


def test_the_cause_of_a_difference(judge: Canonical, tokenizer: Tokenizer) -> None:
    he, ll, hello = (VOCAB[one] for one in ("he", "ll", "hello"))
    h, e, o, space, w = (VOCAB[one] for one in ("h", "e", "o", "Ġ", "w"))
    causes = {
        (he, ll, o): "cut in two",
        (h, e, VOCAB["l"], VOCAB["l"], o): "more tokens",  # each cut leaves a side that merges
        (space, w): "cut in two",
        (h, e, w): "cut in two",
        (*logged(tokenizer, "é")[:1],): "no text",
    }
    for ids, cause in causes.items():
        change = verdict(judge, ids).change
        assert change is not None
        assert change.cause == cause, ids
    assert verdict(judge, [hello]).change is None
    assert verdict(judge, logged(tokenizer, "é")[:1]).canonical is None


def test_special_ids_cut_an_entry_and_count_as_themselves(judge: Canonical, tokenizer: Tokenizer) -> None:
    end = len(judge.vocabulary) - 2
    assert judge.vocabulary[end] == b"<|endoftext|>"
    ids = (end, *logged(tokenizer, "hello"), end, *logged(tokenizer, "w"))
    for text in (None, "hellow", "<|endoftext|>hello<|endoftext|>w"):
        assert verdict(judge, ids, text) == EntryVerdict(len(ids), len(ids))
    split = verdict(judge, (end, *SPLITS[VOCAB["hello"]]))
    assert (split.logged, split.canonical) == (3, 2)
    assert split.change is not None
    assert split.change.token == 1


def test_a_first_token_without_its_space_is_named(tmp_path: Path) -> None:
    row = write(tmp_path, "small.model", sentencepiece_data(2, byte_fallback=True))
    judge = Canonical(row, tokenizers.load(row))
    whole = logged(judge.tokenizer, "hell")
    assert verdict(judge, whole).change is None
    bare = [token for token in range(len(judge.vocabulary)) if judge.vocabulary[token] == b"hell"]
    change = verdict(judge, bare).change
    assert change is not None
    assert change.cause == "missing space"


def test_ids_that_mark_ends_of_words_spell_no_text(tmp_path: Path) -> None:
    content = byte_level()
    vocab = {"a</w>" if text == "Ġw" else text: number for text, number in VOCAB.items()}
    content["model"] |= {"end_of_word_suffix": "</w>", "vocab": vocab, "merges": []}
    row = write(tmp_path, "tokenizer.json", content)
    with pytest.raises(Unsupported, match="spells"):
        Canonical(row, tokenizers.load(row))


def test_counts_alone_are_compared_with_canonical_counts(judge: Canonical, tokenizer: Tokenizer) -> None:
    text = "hello w"
    (one,) = judge.verdicts([LogEntry(1, 9, None, text)])
    assert one == EntryVerdict(9, len(logged(tokenizer, text)), has_ids=False)


def test_numbers_follow_from_counts(tokenizer: Tokenizer, judge: Canonical) -> None:
    state = LogState.empty()
    for number, text in enumerate(TEXTS):
        state.add(number, verdict(judge, logged(tokenizer, text), text))
    state.add(7, verdict(judge, SPLITS[VOCAB["hello"]], "hello"))
    total = sum(len(logged(tokenizer, text)) for text in TEXTS)
    expected = {"log_entries": 7, "logged_tokens": total + 2, "canonical_tokens": total + 1, "overcount_tokens": 1}
    numbers = values(state)
    assert {name: numbers[name] for name in expected} == expected
    assert numbers["canonical_share"] == pytest.approx(6 / 7)
    assert numbers["overcount_share"] == pytest.approx(1 / (total + 1))
    assert state.by_cause() == {"cut in two": 1}
    again = LogState.of_arrays(state.arrays())
    assert list(measure(again)) == list(measure(state))


BAD: dict[str, dict[str, object]] = {
    "a list": {"ids": "1 2"},
    "a fraction": {"ids": [1.5]},
    "true": {"ids": [True]},
    "below 0": {"ids": [-1]},
    "too large": {"ids": [1 << 40]},
    "neither": {"text": "a"},
    "no count": {"text": "a", "tokens": "3"},
    "no text": {"ids": [1], "text": 7},
    "outside": {"ids": [5000]},
    "disagree": {"ids": [1], "text": "zz"},
}


@pytest.mark.parametrize("name", BAD)
def test_bad_entries_are_refused_by_line(name: str, row: str, tmp_path: Path) -> None:
    path = log(tmp_path / "bad.jsonl", [{"ids": [VOCAB["h"]], "text": "h"}, BAD[name]])
    work = Work(Case("canonical", row, str(path)), tokenizers.resolve(row), lambda: tokenizers.load(row),
                open_corpus(f"ids:{path}"), 1)  # fmt: skip
    with pytest.raises(InputError, match="line 2") as error:
        benchmarks()["canonical"].run(work)
    assert "\n" not in str(error.value)


def test_a_directory_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a directory"):
        open_corpus(f"ids:{tmp_path}")


def test_a_log_is_read_in_any_shape(tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", [{"tok": [1, 2], "out": {"x": 1}}, {"tok": [3], "said": "c"}])
    corpus = open_corpus(f"ids:{path}?ids=tok&field=said")
    entries = [LogEntry.of_written(text) for text in corpus.documents(Tally())]
    assert entries == [LogEntry(1, 2, (1, 2), None), LogEntry(2, 1, (3,), "c")]


def test_a_run_says_how_much_of_a_log_is_canonical(tokenizer: Tokenizer, row: str, tmp_path: Path) -> None:
    rows = [{"ids": logged(tokenizer, text), "text": text} for text in TEXTS if text]
    log(tmp_path / "log.jsonl", [*rows, {"ids": SPLITS[VOCAB["hello"]], "text": "hello"}])
    done = call("run", "-t", f"a={row}", "-c", "ids:log.jsonl", "-b", "canonical", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{len(rows)} of {len(rows) + 1} canonical, +1 tokens; cut in two 1" in " ".join(done.stdout.split())
    data = json.loads((tmp_path / "r.json").read_text())
    (result,) = data["results"]
    assert result["details"]["changes"][0]["logged"] == list(SPLITS[VOCAB["hello"]])
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


def test_an_id_that_does_not_exist_is_bad_input_and_the_other_cases_are_kept(row: str, tmp_path: Path) -> None:
    log(tmp_path / "bad.jsonl", [BAD["outside"]])
    log(tmp_path / "good.jsonl", [{"ids": [VOCAB["h"]], "text": "h"}])
    words = ("run", "-t", f"a={row}", "-c", "ids:bad.jsonl", "-c", "ids:good.jsonl", "-b", "canonical", "-o", "r.json")
    assert "line 1" in refused(*words, cwd=tmp_path)
    results = json.loads((tmp_path / "r.json").read_text())["results"]
    assert [one["status"] for one in results] == ["failed", "ok"]
    assert re.search(r"^ +2 +bad input; .*\bother cases", call("run", "--help").stdout, re.MULTILINE)


def test_fields_of_nested_objects_are_named_with_a_dot(tmp_path: Path) -> None:
    path = log(
        tmp_path / "log.jsonl", [{"text": "c", "usage": {"out": {"tokens": 7}}}, {"text": "c", "usage.out.tokens": 3}]
    )
    corpus = open_corpus(f"ids:{path}?tokens=usage.out.tokens")
    assert [LogEntry.of_written(text).tokens for text in corpus.documents(Tally())] == [7, 3]


def test_half_a_surrogate_pair_is_replaced_as_in_other_texts(judge: Canonical, tmp_path: Path) -> None:
    path = log(tmp_path / "log.jsonl", [{"text": "h\ud800", "tokens": 4}])
    entries = [LogEntry.of_written(text) for text in open_corpus(f"ids:{path}").documents(Tally())]
    assert entries == [LogEntry(1, 4, None, "h\ufffd")]
    assert judge.verdicts(entries)[0].has_ids is False
    spec = tokenizers.resolve(f"ids:{path}")
    assert spec.instead is not None
    (read,) = open_corpus(f"path:{path}").documents(Tally())
    assert spec.instead.make(spec).encode_batch([read]).offsets.tolist() == [0, 4]


def test_text_is_no_log(row: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello")
    told = refused("run", "-t", row, "-c", "path:a.txt", "-b", "canonical", cwd=tmp_path)
    assert "nothing" in told
    assert "'ids'" in told


# ------------------------------------------------------------------------------------------- rows of counts


def test_a_row_of_counts_is_measured_like_the_tokenizer_that_was_counted(
    tokenizer: Tokenizer, row: str, tmp_path: Path
) -> None:
    texts = [f"{text} {number}" for number, text in enumerate(TEXTS)]
    log(tmp_path / "counts.jsonl", [{"text": one, "tokens": len(logged(tokenizer, one)) + 7} for one in texts])
    done = call("run", "-t", f"a={row}", "-t", "b=ids:counts.jsonl?overhead=7", "-c", "path:counts.jsonl", "-b",
                "compression", "-o", "r.json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    table = done.stdout[done.stdout.index("Compression") :].splitlines()
    (shown,) = [line for line in table[: table.index("")] if line.startswith("b ")]
    assert shown.split()[1] == "-"  # V is not known, and not 0
    results = {
        result["tokenizer"]: {one["metric"]: one for one in result["measurements"]}
        for result in json.loads((tmp_path / "r.json").read_text())["results"]
        if result["benchmark"] == "compression"
    }
    for metric in ("bytes_per_token", "tokens_per_word", "chars_per_token", "bytes_per_token_macro"):
        assert results["a"][metric]["value"] == results["b"][metric]["value"]
    assert results["b"]["renyi_efficiency"]["value"] is None
    assert results["b"]["vocabulary_used"]["value"] is None
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


def test_a_row_of_counts_is_measured_in_every_language(tokenizer: Tokenizer, row: str, tmp_path: Path) -> None:
    rows = [{"text": {"en": f"hello {n}", "xx": f"hell owe {n}"}} for n in range(3)]
    log(tmp_path / "aligned.jsonl", rows)
    texts = [text for one in rows for text in one["text"].values()]
    log(tmp_path / "counts.jsonl", [{"text": one, "ids": logged(tokenizer, one)} for one in texts])
    states = []
    for name in (row, f"ids:{tmp_path / 'counts.jsonl'}"):
        spec = tokenizers.resolve(name)
        work = Work(Case("fairness", name, "t"), spec, lambda spec=spec: spec.load(spec),  # type: ignore[misc]
                    open_corpus(f"parallel:{tmp_path / 'aligned.jsonl'}"), 1)  # fmt: skip
        states.append(benchmarks()["fairness"].run(work).state)
    assert states[0].keys() == states[1].keys()
    assert all(np.array_equal(states[0][name], states[1][name]) for name in states[0])


def test_counts_are_read_once_for_aligned_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log(tmp_path / "aligned.jsonl", [{"text": {"en": "a", "xx": "b"}}])
    path = log(tmp_path / "counts.jsonl", [{"text": one, "tokens": 1} for one in "ab"])
    reads: list[Path] = []

    def entries(path: Path, fields: LogFields) -> Iterator[LogEntry]:
        reads.append(path)
        return entries_of(path, fields)

    monkeypatch.setattr(rows, "entries_of", entries)
    spec, corpus = tokenizers.resolve(f"ids:{path}"), open_corpus(f"parallel:{tmp_path / 'aligned.jsonl'}")
    benchmarks()["fairness"].run(Work(Case("fairness", "r", "t"), spec, lambda: spec.load(spec), corpus, 1))
    assert reads == [path]


def test_a_row_of_counts_answers_for_its_texts_alone(tmp_path: Path) -> None:
    path = log(tmp_path / "counts.jsonl", [{"text": "a", "tokens": 4}])
    spec = tokenizers.resolve(f"ids:{path}")
    assert spec.instead is not None
    counted = spec.instead.make(spec)
    assert counted.encode_batch(["a", "a"]).offsets.tolist() == [0, 4, 8]
    with pytest.raises(InputError, match=r"counts\.jsonl"):
        counted.encode_batch(["b"])
    with pytest.raises(Unsupported, match="no ids"):
        spec.load(spec)


@pytest.mark.parametrize(
    "rows", [[], [{"ids": [1]}], [{"text": "a", "tokens": 1}, {"text": "a", "tokens": 2}], [{"text": "a", "tokens": 0}]]
)
def test_counts_that_no_row_can_be_made_of(rows: list[dict[str, Any]], tmp_path: Path) -> None:
    path = log(tmp_path / "counts.jsonl", rows)
    spec = tokenizers.resolve(f"ids:{path}?overhead={int(rows[:1] == [{'text': 'a', 'tokens': 0}])}")
    assert spec.instead is not None
    with pytest.raises(InputError, match=r"counts\.jsonl"):
        spec.instead.make(spec)
