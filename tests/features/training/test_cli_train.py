"""``pyharness train`` as a person or a script meets it: folders whole or not at all, summaries, messages."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from rich.progress import Progress

import pyharness
from cases.command_line import with_plugin
from pyharness import tokenizers
from pyharness.cli import main
from pyharness.cli.progress import Bar, TrainingBar, TrainingLines
from pyharness.corpora.texts import Text
from pyharness.features.training import commands as training
from pyharness.system import folders
from pyharness.system.folders import write_folder
from pyharness.types import InputError, TrainingProgress

SMALL = ("--vocab-size", "400", "-c", "sample:prose")
STUCK = """
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec
from pyharness.features.training.trainers.options import Sized
import sys

def train(request):
    list(request.texts())
    print("stuck", flush=True)
    sum(range(10**12))  # as libraries do: it keeps the interpreter for minutes, and looks for no signal

TRAINERS = (
    TrainerSpec(name="stuck", train=train, options=Sized, summary="never ends", algorithm="bpe", library="stuck"),
)
"""


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["train", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def refused(*arguments: object) -> str:
    return call(*arguments, code=2).stderr


def test_what_it_was_trained_on_is_known_wherever_it_lies(tmp_path: Path) -> None:
    (tmp_path / "seen.txt").write_text("\n".join(f"the cat of house number {number}" * 3 for number in range(70)))
    (tmp_path / "new.txt").write_text("\n".join(f"a dog that nobody has met {number}" * 3 for number in range(70)))
    seen, new = (f"path:{tmp_path / name}?split=line" for name in ("seen.txt", "new.txt"))
    call("bpe", "-c", seen, "--vocab-size", 300, "--out", tmp_path / "first", "-q")
    (tmp_path / "first").rename(tmp_path / "moved")
    row = f"mine=file:{tmp_path / 'moved'}"
    results = pyharness.run([row, "native+" + row.partition("=")[2]], [seen, new], ["compression"]).record.results
    shares = {
        (result.case.tokenizer == "mine", "seen" in str(result.case.corpus), result.trained_on) for result in results
    }
    assert shares == {(True, True, 1.0), (True, False, 0.0), (False, True, 1.0), (False, False, 0.0)}


def test_a_folder_with_the_model_and_how_it_was_made(tmp_path: Path) -> None:
    out = tmp_path / "my bpe"
    said = call("bpe", *SMALL, "--out", out, "--special", "<|end|>", "--threads", 2, "--pattern", "cl100k").stdout
    assert sorted(path.name for path in out.iterdir()) == ["model.json", "trained_on.npy", "training.json"]
    assert list(tmp_path.iterdir()) == [out]
    record = json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert record["options"]["pattern"] == "cl100k"
    assert record["options"]["special"] == ["<|end|>"]
    assert record["text"]["corpora"] == ["sample:prose"]
    assert (record["vocab_size"], record["merges"], record["complete"]) == (400, 143, True)
    rows = dict(re.findall(r"^(\w\S*) +(.*)$", said, re.MULTILINE))
    assert rows["vocabulary"] == "400 ids"
    assert rows["merges"] == "143"
    assert {"reading", "counting", "merging"} <= {part.split()[0] for part in rows["seconds"].split(", ")}
    model = tokenizers.load(f"file:{out / 'model.json'}")
    text = Text.of(["sample:prose"])
    documents = list(text.documents())
    tokens = len(model.encode_batch(documents).ids)
    assert rows["bytes/token"] == f"{text.tally.bytes / tokens:.4f} on the training text"
    command = shlex.split(rows["next"])
    assert command[:4] == ["pyharness", "run", "-t", f"file:{out / 'model.json'}"]


def test_the_default_text_is_said_to_be_a_sample(tmp_path: Path) -> None:
    assert "shipped sample" in call("bpe", "--vocab-size", 300, "--out", tmp_path / "a").stdout
    assert "shipped sample" not in call("bpe", *SMALL, "--out", tmp_path / "b").stdout
    assert call("bpe", *SMALL, "--out", tmp_path / "c", "-q").output == ""


def test_scaffold_with_its_trace_and_exports_of_plain_bpe(tmp_path: Path) -> None:
    said = call("scaffold-bpe", *SMALL, "--out", tmp_path / "s", "--trace").stdout
    assert (tmp_path / "s" / "scaffold-trace.jsonl").stat().st_size > 0
    assert "scaffold" in said.lower()
    call("bpe", *SMALL, "--out", tmp_path / "b", "--export", "tokenizer.json", "--export", "tiktoken")
    text = "to be or not to be"
    own = tokenizers.load(f"file:{tmp_path / 'b' / 'model.json'}").encode_batch([text]).ids.tolist()
    exported = tokenizers.load(f"file:{tmp_path / 'b' / 'tokenizer.json'}").encode_batch([text]).ids.tolist()
    ranks = tokenizers.load(f"file:{tmp_path / 'b' / 'ranks.tiktoken'}?pattern=r50k_base").encode_batch([text]).ids
    assert own == exported == ranks.tolist()
    assert "Scaffold-BPE" in refused("scaffold-bpe", *SMALL, "--out", tmp_path / "x", "--export", "tiktoken")
    assert "trainers with it: bpe" in refused("unigram", *SMALL, "--out", tmp_path / "x", "--export", "tiktoken")
    assert not (tmp_path / "x").exists()


def test_the_text_can_be_limited_and_come_from_several_places(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "one two"}\n{"text": "three"}\n', encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"four \xff five")
    corpora = ("-c", f"path:{tmp_path / 'a.jsonl'}", "-c", f"path:{tmp_path / 'b.txt'}")
    said = call("bpe", "--vocab-size", 260, *corpora, "--out", tmp_path / "whole").stdout
    assert re.search(r"\b1 sequences of bytes\b.*\bU\+FFFD\b", said)
    record = json.loads((tmp_path / "whole" / "training.json").read_text(encoding="utf-8"))
    assert record["text"]["documents"] == 3
    call("bpe", "--vocab-size", 260, *corpora, "--out", tmp_path / "part", "--max-bytes", "10B")
    record = json.loads((tmp_path / "part" / "training.json").read_text(encoding="utf-8"))
    assert (record["text"]["documents"], record["text"]["bytes"]) == (1, 7)
    error = refused("bpe", "--vocab-size", 260, *corpora, "--out", tmp_path / "none", "--max-bytes", "3B", "-q")
    assert re.search(r"\bmax_bytes=3\b.*\(7 bytes\)", error)


def test_too_little_text_is_no_error_but_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab", encoding="utf-8")
    said = call("bpe", "--vocab-size", 300, "-c", f"path:{tmp_path / 'a.txt'}", "--out", tmp_path / "m").stdout
    assert "stopped after 1 merges" in said
    assert json.loads((tmp_path / "m" / "training.json").read_text(encoding="utf-8"))["complete"] is False


def test_bad_input_is_refused_before_any_text_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(self: Text) -> Any:
        raise AssertionError("text was read")

    monkeypatch.setattr(Text, "documents", read)
    out = ("--out", tmp_path / "m")
    assert "did you mean 'scaffold-bpe'" in refused("scafold-bpe", *SMALL, *out)
    assert "did you mean 'sample'" in refused("bpe", "--vocab-size", 300, "-c", "sampel", *out)
    assert "--max-bytes=much is not" in refused("bpe", *SMALL, "--max-bytes", "much", *out)
    assert re.search(r"vocabulary of 100\b.*\balphabet\b", refused("bpe", "--vocab-size", 100, *out))
    assert "no option --demolition" in refused("bpe", *SMALL, *out, "--demolition", "shortest")
    assert f"no folder '{tmp_path / 'no'}'" in refused("bpe", *SMALL, "--out", tmp_path / "no" / "m")
    assert re.search(rf"'{tmp_path}' .*\bnot made\b", refused("bpe", *SMALL, "--out", tmp_path, "--force"))
    assert "'/' cannot name" in refused("bpe", *SMALL, "--out", "/")
    assert "begins the options" in refused("bpe", *SMALL, "--out", tmp_path / "a?b")
    assert "vocab_size is 0" in refused("bpe", "--vocab-size", 0, *out)
    for option in ("--min-frequency", "--max-token-length"):
        for value in (0, -1, 99999999999999999999):
            said = refused("bpe", *SMALL, option, value, *out)
            assert re.search(
                rf"\b{option[2:].replace('-', '_')} is {value:,}; .*\b1\.\.9,223,372,036,854,775,807", said
            )
    assert "sentences is -4" in refused("unigram", *SMALL, "--sentences", -4, *out)
    assert re.search(r"pattern is empty\b.*'none'", refused("bpe", *SMALL, "--pattern", "", *out))
    assert "no option --no-byte-fallback" in refused("bpe", *SMALL, "--no-byte-fallback", *out)
    assert re.search(r"'a\S+' is not Unicode\b", refused("bpe", *SMALL, "--special", "a\udcff", *out))
    assert "3 expressions" in refused("bpe", *SMALL, "--pattern", "deepseek_v3", "--export", "minbpe", *out)
    assert "merges bytes" in refused("bpe", *SMALL, "--symbols", "characters", "--export", "tiktoken", *out)
    assert not list(tmp_path.iterdir())


def test_an_export_that_cannot_hold_the_model_costs_no_training(tmp_path: Path) -> None:
    out = tmp_path / "m"
    text = tmp_path / "a.txt"
    text.write_text("<e> " * 50, encoding="utf-8")
    arguments = ("--vocab-size", 300, "-c", f"path:{text}", "--special", "<e>", "--pattern", "whitespace")
    done = call("bpe", *arguments, "--export", "tokenizer.json", "--export", "tiktoken", "--out", out, code=2)
    assert re.match(r"error: --export tokenizer\.json: .*'<e>'", done.stderr.splitlines()[-1])
    assert sorted(path.name for path in out.iterdir()) == [
        "model.json",
        "ranks.tiktoken",
        "trained_on.npy",
        "training.json",
    ]


def test_a_character_outside_the_alphabet_is_the_unknown_token(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("abab " * 9, encoding="utf-8")
    base = ("bpe", "--symbols", "characters", "--vocab-size", 8, "-c", f"path:{tmp_path / 'a.txt'}", "--special", "<s>")
    said = call(*base, "--unknown", "<unk>", "--out", tmp_path / "u", "--export", "tokenizer.json").stdout
    assert "left out" not in said
    model = tokenizers.load(f"file:{tmp_path / 'u' / 'model.json'}")
    ids = model.encode_batch(["ab\u00e9ab"]).ids.tolist()
    assert ids[1:-1] == [7]
    exported = tokenizers.load(f"file:{tmp_path / 'u' / 'tokenizer.json'}")
    assert exported.encode_batch(["ab\u00e9ab"]).ids.tolist() == ids
    said = call(*base, "--out", tmp_path / "n").stdout
    assert "left out" in said
    assert "symbols 'characters'" in refused("bpe", *SMALL, "--unknown", "<u>", "--out", tmp_path / "x")
    assert "trainers with it: bpe" in refused("scaffold-bpe", *SMALL, "--unknown", "<u>", "--out", tmp_path / "x")
    assert "given twice" in refused(*base, "--unknown", "<s>", "--out", tmp_path / "x")


def test_an_option_of_other_trainers_is_named_by_its_flag_here() -> None:
    assert "'leaf-pruning' has no option --vocab-size; here it is --size" in refused("leaf-pruning", "--vocab-size", 5)
    assert "'bpe' has no option --script; trainers with it: script" in refused("bpe", "--script", "Latin")


def test_a_folder_that_appears_during_a_training_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "m"
    documents = Text.documents

    def meanwhile(self: Text) -> Any:
        out.mkdir(exist_ok=True)
        (out / "precious").touch()
        return documents(self)

    monkeypatch.setattr(Text, "documents", meanwhile)
    assert "exists already" in refused("bpe", *SMALL, "--out", out)
    assert [path.name for path in out.iterdir()] == ["precious"]


def test_ctrl_c_reaches_python_again_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(training, "write_folder", lambda *_, **__: seen.append(signal.getsignal(signal.SIGINT)))
    call("tokenizers-bpe", *SMALL, "--out", tmp_path / "m", "-q")
    assert seen == [signal.default_int_handler]


def test_a_folder_is_replaced_only_if_asked_and_ours(tmp_path: Path) -> None:
    out = tmp_path / "m"
    call("bpe", *SMALL, "--out", out)
    before = (out / "model.json").read_bytes()
    assert "--force" in refused("bpe", *SMALL, "--out", out)
    call("bpe", "--vocab-size", 500, "-c", "sample:prose", "--out", out, "--force")
    assert (out / "model.json").read_bytes() != before
    assert list(tmp_path.iterdir()) == [out]
    (out / "sub").mkdir()
    assert re.search(rf"'{out}' .*\bnot made\b", refused("bpe", *SMALL, "--out", out, "--force"))
    (tmp_path / "link").symlink_to(out)
    assert re.search(r"link' .*\bnot made\b", refused("bpe", *SMALL, "--out", tmp_path / "link", "--force"))


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_training_that_is_killed_leaves_nothing(tmp_path: Path, kind: signal.Signals) -> None:
    (tmp_path / "stuck.py").write_text(STUCK, encoding="utf-8")
    (tmp_path / "work").mkdir()
    environment = with_plugin(tmp_path, "stuck")
    command = [sys.executable, "-P", "-m", "pyharness", "train", "stuck", "--vocab-size", "300", "--out", "m"]
    with subprocess.Popen(
        command, env=environment, cwd=tmp_path / "work", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"stuck\n"
        child.send_signal(kind)
        assert child.wait(timeout=20) != 0
    assert not list((tmp_path / "work").iterdir())


@pytest.mark.parametrize(("trainer", "said"), [("tokenizers-bpe", True), ("sentencepiece-bpe", True), ("bpe", False)])
def test_a_library_says_when_ctrl_c_ends_it_before_it_begins(tmp_path: Path, trainer: str, said: bool) -> None:
    size = ("--vocab-size", 800, "-c", "sample:prose")
    lines = call(trainer, *size, "--out", tmp_path / "m").stderr.splitlines()
    library = trainer.removesuffix("-bpe")
    assert [line.split()[0] for line in lines if "Ctrl-C" in line] == [library] * said
    assert "Ctrl-C" not in call(trainer, *size, "--out", tmp_path / "q", "-q").stderr


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_our_own_trainer_can_be_interrupted_while_it_reads(tmp_path: Path, kind: signal.Signals) -> None:
    (tmp_path / "a.txt").write_text("some words, again and again\n" * 1000, encoding="utf-8")
    command = [sys.executable, "-P", "-m", "pyharness", "train", "bpe", "--vocab-size", "300", "--out", "m",
               "-c", "repeat:100000:path:../a.txt"]  # fmt: skip
    (tmp_path / "work").mkdir()
    with subprocess.Popen(command, cwd=tmp_path / "work", stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        assert child.stderr.readline().startswith(b"counting: ")
        child.send_signal(kind)
        assert child.wait(timeout=20) == 128 + kind
        assert b"Traceback" not in child.stderr.read()
    assert not list((tmp_path / "work").iterdir())


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "m"
    write_folder(out, {"a": b"1"})

    def fail(made: Path, files: Any) -> None:
        (made / "half").write_bytes(b"")
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_fill", fail)
        with pytest.raises(SystemExit):
            write_folder(out, {"a": b"2"}, overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (out / "a").read_bytes() == b"1"
    with pytest.raises(InputError, match="exists already"):
        write_folder(out, {"a": b"3"})
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="exists already"):
        write_folder(tmp_path / "file", {"a": b"3"})
    (tmp_path / "file").unlink()
    assert [path.name for path in tmp_path.iterdir()] == ["m"]
    assert (out / "a").read_bytes() == b"1"
    with pytest.raises(InputError, match="cannot write"):
        write_folder(tmp_path / "no" / "m", {})


def test_progress_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    merging = TrainingProgress("merging", 12_000, "tokens", 32_000, 3.9)
    assert merging.in_words == "merging: 12,000 of 32,000 tokens (38%), about 4 s left"
    assert TrainingProgress("counting", 12_300_000, "bytes").in_words == "counting: 12.3 MB"
    lines = TrainingLines()
    for _ in range(5):
        lines(merging)
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("kind", ["train", "run"])
def test_a_bar_shows_no_share_where_the_end_is_not_known(kind: str) -> None:
    with Progress(console=Console(file=io.StringIO())) as bar:
        show = TrainingBar(bar) if kind == "train" else partial(Bar(bar).preparing, "a row")
        show(TrainingProgress("reading", 5, "bytes", 20))
        assert bar.tasks[0].percentage == 25
        show(TrainingProgress("training", 20, "bytes"))
        assert bar.tasks[0].total is None
