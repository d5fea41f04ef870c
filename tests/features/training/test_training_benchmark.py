"""The benchmark of trainings: what it measures, what it checks first, and how it refuses."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyharness
from pyharness import bpe, report, tokenizers
from pyharness.benchmarks import Work
from pyharness.features.training import benchmark as training
from pyharness.features.training import trainers
from pyharness.features.training.recipe import Recipe
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec
from pyharness.types import Case, CaseResult, Unsupported

ROW = "trained:tokenizers-bpe?vocab_size=600&corpus=sample:prose"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))


def measured(row: str, **parameters: Any) -> CaseResult:
    selection = {"name": "training", "threads": 1, "repetitions": 1, **parameters}
    (result,) = pyharness.run([row], ["sample:prose"], [selection]).record.results
    return result


def test_what_is_measured_and_its_table() -> None:
    selection = {"name": "training", "threads": 1, "repetitions": 3}
    run = pyharness.run([ROW], ["sample:prose"], [selection])
    (result,) = run.record.results
    assert result.status == "ok", result.reason
    by_name = {(one.metric, one.part): one for one in result.measurements}
    total = by_name["train_seconds", "total"]
    assert len(total.samples) == 3
    assert all(sample > 0 for sample in total.samples)
    phases = [one for (metric, part), one in by_name.items() if metric == "train_seconds" and part != "total"]
    assert phases
    for number, whole in enumerate(total.samples):
        assert sum(one.samples[number] for one in phases) <= whole
    rates = by_name["train_bytes_per_second", None].samples
    size = result.details["probes"][0]["bytes"]
    assert rates == pytest.approx([size / seconds for seconds in total.samples])
    assert by_name["trained_vocabulary", None].value == 600
    assert by_name["trained_merges", None].value == 600 - 256
    assert (by_name["train_peak_memory_bytes", None].value or 0) >= 0
    assert result.details["probes"][0]["checked"].startswith("vocabulary; round trip (exact) of ")
    assert result.details["trainer"]["trainer"] == "tokenizers-bpe"
    (table,) = [one for one in report.sheets(run.record) if one.title.startswith("Training")]
    assert table.title == "Training, 1 thread"
    assert table.texts[0][4:6] == ("344", "600")
    assert table.notes[-1] == "Trained on sample:prose."
    assert max(map(len, report.to_text([table]).splitlines())) <= 80


def test_rows_that_were_not_trained_are_skipped() -> None:
    result = measured("raw_bytes")
    assert result.status == "skipped"
    assert "trained:..." in str(result.reason)
    with pytest.raises(Unsupported):
        training.recipe_of("raw_bytes")


def recipe_and_training() -> tuple[Recipe, TrainedTokenizer, list[str]]:
    recipe = training.recipe_of(ROW)
    return recipe, trainers.train(recipe.trainer, recipe.request()), list(recipe.texts())


def test_a_wrong_vocabulary_gets_no_number() -> None:
    recipe, found, texts = recipe_and_training()
    for changed in ({"vocab_size": 601}, {"vocab_size": 599}):
        with pytest.raises(training.Wrong, match=rf"\b{changed['vocab_size']} ids .*\b600$"):
            training.check(recipe, dataclasses.replace(found, **changed), texts)  # type: ignore[arg-type]
    short = dataclasses.replace(found, vocab_size=599, complete=False)
    with pytest.raises(training.Wrong, match=r"file .*\b600 ids\b.*\b599\b"):
        training.check(recipe, short, texts)


def test_a_tokenizer_that_loses_text_gets_no_number() -> None:
    recipe, found, texts = recipe_and_training()
    (name,) = found.files
    broken = found.files[name].replace(b'"\xc4\xa0the"', b'"\xc4\xa0thx"')  # the piece " the" reads " thx"
    assert broken != found.files[name]
    with pytest.raises(training.Wrong, match=r"\bloaded: \S"):
        training.check(recipe, dataclasses.replace(found, files={name: broken}), texts)


def test_trainers_whose_files_nothing_loads_are_checked_by_their_size() -> None:
    recipe, found, texts = recipe_and_training()
    spec: TrainerSpec[Any] = dataclasses.replace(recipe.trainer, loadable=False)
    bare = dataclasses.replace(found, files={})
    assert "ids only" in training.check(dataclasses.replace(recipe, trainer=spec), bare, texts)


def test_a_training_that_dies_is_a_failed_case(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tokenizers.obtain(ROW)  # found in the cache: only the benchmark trains
    (tmp_path / "broken.py").write_text(
        "from pyharness.features.training.trainers import huggingface\nhuggingface._train = None\nTRAINERS = ()\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYHARNESS_PLUGINS", "broken")
    result = measured(ROW)
    assert result.status == "failed"
    assert (result.reason or "").startswith("training ended with status 1: TypeError")


def test_a_text_that_a_trainer_refuses_skips_the_case() -> None:
    result = measured(ROW.replace("tokenizers-bpe", "unigram").replace("600", "50000"))
    assert result.status == "skipped"
    assert (result.reason or "").startswith("unigram cannot train this: ")
    assert "50,000" in str(result.reason)


@pytest.mark.parametrize("prepared", [True, False])
def test_what_was_refused_when_the_row_was_prepared_is_not_tried_again(
    prepared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ROW.replace("tokenizers-bpe", "unigram").replace("600", "50000")
    spec = tokenizers.obtain(row) if prepared else tokenizers.resolve(row)
    case = Case("training", row, None, {"threads": 1, "repetitions": 1})
    started: list[object] = []

    def start(*arguments: object) -> list[bytes]:
        started.append(arguments)
        return [json.dumps({"refused": "no"}).encode()]

    monkeypatch.setattr(training, "said_by", start)
    with pytest.raises(Unsupported, match=r"unigram cannot train this: " + ("sentencepiece" if prepared else "no")):
        training.run(Work(case, spec, load=lambda: pytest.fail("loaded"), corpus=None, threads=1))
    assert len(started) == (not prepared)


@pytest.mark.parametrize("pattern", ["gpt2", "single_digits"])
def test_ours_and_tokenizers_learn_the_same_merges_from_the_same_pieces(pattern: str) -> None:
    """Ids break ties, so the alphabet is given in the order of the library's: characters of GPT-2's byte alphabet."""
    huggingface = pytest.importorskip("tokenizers")
    recipe = training.recipe_of(ROW)
    texts = list(recipe.texts())
    counter = bpe.PieceCounter(bpe.TextSplitter(pattern))
    counter.add(texts)
    counted = counter.pieces()
    library = huggingface.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    data = counted.symbols.astype(np.uint8).tobytes()
    bounds = zip(counted.offsets[:-1].tolist(), counted.offsets[1:].tolist(), strict=True)
    pieces = [data[start:end] for start, end in bounds]
    written = {piece: _in_alphabet(piece, library) for piece in pieces}
    weights = dict(zip((written[piece] for piece in pieces), counted.weights.tolist(), strict=True))
    alphabet = sorted(library.alphabet())
    ours = bpe.train(bpe.WeightedPieces.of_characters(weights, alphabet), 600)
    names = [ours[token].decode() for token in range(len(ours))]
    trained = trainers.train(
        "tokenizers-bpe", dataclasses.replace(recipe, options={**recipe.options, "pattern": pattern}).request()
    )
    model = json.loads(next(iter(trained.files.values())))["model"]
    assert [[names[left], names[right]] for left, right, _ in ours.rules.tolist()] == model["merges"]


def _in_alphabet(piece: bytes, library: Any) -> str:
    table = _table(library)
    return "".join(table[byte] for byte in piece)


def _table(library: Any) -> dict[int, str]:
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {byte: chr(byte) for byte in shown}
    table |= {byte: chr(256 + n) for n, byte in enumerate(byte for byte in range(256) if byte not in table)}
    assert set(table.values()) == set(library.alphabet())
    return table


def test_trainers_take_turns_and_their_times_are_compared_round_by_round() -> None:
    ours = ROW.replace("tokenizers-bpe", "bpe")
    selection = {"name": "training", "threads": 1, "rounds": 2, "reference": ours}
    results = pyharness.run([ours, ROW], ["sample:prose"], [selection]).record.results
    for result in results:
        assert result.status == "ok", result.reason
        assert result.case.parameters == {"threads": 1, "rounds": 2, "reference": ours}
        assert [len(one["probes"]) for one in result.details["rounds"]] == [1, 1], "one training a turn"
        assert next(one.value for one in result.measurements if one.metric == "trained_merges") == 600 - 256
    home, other = ([one for one in result.measurements if one.part == "total"] for result in results)
    seconds = [next(one.samples for one in side if one.metric == "train_seconds") for side in (home, other)]
    (ratio,) = (one for one in other if one.metric == "train_time_ratio")
    assert ratio.samples == tuple(mine / theirs for theirs, mine in zip(*seconds, strict=True))
    assert ratio.paired
