"""``pyharness adapt extend`` and ``prune`` as a person or a script meets them."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from adapted.bases import NEW, OLD, write_base
from pyharness import tokenizers
from pyharness.cli import main
from pyharness.features.adaptation import resizing
from pyharness.features.training import trainers
from pyharness.system import folders
from pyharness.types import InputError


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "new.txt"
    path.write_text("\n".join(NEW), encoding="utf-8")
    return f"path:{path}?split=line"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "base").mkdir()
    return write_base(tmp_path / "base")


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["adapt", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def refused(*arguments: object) -> str:
    return call(*arguments, code=2).stderr


def rows(said: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w\S*) +(.*)$", said, re.MULTILINE))


def test_a_folder_with_the_edited_file_and_what_was_learnt(tmp_path: Path, base: Path, corpus: str) -> None:
    (tmp_path / "other.txt").write_text("kassi mati peal\n", encoding="utf-8")
    out = tmp_path / "out"
    done = call("extend", "--base", base.parent, "-c", corpus, "--tokens", 20, "--out", out,
                "--held-out", f"path:{tmp_path / 'other.txt'}", "--threads", 1)  # fmt: skip
    said, progress = rows(done.stdout), done.stderr
    files = ["adaptation.json", "tokenizer.json", "trained_on.npy", "training.json"]
    assert sorted(path.name for path in out.iterdir()) == files
    assert said["vocabulary"] == "293 tokens: 20 added"
    old, new = (tokenizers.load(f"file:{path}") for path in (base, out))
    counts = [len(tokenizer.encode_batch(["kassi mati peal\n"]).ids) for tokenizer in (old, new)]
    assert said["bytes/token"].startswith(f"{16 / counts[0]:.4f} -> {16 / counts[1]:.4f} (")
    assert "held-out text" in said["bytes/token"]
    assert re.findall(r"^(?:\w+ )?(held-out|judging)\b.*: ", progress, re.MULTILINE) == ["held-out", "judging"]
    assert re.match(r"0 tokens, 0 .*; \d+ ", said["unreachable"])
    used = set(new.encode_batch(["kassi mati peal\n"]).ids.tolist())
    assert said["unused"].startswith(f"{20 - len(used & set(range(273, 293)))} of 20 ")
    record = json.loads((out / "training.json").read_text(encoding="utf-8"))
    assert (record["trainer"], record["options"]["tokens"], record["vocab_size"]) == ("continued-bpe", 20, 293)
    assert record["text"]["documents"] == len(NEW)


def test_several_sizes_of_one_training(
    tmp_path: Path, base: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resizing, "JUDGED_BYTES", 10)  # what is judged on is not the whole corpus
    said = call("extend", "--base", base, "-c", corpus, "--sizes", "5, 20,10", "--out", tmp_path / "et").stdout
    assert (said.count("\nvocabulary"), said.count("hf_to_gguf")) == (3, 1)
    assert sorted(path.name for path in tmp_path.glob("et*")) == ["et-10", "et-20", "et-5"]
    for tokens in (5, 10, 20):
        call("extend", "--base", base, "-c", corpus, "--tokens", tokens, "--out", tmp_path / "one", "-q", "--force")
        files = [tmp_path / folder / "tokenizer.json" for folder in (f"et-{tokens}", "one")]
        assert files[0].read_bytes() == files[1].read_bytes()
        record = json.loads((tmp_path / f"et-{tokens}" / "training.json").read_text(encoding="utf-8"))
        assert (record["options"]["tokens"], record["text"]["documents"]) == (tokens, len(NEW))


def test_rank_files_are_named_with_what_loads_them(tmp_path: Path, corpus: str) -> None:
    pytest.importorskip("tiktoken")
    base = write_base(tmp_path, "mine.tiktoken")
    said = call(
        "extend", "--base", f"file:{base}?pattern=gpt2", "-c", corpus, "--tokens", 9, "--out", tmp_path / "o"
    ).stdout
    named = f"{tmp_path / 'o' / 'mine-adapted.tiktoken'}?pattern=gpt2"
    assert f"pyharness encode 'file:{named}'" in said
    embed = shlex.split(rows(said)["next"])
    assert embed[2:] == ["embed", "MODEL", "--tokenizer", named, "--out", "DIR"]
    assert tokenizers.load(f"native+file:{embed[5]}").id_limit == 279  # as embed reads it


def test_ids_that_are_used_again_and_rows_of_the_model_are_said(tmp_path: Path, base: Path, corpus: str) -> None:
    asked = ("extend", "--base", base, "-c", corpus, "--tokens", 5, "--out", tmp_path / "out")
    said = rows(call(*asked, "--reuse", r"<.(reserved_\d|end).>", "--multiple-of", 64).stdout)
    assert said["reused"] == "3 ids: <|end|>, <|reserved_0|>, <|reserved_1|>"
    assert said["ids"] == "275 (320 rows)"
    embed = ["embed", "MODEL", "--tokenizer", str(tmp_path / "out"), "--multiple-of", "64", "--out", "DIR"]
    assert said["next"].split()[2:] == embed
    assert tokenizers.load(f"file:{tmp_path / 'out'}").id_limit == 275
    said = rows(call(*asked, "--force", "--reuse", "<.end.>").stdout)
    assert (said["reused"], said["ids"]) == ("1 id: <|end|>", "277")
    assert "--multiple-of" not in said["next"]
    assert "reused" not in rows(call(*asked, "--force").stdout)
    assert re.search(r"multiple_of is 0;.* 1\.\.", refused(*asked, "--force", "--multiple-of", 0))
    for tokens in (0, 2**31):
        said_of = refused(*asked, "--force", "--tokens", tokens)
        assert re.search(rf"tokens is {tokens:,};.* 1\.\.2,147,483,647", said_of)


def test_prunings_are_refused_in_the_names_of_the_options(tmp_path: Path, base: Path, corpus: str) -> None:
    asked = ("prune", "--base", base, "-c", corpus, "--out", tmp_path / "out")
    assert re.search("--size .*--share .*--extend ", refused(*asked))
    assert "give one of --size and --share" in refused(*asked, "--size", 265, "--share", 0.5)
    assert "--script Cyrillic" in refused(*asked, "--size", 265, "--method", "script")
    assert "--script needs --method script\n" in refused(*asked, "--size", 265, "--script", "Latin")
    assert "share 0 removes nothing" in refused(*asked, "--share", 0)
    for option, value in (("--coverage", 0.9), ("--deny", "x"), ("--min-frequency", 3)):
        assert re.search(f"{option} .*--extend", refused(*asked, "--size", 265, option, value))
    again = (*asked, "-c", corpus, "--size", 265, "--balance")
    assert re.search("balance.*last-n", refused(*again, "--method", "last-n"))


def test_no_folder_is_made_within_that_of_the_base(tmp_path: Path, base: Path, corpus: str) -> None:
    asked = ("extend", "-c", corpus, "--tokens", 1, "-q")
    for named in (base.parent, f"file:{base.parent}"):
        said = refused(*asked, "--base", named, "--out", base.parent / "sub")
        assert re.search(rf"{base.parent}/sub\b.*within .*{base.parent}\b", said)
    assert not (base.parent / "sub").exists()
    call(*asked, "--base", base, "--out", base.parent / "sub")


def test_a_smaller_tokenizer_with_its_map_of_ids(tmp_path: Path, base: Path, corpus: str) -> None:
    said = rows(call("prune", "--base", base, "-c", corpus, "--share", 0.5, "--out", tmp_path / "out").stdout)
    assert said["vocabulary"] == "266 tokens: 7 removed"
    assert "--held-out" in said["bytes/token"]
    ids = json.loads((tmp_path / "out" / "id_map.json").read_text(encoding="utf-8"))
    assert (len(ids), ids.count(-1)) == (273, 7)
    said = rows(call("prune", "--base", base, "-c", corpus, "--extend", 9, "--out", tmp_path / "same").stdout)
    assert said["vocabulary"] == "273 tokens: 9 removed, 9 added"
    assert "vocabulary" in rows(
        call("prune", "--base", base, "-c", corpus, "--size", 270, "--method", "script", "--script", "Latin",
             "--out", tmp_path / "script").stdout
    )  # fmt: skip


def test_an_order_that_needs_no_text_says_so(tmp_path: Path, base: Path, corpus: str) -> None:
    asked = ("prune", "--base", base, "-c", corpus, "--size", 270, "--method", "last-n", "--out", tmp_path / "out")
    assert rows(call(*asked).stdout)["text"].startswith("not read")
    record = json.loads((tmp_path / "out" / "training.json").read_text(encoding="utf-8"))
    assert record["text"]["documents"] == 0


def test_documents_are_not_in_the_corpus_and_held_out(tmp_path: Path, base: Path, corpus: str) -> None:
    path = tmp_path / "held.txt"
    path.write_text(f"{NEW[0]}\nmuu\n", encoding="utf-8")
    asked = ("extend", "--base", base, "-c", corpus, "--tokens", 5, "--out", tmp_path / "out", "-q",
             "--held-out", f"path:{path}?split=line")  # fmt: skip
    assert re.search(r"\b5 of 10 documents .*--allow-overlap", refused(*asked))
    assert not (tmp_path / "out").exists()
    call(*asked, "--allow-overlap")
    path.write_text("muu\n", encoding="utf-8")
    call(*asked, "--force")


def test_what_is_refused_leaves_nothing(
    tmp_path: Path, base: Path, corpus: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    asked = ("extend", "--base", base, "-c", corpus, "--out", out)
    for more in ((), ("--tokens", 1, "--sizes", "1,2")):
        assert re.search("--tokens N.*--sizes N,N", refused(*asked, *more))
    for sizes in ("1,x", "5,0"):
        assert re.search(f"--sizes '{sizes}' .*whole numbers", refused(*asked, "--sizes", sizes))
    assert not list(tmp_path.glob("out*"))
    assert re.search(r"--sizes .*'\.'.*--out", refused(*asked[:-1], ".", "--sizes", "1,2"))
    assert re.search("balance.*several", refused(*asked, "--tokens", 5, "--balance"))
    assert "--auxiliary-size needs --method naive" in refused(*asked, "--tokens", 5, "--auxiliary-size", 300)
    made = _made(tmp_path, base, corpus)
    inside = ("extend", "--base", made, "-c", corpus, "--tokens", 1, "--out", made.parent, "--force")
    assert "lies in" in refused(*inside)
    monkeypatch.setattr(folders, "_fill", _full)
    assert "disk" in refused(*asked, "--tokens", 5)
    assert not out.exists()
    assert not list(tmp_path.glob(".out*"))


def _made(tmp_path: Path, base: Path, corpus: str) -> Path:
    call("extend", "--base", base, "-c", corpus, "--tokens", 5, "--out", tmp_path / "made", "-q")
    return tmp_path / "made" / "tokenizer.json"


def _full(*_: object) -> None:
    raise InputError("the disk is full")


def test_corpora_are_balanced(tmp_path: Path, base: Path, corpus: str) -> None:
    (tmp_path / "small.txt").write_text("päike paistab\n", encoding="utf-8")
    asked = ("extend", "--base", base, "-c", corpus, "-c", f"path:{tmp_path / 'small.txt'}", "--tokens", 8, "-q")
    call(*asked, "--out", tmp_path / "a")
    call(*asked, "--out", tmp_path / "b", "--balance")
    plain, balanced = ((tmp_path / name / "tokenizer.json").read_bytes() for name in "ab")
    assert plain != balanced


def test_old_text_keeps_its_ids(tmp_path: Path, base: Path, corpus: str) -> None:
    call("extend", "--base", base, "-c", corpus, "--tokens", 5, "--out", tmp_path / "out", "-q", "--deny", "[cr]at")
    old, new = (tokenizers.load(f"file:{path}") for path in (base, tmp_path / "out"))
    assert new.id_limit == 278
    assert old.encode_batch(OLD[:1]).ids.tolist() == new.encode_batch(OLD[:1]).ids.tolist()


GOLD = ["full_word,pt1,rest\nwalks,walk,s\nwalked,walk,ed\n"]  # what bpe-knockout reads


@pytest.mark.parametrize("trainer", [name for name, spec in trainers.specs().items() if spec.adapts])
def test_the_example_of_the_help_runs(trainer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_base(tmp_path)
    texts = GOLD if trainer == "bpe-knockout" else NEW
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
    (tmp_path / "corpus.jsonl").write_text(lines, encoding="utf-8")
    said = CliRunner().invoke(main, ["train", trainer, "--help"]).output
    (example,) = re.findall(rf"^ *pyharness (train {trainer} (?:.*\\\n)*.*)$", said, re.MULTILINE)
    done = CliRunner().invoke(main, shlex.split(example.replace("\\\n", " ")))
    assert done.exit_code == 0, done.output
    assert (tmp_path / f"my-{trainer}").is_dir()
