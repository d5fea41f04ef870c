"""Rows ``trained:...`` whose training aborts, is refused or interrupted, and caches that are damaged."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import pyharness
from cases.trained_rows import row
from pyharness import tokenizers
from pyharness.features.training import trained_cache, training_process
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.system import atomic_file, child_process
from pyharness.types import InputError


def plugin(folder: Path, monkeypatch: pytest.MonkeyPatch, change: str) -> None:
    """Have every process that is started from here make a change; this one imports the module, too, and does not."""
    source = f"import sys\nif 'pytest' not in sys.modules:\n    {change}\nTRAINERS = ()\n"
    (folder / "intruder.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("PYHARNESS_PLUGINS", "intruder")


@pytest.mark.parametrize("damage", ["entry", "deep", "list", "fifo", "file", "gone", "fifo of the file", "outside"])
def test_a_damaged_cache_is_mended(text: Path, cache: Path, damage: str, in_process: None) -> None:
    spec = tokenizers.obtain(row(text))
    (entry,) = cache.glob("*/entry.json")
    assert spec.path is not None
    content = Path(spec.path).read_bytes()
    if damage == "entry":
        entry.write_text("{", encoding="utf-8")
    elif damage in ("deep", "list"):
        entry.write_text("[" * 100_000 if damage == "deep" else "[]", encoding="utf-8")
    elif damage.startswith("fifo"):
        damaged = entry if damage == "fifo" else Path(spec.path)
        damaged.unlink()
        os.mkfifo(damaged)
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


@pytest.mark.parametrize("content", [b"", b"PK", b"[" * 9000, "bzip2", "object"])
def test_damaged_arrays_are_learnt_again(
    tmp_path: Path, cache: Path, content: bytes | str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checksum may be made good: an entry is anybody's who can write there."""
    place = trained_cache.RecipeFolder.of({"trainer": "x"})
    place.folder.mkdir(parents=True)
    if isinstance(content, str):
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_BZIP2 if content == "bzip2" else zipfile.ZIP_STORED) as members:
            array = io.BytesIO()
            np.save(array, np.array([{}], object) if content == "object" else np.arange(3), allow_pickle=True)
            members.writestr("x.npy", array.getvalue())
        content = file.getvalue()
    monkeypatch.setattr(np, "savez", lambda file, **_: file.write(content))
    place.keep_learnt("digest", {"x": np.arange(3)}, None)
    assert place.find() is not None or not content
    assert place.learnt("digest", None) is None
    monkeypatch.undo()


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
    library = "from pyharness.features.training.trainers import huggingface as it"
    aborting = f"import os; {library}; it._train = lambda *_: os.abort()"
    with monkeypatch.context() as patched:
        plugin(tmp_path, patched, aborting)
        found = pyharness.run([row(text), "raw_bytes"], ["sample:prose"], ["compression"])
    result = {(one.case.benchmark, one.case.tokenizer): one for one in found.record.results}
    assert result["compression", "raw_bytes"].status == "ok"
    assert result["compression", row(text)].status == "failed"
    reason = result["integrity", row(text)].reason or ""
    assert re.match(r"tokenizers-bpe .*signal 6\b", reason)
    assert tokenizers.resolve(row(text)).path is None
    assert tokenizers.obtain(row(text)).path is not None


@pytest.mark.parametrize(
    ("status", "stderr", "expected"),
    [
        (-6, "", r"signal 6\b"),
        (-9, "", r"signal 9\b.*memory"),
        (1, "Traceback\n  x\nTypeError: no\n\n", r"status 1\b.*TypeError: no$"),
    ],
)
def test_how_a_process_ended(status: int, stderr: str, expected: str) -> None:
    assert re.search(expected, child_process.ending(status, stderr))


@pytest.mark.parametrize("engine", ["", "native+"])
def test_a_text_that_a_trainer_refuses_costs_its_rows_only(
    engine: str, text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = engine + row(text, "unigram", 5000)
    found = pyharness.run([refused, "raw_bytes"], ["sample:prose"], ["compression"])
    status = {(one.case.benchmark, one.case.tokenizer): one for one in found.record.results}
    assert status["compression", "raw_bytes"].status == "ok"
    assert status["compression", refused].status == "skipped"
    assert re.match("unigram .*5,000", status["compression", refused].reason or "")
    monkeypatch.setattr(training_process, "run", lambda *_: pytest.fail("asked twice"))
    assert tokenizers.obtain(refused).path is None
    with pytest.raises(InputError, match=r"unigram .*5,000"):
        tokenizers.load(refused)


def test_files_are_moved_in_whole(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = TrainedTokenizer(
        files={"a": b"1", "b": b"2"}, vocab_size=1, merges=0, complete=True, seconds={"training": 0.0}
    )
    with trained_cache.locked({"trainer": "x"}) as place:
        monkeypatch.setattr(atomic_file, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "disk full")))
        with pytest.raises(InputError, match=r"disk full.*PYHARNESS_CACHE"):
            place.keep("d" * 32, found)
        assert place.find() is None
        monkeypatch.undo()
        (place.folder / ".of_a_killed_process.part").mkdir()
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
        ("trained:bpe", r"'trained:bpe' .*vocab_size=8192&corpus="),
        ("trained:bpe?vocab_size=300", "corpus="),
        ("trained:bpee?vocab_size=300&corpus=sample", "trainer 'bpee'.*'bpe'"),
        ("trained:bpe?vocab_size=x&corpus=sample", "vocab_size=x "),
        ("trained:bpe?vocab_size=-5&corpus=sample", "vocab_size=-5 "),
        ("trained:bpe?vocab_size=9999999999999999999&corpus=sample", "vocab_size=9999999999999999999 "),
        ("trained:bpe?vocab_size=300&corpus=sampel", "corpus 'sampel'.*'sample'"),
        ("trained:bpe?vocab_size=300&corpus=sample&size=3", "'size'"),
        ("trained:bpe?vocab_size=300&corpus=sample&max_bytes=2", "'max_bytes'"),  # an option of the corpus, unescaped
        ("trained:unigram?vocab_size=300&corpus=sample&pattern=gpt2", "no option 'pattern'"),
        ("trained:wordpiece?vocab_size=300&corpus=sample&tie_rule=first_seen", "no option 'tie_rule'"),
        ("trained", "'trained' .*argument"),
    ],
)
def test_bad_specifications(specification: str, message: str, cache: Path) -> None:
    with pytest.raises(InputError, match=message):
        tokenizers.obtain(specification)
    assert not cache.exists()


def test_a_cache_that_cannot_be_written(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match=rf"{re.escape(str(tmp_path))}.*PYHARNESS_CACHE"):
        tokenizers.obtain(row(text))
