"""The study of a small model: its parts of a text, its verdicts, and a run on a tiny model, ended and resumed."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from language_models import oracle
from pyharness import tokenizers
from pyharness.features.language_models.metrics import UNIT
from pyharness.statistics.jackknife import GROUPS, MIN_DOCUMENTS, MIN_GROUPS
from pyharness.types import InputError, digest_of
from small_model import __main__ as program
from small_model import coverage, networks, tables
from small_model.results import BASE, BEFORE, SURGERY, TRAINED, Key, Results, wanted
from small_model.texts import DOCUMENT_BYTES, HELD_OUT_OF, HeldOut, Texts, mixed, ordered
from small_model.verdicts import difference, over_seeds


def corpus(path: Path, alphabet: str, documents: int = 500) -> str:
    """Lines of words that are made of syllables."""
    chance = random.Random(alphabet)
    syllables = ["".join(chance.choices(alphabet, k=2)) for _ in range(12)]
    words = ["".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(40)]
    path.write_text("\n".join(" ".join(chance.choices(words, k=8)) for _ in range(documents)), encoding="utf-8")
    return f"path:{path}?split=line"


def test_parts_share_no_document_and_seeds_decide_the_order(tmp_path: Path) -> None:
    texts = Texts.read(corpus(tmp_path / "text.txt", "abcde"), documents=1000)
    parts = [set(texts.before), set(texts.further), set(texts.held_out.texts)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 500
    assert 500 / HELD_OUT_OF * 0.6 < len(parts[2]) < 500 / HELD_OUT_OF * 1.5
    assert all(len(text.encode()) <= DOCUMENT_BYTES for text in texts.held_out.texts)
    assert ordered(texts.further, 3000, 1) == ordered(texts.further, 3000, 1) != ordered(texts.further, 3000, 2)
    for size in (10, 3000, 100_000):  # of less than a document, and of more than there is
        assert sum(map(len, ordered(texts.further, size, 1))) == size
    assert sum(map(len, mixed(["x" * 50], ["y" * 50], 1000, 0.1, 1))) == 1000
    assert "".join(mixed(["x" * 50], ["y" * 50], 1000, 0.1, 1)).count("y") == 100


def test_works_are_whole_in_one_part_and_in_one_group(tmp_path: Path) -> None:
    rows = [{"id": f"work {n % 120}#{n // 120}", "text": f"{n} is the text of work {n % 120}."} for n in range(600)]
    path = tmp_path / "text.jsonl"
    path.write_text("\n".join(map(json.dumps, [*rows, rows[0]])), encoding="utf-8")
    texts = Texts.read(f"path:{path}", work_field="id")
    parts = [{text.split()[-1] for text in part} for part in (texts.before, texts.further, texts.held_out.texts)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 120
    assert len(texts.before) + len(texts.further) + len(texts.held_out.texts) == 600  # a text counts once
    assert sum(texts.held_out.opens) == len(parts[2])
    groups = dict(zip((text.split()[-1] for text in texts.held_out.texts), texts.held_out.groups, strict=True))
    for text, group in zip(texts.held_out.texts, texts.held_out.groups, strict=True):
        work = text.split()[-1]
        assert groups[work] == group == digest_of(f"work {work[:-1]}")[0] % GROUPS
    with pytest.raises(InputError, match=r"has \d+ documents and \d+ works of them"):
        Texts.read(f"path:{path}?max_bytes=1000", work_field="id")


def test_a_few_of_many_documents_are_of_all_groups(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("\n".join(map(str, range(20_000))), encoding="utf-8")
    held_out = Texts.read(f"path:{path}?split=line", documents=MIN_DOCUMENTS).held_out
    assert len(held_out.texts) == sum(held_out.opens) == MIN_DOCUMENTS
    assert len(set(held_out.groups)) > MIN_GROUPS


def test_sequences_of_words_that_other_parts_have(tmp_path: Path) -> None:
    texts = Texts((), ("one two three four five six seven eight nine",), HeldOut((), (), ()), "")
    for held_out, expected in (
        ("two three four five six seven eight nine ten", 1 / 2),
        ("one two three four", 0),
        ("one two three four five six seven eight nine", 1),
    ):
        assert replace(texts, held_out=HeldOut((held_out,), (0,), (True,))).copied() == expected


def test_every_token_but_the_first_is_a_target_once() -> None:
    stream = np.arange(100, 111)
    inputs, targets = networks.windows(stream, 4)
    assert inputs.shape == targets.shape == (3, 4)
    asked = targets != networks.NO_TARGET
    assert targets[asked].tolist() == stream[1:].tolist()
    assert inputs[asked].tolist() == stream[:-1].tolist()


def line(key: Key, bits: Sequence[float]) -> dict[str, Any]:
    """A model that gives so many bits to the 100 bytes of each group, half of them for new tokens."""
    nll = [round(one * UNIT) for one in bits]
    each: dict[str, Any] = {name: [4] * GROUPS for name in ("documents", "pieces", "tokens", "tokens new", "bytes new")}
    each |= {"bytes": [100] * GROUPS, "nll": nll, "nll new": [one // 2 for one in nll]}
    return {**key._asdict(), "steps": 5, "language": each, "english": each}


def made(tmp_path: Path, gaps: list[float], spread: float = 0.0) -> Results:
    """Results where ``mean`` needs ``gap`` bits more than ``fvt`` in a group, by seed, give or take by group."""
    results = Results(tmp_path / "made.jsonl.gz", {"bytes": [9, 9], "share": 0.1, "ids": [300, 320], "copied": 0.5})
    for seed, gap in enumerate(gaps):
        noise = [200 + (group % 7) * 10 for group in range(GROUPS)]
        results.add(line(Key(seed, "fvt", SURGERY), noise))
        apart = [one + gap + spread * (-1) ** group for group, one in enumerate(noise)]
        results.add(line(Key(seed, "mean", SURGERY), apart))
    return results


@pytest.mark.parametrize(
    ("gaps", "spread", "expected"),
    [
        ([10, 11, 12], 1.0, "fvt is better than mean (+0.1100 bits per byte [+0.0849, +0.1351]; documents ±0.0037, "),
        ([-10, -11, -12], 1.0, "mean is better than fvt (-0.1100 bits per byte ["),
        ([0.5, 0.5, 0.5], 0.1, "fvt is better than mean, by less than 0.01 (+0.0050"),
        ([0.1, 0.1, 0.1], 1.0, "no difference of 0.01 or more (+0.0010"),
        ([10, 11, 12], 90.0, "not resolved (+0.1100"),
        ([10, -11, 12], 1.0, "not resolved (+0.0367"),
        ([9, 12, 15], 28.0, "not resolved (+0.1200"),  # each half alone excludes 0
        ([10], 1.0, "not resolved, there is no interval over seeds (+0.1000"),
    ],
)
def test_verdicts(tmp_path: Path, gaps: list[float], spread: float, expected: str) -> None:
    results = made(tmp_path, gaps, spread)
    found = difference(results, "fvt", "mean", SURGERY)
    assert found is not None
    for interval in filter(None, (found.documents, found.seeds, found.both)):
        assert sum(interval) / 2 == pytest.approx(found.value)
    assert found.sentence().startswith(f"right after surgery, fvt against mean: {expected}")
    assert found.sentence() in tables.report(results)
    assert difference(results, "fvt", BASE, TRAINED) is None


def test_right_after_surgery_the_base_is_what_was_before(tmp_path: Path) -> None:
    results = made(tmp_path, [10.0, 11.0])
    for seed in range(2):
        results.add(line(Key(seed, BASE, BEFORE), [205] * GROUPS))
    found = difference(results, "fvt", BASE, SURGERY)
    assert found is not None
    assert found.value == pytest.approx((205 - np.mean([200 + (group % 7) * 10 for group in range(GROUPS)])) / 100)


@pytest.mark.parametrize("spread", [(0.0, 0.05, 0.0), (0.02, 0.05, 0.02)])
def test_the_interval_that_decides_holds_the_truth(spread: tuple[float, float, float]) -> None:
    both, *alone = coverage.held(coverage.Spread(*spread), seeds=3, draws=60)
    assert both >= 0.9
    assert min(alone) < 0.8  # an experiment that tells


def test_intervals_over_seeds() -> None:
    assert over_seeds([1.0]) is None
    assert over_seeds([1.0, 2.0, 3.0]) == pytest.approx((2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5))


def test_results_of_something_else_are_refused(tmp_path: Path) -> None:
    results = Results.read(made(tmp_path, [1.0]).path)
    results.settle({"share": 0.1})
    with pytest.raises(InputError, match=r"was measured with share = 0\.1, and now it is 0\.2; name another file"):
        results.settle({"share": 0.2})
    for content in (b"no gzip", gzip.compress(b'{"setting": 1}\nno line\n'), results.path.read_bytes()[:-9]):
        results.path.write_bytes(content)
        with pytest.raises(InputError, match="holds no results of this study"):
            Results.read(results.path)


def arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    options = {
        "english": corpus(tmp_path / "english.txt", "abcdefgh"), "text": corpus(tmp_path / "text.txt", "õäöüšž"),
        "vocabulary": 300, "tokens": 20, "methods": "fvt", "seeds": 1, "layers": 1, "width": 16, "context": 32,
        "batch": 4, "work-field": "", "documents": 16, "results": tmp_path / "results.jsonl.gz",
        "models": tmp_path / "models",
    }  # fmt: skip
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    monkeypatch.setattr("sys.argv", ["small_model", *given, "--bytes", "3000", "1000"])
    return program.arguments()


@pytest.mark.parametrize(("option", "value"), [("--methods", "fvt,men"), ("--seeds", "0"), ("--share", "1.5")])
def test_what_cannot_be_is_refused_before_anything_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str, value: str
) -> None:
    monkeypatch.setattr("sys.argv", ["small_model", option, value])
    with pytest.raises(SystemExit, match="2"):
        program.arguments()
    assert "small_model: error: " in capsys.readouterr().err


def test_a_tiny_run_that_is_ended_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    monkeypatch.setattr(networks, "settle", lambda: None)  # of the whole process
    given = arguments(monkeypatch, tmp_path)
    program.measure(given, Results.read(given.results))
    whole = Results.read(given.results)
    assert list(whole.lines) == wanted([0], ["fvt"])
    by_stage = {key[1:]: found for key, found in whole.lines.items()}
    read = by_stage[BASE, TRAINED], by_stage["fvt", TRAINED]
    assert read[0]["bytes"] == read[1]["bytes"] >= 999  # the last character may not fit
    assert read[0]["tokens"] > read[1]["tokens"]
    assert len({tuple(line[part]["bytes"]) for line in whole.lines.values() for part in ("language",)}) == 1
    assert sum(by_stage[BASE, BEFORE]["language"]["tokens new"]) == 0
    assert_split_is_that_of_the_tokens(given, by_stage["fvt", SURGERY])

    kept = gzip.decompress(given.results.read_bytes()).splitlines(keepends=True)
    given.results.write_bytes(gzip.compress(b"".join(kept[:-2])))
    shutil.rmtree(next(given.models.glob("*/seed0/fvt-trained")))  # ended while it was trained
    program.measure(given, Results.read(given.results))
    again = Results.read(given.results)
    assert list(again.lines) == list(whole.lines)
    for key, found in again.lines.items():
        assert found["language"] == whole.lines[key]["language"], key
        assert {**found, "seconds": 0, "scoring_seconds": 0} == {**whole.lines[key], "seconds": 0, "scoring_seconds": 0}
    assert "fvt against base: " in tables.report(again)


def assert_split_is_that_of_the_tokens(given: Any, found: Mapping[str, Any]) -> None:
    """Compare sums with a loop over tokens in float64."""
    folder = next(given.models.glob("*/seed0/fvt-surgery"))
    tokenizer = tokenizers.load(f"native+file:{folder / 'tokenizer.json'}")
    texts = Texts.read(given.text, 16).held_out.texts
    bits, new, tokens = 0.0, 0.0, 0
    for ids in (tokenizer.encode_batch([text]).ids for text in texts):
        nll = np.array(oracle(folder, ids, bos=299, context=32, stride=16)[1])
        bits, new, tokens = bits + nll.sum(), new + nll[ids >= 300].sum(), tokens + int((ids >= 300).sum())
    sums = {name: sum(values) for name, values in found["language"].items()}
    assert sums["tokens new"] == tokens > 0
    assert sums["nll"] / UNIT == pytest.approx(bits, rel=1e-5)
    assert sums["nll new"] / UNIT == pytest.approx(new, rel=1e-5)
    assert sums["bytes"] == sum(len(text.encode()) for text in texts)
