"""Rows ``trained:...``: trained once, kept, found again by what decides the result."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import pyharness
from cases.trained_rows import TEXT, asked, row
from pyharness import tokenizers
from pyharness.cli import progress
from pyharness.features.training import recipe as training_recipe
from pyharness.features.training import rows as trained
from pyharness.features.training import trained_cache, trainers, training_process
from pyharness.plugins.closure import import_closure
from pyharness.plugins.specification import TOKENIZER
from pyharness.types import InputError, TrainingProgress
from pyharness.vocabularies.sentencepiece_file import read_model

PROSE = Path(pyharness.__file__).parent / "corpora" / "sample" / "prose.jsonl"


def test_a_row_is_trained_once_and_found_again(text: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = tokenizers.obtain(row(text))
    assert spec.path is not None
    assert Path(spec.path).is_relative_to(cache)
    tokenizer = tokenizers.load(spec)
    assert tokenizer.vocab_size == 270
    assert tokenizer.decode(tokenizer.encode_batch([TEXT]).ids) == TEXT.encode()
    monkeypatch.setattr(training_process, "run", lambda *_: pytest.fail("trained twice"))
    training_recipe._TEXTS.clear()
    assert tokenizers.obtain(row(text)).path == spec.path
    assert tokenizers.resolve(row(text)).path == spec.path


def test_how_far_a_training_is_comes_from_its_process(text: Path) -> None:
    seen: list[TrainingProgress] = []
    assert tokenizers.obtain(row(text), seen.append).path is not None
    phases = list(dict.fromkeys(progress.phase for progress in seen))
    assert phases == ["reading the text", "reading", "training"]
    read = [progress for progress in seen if progress.phase == "reading"]
    assert (read[-1].unit, read[-1].total) == ("bytes", len(TEXT) * 20 - 20)  # lines without their ends
    seen.clear()
    assert tokenizers.obtain(row(text), seen.append).path is not None
    assert not seen, "nothing is read or trained again"


def test_what_a_listener_raises_ends_the_training(text: Path, cache: Path) -> None:
    def stop(progress: TrainingProgress) -> None:
        if progress.phase != "reading the text":
            raise KeyboardInterrupt

    text.write_text(TEXT * 20_000, encoding="utf-8")  # a training that is not over before it is ended
    with pytest.raises(KeyboardInterrupt):
        tokenizers.obtain(row(text), stop)
    assert [path.name for path in cache.glob("*/*")] == ["lock"]


def test_a_run_says_which_row_it_trains(text: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows = [row(text), "raw_bytes", row(text, size=271)]
    pyharness.run(rows, ["sample:prose"], ["compression"], listener=progress.Lines())
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("preparing")]
    first, second = (f"preparing {row}: " for row in (rows[0], rows[2]))
    expected = [
        first + "reading the text",
        first + "reading",
        first + "training",
        second + "reading",
        second + "training",
    ]
    assert [line.rpartition(":")[0] for line in lines] == expected


@pytest.mark.parametrize("trainer", ["bpe", "scaffold-bpe", "sentencepiece-bpe", "unigram"])
def test_what_another_number_of_threads_changes(trainer: str, text: Path) -> None:
    def trained_on(threads: int) -> object:
        texts = [one["text"] for one in map(json.loads, PROSE.read_text(encoding="utf-8").splitlines())]
        request = asked(trainer, texts=lambda: texts, vocab_size=1100, threads=threads)
        content = trainers.train(trainer, request).files
        if "tokenizer.model" not in content:
            return content
        model = read_model(content["tokenizer.model"], "x")  # the file itself names the number of threads
        return list(model.pieces), list(model.scores)

    assert (trained_on(1) != trained_on(5)) is trainers.resolve(trainer).depends_on_threads


@pytest.mark.parametrize("trainer", ["bpe", "unigram"])
def test_a_row_is_the_same_on_any_machine(
    trainer: str, cache: Path, monkeypatch: pytest.MonkeyPatch, in_process: None
) -> None:
    digests = set()
    for cores in (1, 3):
        monkeypatch.setattr(training_process, "cores", lambda cores=cores: cores)
        monkeypatch.setenv("PYHARNESS_CACHE", str(cache / str(cores)))
        path = tokenizers.obtain(f"trained:{trainer}?vocab_size=1100&corpus=sample:prose").path
        assert path is not None
        digests.add(hashlib.sha256(Path(path).read_bytes()).hexdigest())
    assert len(digests) == 1


def test_resolving_and_loading_train_nothing(text: Path, cache: Path) -> None:
    spec = tokenizers.resolve(row(text))
    assert spec.path is None
    assert spec.source.startswith("tokenizers-bpe trained on path:")
    with pytest.raises(InputError, match="'pyharness run'"):
        tokenizers.load(spec)
    assert not cache.exists()


def test_the_corpus_has_options_of_its_own(text: Path) -> None:
    recipe = trained.recipe_of(row(text))
    assert recipe is not None
    assert recipe.corpus == f"path:{text}?split=line&name=mine"
    assert len(list(recipe.texts())) == 20
    assert trained.recipe_of("raw_bytes") is None
    assert trained.recipe_of("gigatoken+" + row(text)) == recipe


def test_everything_that_decides_the_result_has_a_place_of_its_own(text: Path) -> None:
    rows = [row(text), row(text, size=271), row(text, "rustbpe"), row(text, more="&pattern=cl100k")]
    recipes = [trained.recipe_of(spec) for spec in rows]
    places = {trained_cache.RecipeFolder.of(recipe.as_json()).folder for recipe in recipes if recipe is not None}
    assert len(places) == len(rows)
    assert all("pyharness" in recipe.as_json()["versions"] for recipe in recipes if recipe is not None)


@pytest.mark.parametrize("changed", ["code_digest", "version_of"])
def test_what_older_code_trained_is_not_found(
    text: Path, monkeypatch: pytest.MonkeyPatch, changed: str, in_process: None
) -> None:
    older = tokenizers.obtain(row(text)).path
    monkeypatch.setattr(training_recipe, changed, lambda *_: "another")
    assert tokenizers.resolve(row(text)).path is None
    assert tokenizers.obtain(row(text)).path != older


@pytest.mark.parametrize(
    "changed",
    [
        "pyharness.features.training.trainers.native",
        "pyharness.bpe.formats.own_file",
        "pyharness.vocabularies.files.byte_alphabet",
    ],
)
def test_code_that_trains_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    files = import_closure("pyharness.features.training.trainers.native", "pyharness")
    before = training_recipe.code_digest.__wrapped__("pyharness.features.training.trainers.native")
    other = tmp_path / "other.py"
    other.write_bytes(files[changed].read_bytes() + b"\n# another rule\n")
    monkeypatch.setattr(training_recipe, "import_closure", lambda *_: {**files, changed: other})
    assert training_recipe.code_digest.__wrapped__("pyharness.features.training.trainers.native") != before


def test_what_is_kept_names_the_text_that_the_trainer_read(text: Path) -> None:
    """The text may change between the look at it and the training."""
    arguments = TOKENIZER.parse(row(text))
    assert arguments.argument is not None
    recipe = training_recipe.Recipe.of(arguments.argument, arguments.options)
    with trained_cache.locked(recipe.as_json()) as place:
        training_process.train_and_keep(arguments.argument, arguments.options, "d" * 32, 1)
    kept = place.find()
    assert kept is not None
    assert kept.digest == training_recipe.text_of(recipe.corpus)[0]


def test_changed_text_is_trained_on_again(text: Path) -> None:
    first = tokenizers.obtain(row(text))
    text.write_text("quite another text, quite another vocabulary\n" * 20, encoding="utf-8")
    training_recipe._TEXTS.clear()
    second = tokenizers.obtain(row(text))
    assert (first.revision, first.vocabulary) != (second.revision, second.vocabulary)
    assert tokenizers.resolve(row(text)).path == second.path


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHARNESS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert trained_cache.folder() == tmp_path / "xdg" / "pyharness" / "trained"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trained_cache.folder() == tmp_path / ".cache" / "pyharness" / "trained"


@pytest.mark.parametrize("trainer", [name for name, spec in trainers.specs().items() if not spec.adapts])
def test_every_trainer_gives_a_row(trainer: str, in_process: None) -> None:
    spec = trainers.resolve(trainer)
    if spec.extra is not None:
        pytest.importorskip(trainer, reason=f"trainer {trainer} needs the extra {spec.extra}")
    # The text has 503 characters and gives a curriculum 901 ids; some alphabets are of 702.
    size = 500 if trainer in ("characters", "curriculum") else 1500
    tokenizer = tokenizers.load(tokenizers.obtain(f"trained:{trainer}?vocab_size={size}&corpus=sample:prose"))
    assert size - 10 < tokenizer.vocab_size <= size
    ids = tokenizer.encode_batch(["the cat"]).ids
    assert len(ids)
    assert ids.dtype == np.uint32


def test_a_run_over_trained_rows() -> None:
    rows = [f"trained:{name}?vocab_size=700&corpus=sample:prose" for name in ("bpe", "scaffold-bpe")]
    found = pyharness.run(rows, ["sample:dialogue"], ["compression", "replaced_tokens", "vocabulary"])
    assert {result.case.tokenizer for result in found.record.results if result.status == "ok"} == set(rows)
    about = found.record.data["tokenizers"][rows[1]]
    assert about["sha256"]
    assert about["revision"]
    assert TOKENIZER.parse(about["spec"]).argument == "scaffold-bpe"
    (skipped,) = [one for one in found.record.of("replaced_tokens") if one.status == "skipped"]
    assert "bpe vocabulary" in str(skipped.reason)
    (pair,) = [one for one in found.record.of("replaced_tokens") if one.status == "ok"]
    values = {one.metric: one.value for one in pair.measurements}
    share = next(one for one in found.record.of("vocabulary") if one.case.tokenizer == rows[1]).measurements[2]
    assert share.value is not None
    assert values["replaced_token_share"] is not None
    # What entered was made after the first |V| tokens, so at least as many tokens of V are replaced as entered.
    assert 0 < values["replaced_token_share"] <= share.value


def test_options_of_an_engine_are_no_part_of_the_recipe(text: Path, in_process: None) -> None:
    engine = f"native+{row(text)}&dropout=0.1"
    assert trained.recipe_of(engine) == trained.recipe_of(row(text))
    replaced = {"name": "replaced_tokens", "against": "unigram"}
    found = pyharness.run([engine], ["sample:prose"], ["compression", replaced])
    assert {one.status for one in found.record.of("compression")} == {"ok"}
    assert found.record.data["tokenizers"][engine]["compared_with"] is None
