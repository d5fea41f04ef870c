"""Extensions that are refused, and when."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adapted.bases import NEW, OLD, write_base
from bpe_files import unused
from cases.trained_rows import asked
from pyharness.features.adaptation.bpe import placement
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError, TokenKind


def train(
    base: Path | str, tokens: int = 20, texts: Iterable[str] = NEW, name: str = "continued-bpe", **options: Any
) -> TrainedTokenizer:
    kept = list(texts)
    return trainers.train(name, asked(name, texts=lambda: kept, base=str(base), tokens=tokens, **options))


def test_ids_without_which_other_tokens_are_lost_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tokenizer.model"
    path.write_bytes(unused("he"))
    texts = ["well low we", "hello well"] * 3
    train(path, 2, texts)
    monkeypatch.setattr(placement, "_idle", lambda model: np.flatnonzero(model.vocabulary.kinds == TokenKind.UNUSED))
    with pytest.raises(InputError, match=r"\d tokens? of .*\bbase .*--reuse"):
        train(path, 2, texts, reuse="he")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"texts": []}, "corpus .*no text"),
        ({"texts": ["x"]}, "nothing to add.*min_frequency"),
        ({"tokens": 0}, r"tokens is 0; .* 1\.\.2,147,483,647"),
        ({"deny": "("}, r"deny '\(' .*regular expression"),
        ({"deny": "a{99999999999}"}, "deny 'a.99999999999.' .*regular expression: "),
        ({"deny": "(" * 9999 + ")" * 9999}, r"deny '\(.*regular expression: maximum recursion depth"),
        ({"reuse": "["}, r"reuse '\[' .*regular expression"),
        ({"vocab_size": 300}, "no option 'vocab_size'"),
        ({"share": 0.5}, "no option 'share'"),
        ({"base": "nowhere.json"}, "nowhere.json"),
    ],
)
def test_bad_requests_are_refused_in_words(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(**{"base": write_base(tmp_path), **options})


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("continued-bpe", {"tokens": (1 << 31) - 1}, "cannot be added"),
        ("continued-bpe", {"multiple_of": 1 << 30}, r"multiple_of is 1,073,741,824; .* 1\.\."),
        ("continued-bpe", {"reuse": "nothing"}, "--reuse 'nothing' .*there are: "),
        ("continued-bpe", {"balance": True}, "balance .*several"),
        ("naive-extension", {"auxiliary_size": 255}, r"auxiliary_size is 255; .*\b256"),
    ],
)
def test_what_no_text_can_mend_is_refused_before_it_is_read(
    tmp_path: Path, name: str, options: dict[str, Any], said: str
) -> None:
    values = {"texts": lambda: pytest.fail("read"), "base": str(write_base(tmp_path)), "tokens": 5, **options}
    with pytest.raises(InputError, match=said):
        trainers.train(name, asked(name, **values))


def test_bases_that_have_no_merges_are_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    models = (
        {"type": "WordPiece", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"},
        {"type": "Unigram", "vocab": [["<unk>", 0.0], ["a", -1.0]], "unk_id": 0},
    )
    for model in models:
        path.write_text(json.dumps({"model": model, "added_tokens": []}))
        with pytest.raises(InputError, match=str(model["type"])):
            train(path)
    (tmp_path / "model.json").write_bytes(
        trainers.train("bpe", asked("bpe", texts=lambda: OLD, vocab_size=270)).files["model.json"]
    )
    with pytest.raises(InputError, match=r"model\.json .*export .*tokenizer\.json"):
        train(tmp_path / "model.json")
    with pytest.raises(InputError, match="needs base: give base="):
        trainers.train("continued-bpe", asked("continued-bpe", texts=lambda: OLD, tokens=3))


def test_a_stage_at_which_the_library_panics_is_refused(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    content = json.loads(base.read_text(encoding="utf-8"))
    base.write_text(json.dumps(content | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!!"}}))
    with pytest.raises(InputError, match=r"normaliser .*refused by tokenizers: "):
        train(base)
