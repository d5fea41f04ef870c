"""Files in gzip and revisions in git stand in the place of files."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cases.command_line import call, refused
from pyharness.features.audit.differences import sources
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file
from tokenizer_files import byte_level, rank_data, write


def test_a_packed_file_is_equal_to_itself(tmp_path: Path) -> None:
    plain = write(tmp_path, "tokenizer.json", byte_level())
    packed = tmp_path / "other.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "tokenizer.json").read_bytes()))
    done = call("diff", plain, str(packed), "-c", "sample:numbers", "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["same_definition"]


def test_options_and_engines_stay(tmp_path: Path) -> None:
    packed = tmp_path / "ranks.tiktoken.gz"
    packed.write_bytes(gzip.compress(rank_data()))
    spec = f"file:{packed}?pattern=gpt2"
    assert call("diff", spec, f"native+{spec}", "-c", "sample:numbers").returncode == 0
    with sources.readable(f"native+{packed}?pattern=gpt2") as place:
        assert place.startswith("native+file:")
        assert place.endswith("ranks.tiktoken?pattern=gpt2")


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: data + b"x", lambda data: data[:12] + b"zzz"])
def test_damaged_gzip_is_one_line(spoil: object, tmp_path: Path) -> None:
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(spoil(gzip.compress(b"{}" * 99)))  # type: ignore[operator]
    said = refused("diff", str(packed), "raw_bytes")
    assert said.count("\n") == 1
    assert "a.json.gz" in said


def test_too_much_behind_gzip_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary_file, "BIGGEST_FILE", 1000)
    packed = tmp_path / "a.json.gz"
    packed.write_bytes(gzip.compress(b" " * 100_000))
    with pytest.raises(InputError), sources.readable(str(packed)):
        pass


def test_other_specifications_stay_as_they_are() -> None:
    for spec in ("raw_bytes", "mistral:v3", "trained:bpe?corpus=sample", "absent/a.json"):
        with sources.readable(spec) as place:
            assert place == spec


@pytest.mark.process
@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_revisions_of_files_and_folders_are_compared(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run(
            [shutil.which("git") or "git", "-C", str(tmp_path), *who, *arguments], check=True, capture_output=True
        )

    model = tmp_path / "model"
    model.mkdir()
    git("init", "-q")
    content = byte_level()
    write(model, "tokenizer.json", content)
    git("add", ".")
    git("commit", "-qm", "one")
    content["normalizer"] = {"type": "NFC"}
    write(model, "tokenizer.json", content)
    git("commit", "-qam", "two")
    (model / os.fsdecode(b"\xff.txt")).write_text("a name that is not UTF-8")
    git("add", ".")
    git("commit", "-qm", "three")
    for path in (model, model / "tokenizer.json"):
        done = call("diff", f"{path}@HEAD~2", str(path), "-c", "sample:unicode", "--format", "json")
        assert done.returncode == 1
        assert json.loads(done.stdout)["counts"] == {"normaliser": 1}
        assert call("diff", f"{path}@HEAD", str(path), "-c", "sample:numbers").returncode == 0
    for wrong in (f"{model}@nowhere", f"{model}@--help", f"{tmp_path}/absent@HEAD"):
        assert refused("diff", wrong, str(model)).count("\n") == 1
