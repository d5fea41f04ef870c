"""``pyharness symbols train``: a file, a summary that is right, and one line for what cannot be done."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyharness.cli import main
from pyharness.features.segmentation.symbol_models import SymbolModel

TEXT = "the cat sat on the mat; the rat ate the cat's hat\n" * 40


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, ["symbols", "train", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def refused(*arguments: object) -> str:
    said = call(*arguments, code=2).stderr
    assert said.splitlines()[-1].startswith("error: ")
    return said


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


def of_bytes(text: str, order: int) -> SymbolModel:
    ids = np.frombuffer(text.encode(), np.uint8)
    return SymbolModel.train([(ids, np.array([0, len(ids)]))], 256, order)


def test_a_model_of_bytes(text: Path, tmp_path: Path) -> None:
    held = tmp_path / "held.txt"
    held.write_text("the bat sat")
    out = tmp_path / "bytes.symbols"
    said = call("-c", f"path:{text}", "--order", 4, "--out", out, "--held-out", f"path:{held}", "--threads", 2)
    model = SymbolModel.load(out, 256)
    assert (model.order, model.digest) == (4, of_bytes(TEXT, 4).digest)
    scores = model.score(np.frombuffer(b"the bat sat", np.uint8), np.array([0, 11]))
    bits, expected = (values.mean() / math.log(2) for values in (scores.nll, scores.entropy))
    assert re.search(rf"^bits/symbol {bits:.4f} .*held out.* {expected:.4f}$", said.stdout, re.MULTILINE)
    assert f"bits/byte   {bits:.4f}\n" in said.stdout
    assert "in 1 document" in said.stdout
    assert model.digest in said.stdout
    assert re.match(r".*\bheld-out\b.*: .*\ntraining: ", said.stderr)


def test_a_model_of_tokens(text: Path, tmp_path: Path) -> None:
    bpe = ["train", "bpe", "-c", f"path:{text}", "--vocab-size", "260", "--out", str(tmp_path / "bpe"), "-q"]
    assert CliRunner().invoke(main, bpe).exit_code == 0
    out = tmp_path / "tokens.symbols"
    call("-c", f"path:{text}", "-t", f"file:{tmp_path / 'bpe' / 'model.json'}", "--out", out, "--quiet")
    model = SymbolModel.load(out, 260)
    assert model.order == 3
    likely = np.flatnonzero(model.probabilities([]) > 1e-4)
    assert len(likely) == model.distinct_ngrams[0]
    assert likely[-1] >= 256  # tokens that were learnt


@pytest.mark.parametrize("order", [0, 6, -2])
def test_other_orders_are_refused(text: Path, tmp_path: Path, order: int) -> None:
    said = refused("-c", f"path:{text}", "--order", order, "--out", tmp_path / "x")
    assert re.search(rf"\border {order} .*\b1\.\.5\b", said)
    assert not (tmp_path / "x").exists()


def test_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    assert "no text" in refused("-c", f"path:{tmp_path / 'empty.txt'}", "--out", tmp_path / "x", "-q")


def test_a_file_that_is_there_is_kept(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "there"
    out.write_text("mine")
    assert re.search(r"there' exists already\b.*--force", refused("-c", f"path:{text}", "--out", out))
    assert out.read_text() == "mine"
    call("-c", f"path:{text}", "--out", out, "--force")
    assert SymbolModel.load(out).order == 3


def test_a_folder_in_its_place_is_refused_with_the_option_of_this_command(text: Path, tmp_path: Path) -> None:
    said = refused("-c", f"path:{text}", "--out", tmp_path)
    assert re.search(r"is a folder\b.*--out\n", said)


def test_a_folder_that_is_missing_is_said_first(text: Path, tmp_path: Path) -> None:
    assert "cannot write to" in refused("-c", f"path:{text}", "--out", tmp_path / "missing" / "x", "-q")


def test_text_that_is_held_out_and_in_the_corpus_is_refused(text: Path, tmp_path: Path) -> None:
    options = ("-c", f"path:{text}", "--held-out", f"path:{text}", "--out", tmp_path / "x")
    assert re.search(r"\b1 of 1 documents\b.*--allow-overlap", refused(*options))
    assert not (tmp_path / "x").exists()
    call(*options, "--allow-overlap")
