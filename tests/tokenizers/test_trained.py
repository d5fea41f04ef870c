"""Rows that are trained here: the specification, the cache, concurrent processes, and bad input."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pyharness
from pyharness import tokenizers, trainers
from pyharness.cli import progress
from pyharness.plugins.specification import TOKENIZER
from pyharness.system import atomic_file, child_process
from pyharness.tokenizers.families import trained
from pyharness.tokenizers.training import cache as trained_cache
from pyharness.tokenizers.training import process as training_process
from pyharness.tokenizers.training import recipe as training_recipe
from pyharness.trainers import TrainedTokenizer
from pyharness.types import InputError, TrainingProgress
from pyharness.vocabularies.sentencepiece.model import read_model

PROSE = Path(trainers.__file__).parents[1] / "corpora" / "sample" / "prose.jsonl"
TEXT = "the cat sat on the mat; the rat sat on the cat\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own, and no memory of texts that earlier tests have read."""
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    training_recipe._TEXTS.clear()
    return tmp_path / "cache" / "trained"


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process for a training where that is not what is tested: it takes a third of a second."""
    monkeypatch.setattr(training_process, "run", training_process.train_and_keep)


def plugin(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Have every process that is started from here make a change; this one imports the module, too, and does not."""
    source = f"import sys\nif 'pytest' not in sys.modules:\n    {change}\nTRAINERS = ()\n"
    (folder / "intruder.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "intruder")


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT * 20, encoding="utf-8")
    return path


def row(path: Path, trainer: str = "tokenizers-bpe", size: int = 270, more: str = "") -> str:
    return f"trained:{trainer}?vocab_size={size}&corpus=path:{path}?split=line%26name=mine{more}"


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
        request = trainers.TrainingRequest(texts=lambda: texts, vocab_size=1100, threads=threads)
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
    with pytest.raises(InputError, match="has not been trained yet: 'pyharness run' trains it"):
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
    places = {trained_cache.Place.of(recipe.as_json()).folder for recipe in recipes if recipe is not None}
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


def test_code_that_trains_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests = set()
    for source in ("", "TIE = 1\n"):
        for room in ("trainers", "bpe"):
            (tmp_path / room).mkdir(exist_ok=True)
            (tmp_path / room / "__init__.py").write_text(source, encoding="utf-8")
            monkeypatch.setattr(trainers, "__file__", str(tmp_path / "trainers" / "__init__.py"))
            training_recipe.code_digest.cache_clear()
            digests.add(training_recipe.code_digest())
    training_recipe.code_digest.cache_clear()
    assert len(digests) == 4


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


@pytest.mark.parametrize("damage", ["entry", "file", "gone", "outside"])
def test_a_damaged_cache_is_mended(text: Path, cache: Path, damage: str, in_process: None) -> None:
    spec = tokenizers.obtain(row(text))
    (entry,) = cache.glob("*/entry.json")
    assert spec.path is not None
    content = Path(spec.path).read_bytes()
    if damage == "entry":
        entry.write_text("{", encoding="utf-8")
    elif damage == "file":
        Path(spec.path).write_bytes(b"{}")
    elif damage == "gone":
        Path(spec.path).unlink()
    else:
        entry.write_text(json.dumps(json.loads(entry.read_text()) | {"file": "../../text.txt"}), encoding="utf-8")
    assert tokenizers.resolve(row(text)).path is None
    again = tokenizers.obtain(row(text))
    assert again.path == spec.path
    assert Path(spec.path).read_bytes() == content


