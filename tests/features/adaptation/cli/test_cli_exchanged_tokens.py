"""``pyharness adapt prune --extend``: tokens go and others come, with the options of ``extend``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from adapted.bases import NEW, OLD, write_base
from bpe_files import FILES
from pyharness import tokenizers
from pyharness.cli import main

RARE = ["õõ 日õ 日本", "õõõ 日日"] * 2
SPELLED = ["hello we hell", "lo we"]  # in characters of the SentencePiece base
KINDS = ("tokenizer.json", "tokenizer.model")


def call(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["adapt", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def asked(folder: Path, kind: str, large: list[str]) -> list[object]:
    """Options that name a base and two corpora, of which the second is much smaller."""
    if kind == "tokenizer.json":
        write_base(folder)
    else:
        (folder / kind).write_bytes(FILES["sentencepiece, byte fallback"])
    options: list[object] = ["--base", folder / kind]
    for name, texts in (("large", large * 20), ("small", RARE)):
        (folder / f"{name}.txt").write_text("\n".join(texts), encoding="utf-8")
        options += ["-c", f"path:{folder / name}.txt?split=line"]
    return options


def added(folder: Path, base: Path) -> set[str]:
    """Strings that a tokenizer has and its base lacks."""
    both = [tokenizers.load(f"native+file:{path}").vocabulary() for path in (folder, base)]  # type: ignore[attr-defined]
    new, old = ({vocabulary[token] for token in range(len(vocabulary.kinds))} for vocabulary in both)
    return {string.decode(errors="replace") for string in new - old}


@pytest.mark.parametrize("kind", KINDS)
def test_corpora_are_balanced_and_the_size_stays(tmp_path: Path, kind: str) -> None:
    options, base = asked(tmp_path, kind, [*OLD, *NEW]), tmp_path / kind
    plain, balanced, denied = (tmp_path / name for name in ("plain", "balanced", "denied"))
    common = ["prune", *options, "--extend", 4, "--coverage", 1]  # bytes lack no character
    call(*common, "--out", plain)
    said = call(*common, "--balance", "--multiple-of", 64, "--out", balanced)
    call(*common, "--balance", "--deny", "[kmp]", "--out", denied)
    assert "4 removed, 4 added" in said
    limits = [tokenizers.load(f"native+file:{path}").id_limit for path in (base, plain, balanced)]
    assert len(set(limits)) == 1
    assert f"({-(-limits[0] // 64) * 64:,} rows)" in said
    assert "--multiple-of 64" in said
    assert added(plain, base) != added(balanced, base)
    assert added(denied, base)
    assert not any(set(string) & set("kmp") for string in added(denied, base))


def test_characters_without_a_token_are_told_and_learnt(tmp_path: Path) -> None:
    options, base = asked(tmp_path, "tokenizer.model", SPELLED), tmp_path / "tokenizer.model"
    plain, covered = tmp_path / "plain", tmp_path / "covered"
    known = {piece.decode(errors="replace") for piece in _pieces(base)}
    text = "".join((tmp_path / f"{name}.txt").read_text(encoding="utf-8") for name in ("large", "small"))
    lacking = set(text) - known - set("\n ")
    assert lacking == set("õ日本")
    call("prune", *options, "--extend", 2, "--min-frequency", 1, "--out", plain)
    said = call("extend", *options, "--tokens", 2, "--min-frequency", 1, "--out", tmp_path / "extended")
    note = f"{len(lacking)} characters, "
    assert note in said
    assert re.search(rf"0\.99995 \(--coverage\) .*\b{len(lacking)}\b", " ".join(said.split()))
    for folder in (plain, tmp_path / "extended"):
        for file in ("training.json", "adaptation.json"):
            record = json.loads((folder / file).read_text(encoding="utf-8"))
            assert any(one.startswith(note) for one in record["notes"])
            assert record.get("details", record)["missing_characters"]["distinct"] == len(lacking)
    said = call("prune", *options, "--extend", len(lacking), "--coverage", 1, "--out", covered)
    assert "have no token" not in said
    assert added(covered, base) >= lacking


def _pieces(base: Path) -> list[bytes]:
    from pyharness.bpe import import_model

    model = import_model(base)
    return [model.merges[token] for token in range(model.id_limit)]