def test_a_run_that_is_interrupted_leaves_nothing(text: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(training_process, "run", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tokenizers.obtain(row(text))
    assert [path.name for path in cache.glob("*/*")] == ["lock"]
    assert tokenizers.obtain(row(text)).path is not None


def test_a_library_that_aborts_costs_its_rows_only_and_is_tried_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    aborting = "import os; from pyharness.trainers import huggingface as it; it._train = lambda *_: os.abort()"
    with monkeypatch.context() as patched:
        plugin(tmp_path, patched, aborting)
        found = pyharness.run([row(text), "raw_bytes"], ["sample:prose"], ["compression"])
    result = {(one.case.benchmark, one.case.tokenizer): one for one in found.record.results}
    assert result["compression", "raw_bytes"].status == "ok"
    assert result["compression", row(text)].status == "failed"
    reason = result["integrity", row(text)].reason or ""
    assert reason.startswith("tokenizers-bpe gave nothing: training was killed by signal 6")
    assert tokenizers.resolve(row(text)).path is None
    assert tokenizers.obtain(row(text)).path is not None


@pytest.mark.parametrize(
    ("status", "stderr", "expected"),
    [
        (-6, "", "was killed by signal 6"),
        (-9, "", "was killed by signal 9 (by the system, perhaps for lack of memory, or by somebody)"),
        (1, "Traceback\n  x\nTypeError: no\n\n", "ended with status 1: TypeError: no"),
    ],
)
def test_how_a_process_ended(status: int, stderr: str, expected: str) -> None:
    assert child_process.ending(status, stderr) == expected


def test_a_text_that_a_trainer_refuses_costs_its_rows_only(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = row(text, "unigram", 5000)
    found = pyharness.run([refused, "raw_bytes"], ["sample:prose"], ["compression"])
    status = {(one.case.benchmark, one.case.tokenizer): one for one in found.record.results}
    assert status["compression", "raw_bytes"].status == "ok"
    assert status["compression", refused].status == "skipped"
    assert (status["compression", refused].reason or "").startswith("unigram cannot train this: a vocabulary of 5,000")
    monkeypatch.setattr(training_process, "run", lambda *_: pytest.fail("asked twice"))
    assert tokenizers.obtain(refused).path is None
    with pytest.raises(InputError, match="unigram cannot train this"):
        tokenizers.load(refused)


def test_files_are_moved_in_whole(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = TrainedTokenizer(
        files={"a": b"1", "b": b"2"}, vocab_size=1, merges=0, complete=True, seconds={"training": 0.0}
    )
    with trained_cache.locked({"trainer": "x"}) as place:
        monkeypatch.setattr(atomic_file, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(InputError, match=r"disk full; name another folder in PYHARNESS_CACHE"):
            place.keep("d" * 32, found)
        assert place.find() is None
        monkeypatch.undo()
        (place.folder / ".part-of-a-killed-process").mkdir()
        place.keep("d" * 32, found)
    kept = place.find()
    assert kept is not None
    assert kept.path is not None
    assert kept.path.read_bytes() == b"1"
    assert sorted(path.name for path in kept.path.parent.parent.iterdir()) == ["d" * 32, "entry.json", "lock"]
    assert kept.path.is_relative_to(cache)


def test_processes_that_want_the_same_at_once(text: Path, cache: Path) -> None:
    script = "import sys; from pyharness import tokenizers; print(tokenizers.obtain(sys.argv[1]).path)"

    def obtain(_: int) -> str:
        command = [sys.executable, "-P", "-c", script, row(text)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with ThreadPoolExecutor(3) as pool:
        paths = set(pool.map(obtain, range(3)))
    assert len(paths) == 1
    assert len(list(cache.glob("*/entry.json"))) == 1


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        ("trained:bpe", r"'trained:bpe' lacks vocab_size=; write trained:bpe\?vocab_size=8192&corpus=sample"),
        ("trained:bpe?vocab_size=300", "lacks corpus="),
        ("trained:bpee?vocab_size=300&corpus=sample", "unknown trainer 'bpee'; did you mean 'bpe'"),
        ("trained:bpe?vocab_size=x&corpus=sample", "vocab_size=x is not a whole number"),
        ("trained:bpe?vocab_size=-5&corpus=sample", "vocab_size=-5 is not a whole number"),
        ("trained:bpe?vocab_size=9999999999999999999&corpus=sample", "is not a whole number"),
        ("trained:bpe?vocab_size=300&corpus=sampel", "unknown corpus 'sampel'; did you mean 'sample'"),
        ("trained:bpe?vocab_size=300&corpus=sample&size=3", "'size'"),
        ("trained:bpe?vocab_size=300&corpus=sample&max_bytes=2", "'max_bytes'"),  # an option of the corpus, unescaped
        ("trained:unigram?vocab_size=300&corpus=sample&pattern=gpt2", "cannot split by 'gpt2'"),
        ("trained:wordpiece?vocab_size=300&corpus=sample&tie_rule=first_seen", "no option 'tie_rule'"),
        ("trained", "needs an argument"),
    ],
)
def test_bad_specifications(specification: str, message: str, cache: Path) -> None:
    with pytest.raises(InputError, match=message):
        tokenizers.obtain(specification)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=r"cannot keep trained tokenizers in .*PYHARNESS_CACHE"):
        tokenizers.obtain(row(text))


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYHARNESS_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert trained_cache.folder() == tmp_path / "xdg" / "pyharness" / "trained"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert trained_cache.folder() == tmp_path / ".cache" / "pyharness" / "trained"


@pytest.mark.parametrize("trainer", list(trainers.specs()))
def test_every_trainer_gives_a_row(trainer: str, in_process: None) -> None:
    spec = trainers.resolve(trainer)
    if spec.extra is not None:
        pytest.importorskip(trainer, reason=f"trainer {trainer} needs the extra {spec.extra}")
    name = f"trained:{trainer}?vocab_size=1500&corpus=sample:prose"  # characters alone are 702
    tokenizer = tokenizers.load(tokenizers.obtain(name))
    assert 1490 < tokenizer.vocab_size <= 1500
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
    assert skipped.reason == "a bpe vocabulary replaces nothing of itself"
    (pair,) = [one for one in found.record.of("replaced_tokens") if one.status == "ok"]
    values = {one.metric: one.value for one in pair.measurements}
    share = next(one for one in found.record.of("vocabulary") if one.case.tokenizer == rows[1]).measurements[2]
    assert share.value is not None
    assert values["replaced_token_share"] is not None
    # What entered was made after the first |V| tokens, so at least as many tokens of V are replaced as entered.
    assert 0 < values["replaced_token_share"] <= share.value
