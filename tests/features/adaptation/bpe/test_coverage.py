"""Characters that a model cannot spell become tokens, and merges go on from them."""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapted.bases import NEW, write_base
from bpe_files import characters_file
from cases.trained_rows import asked
from pyharness.bpe import BpeTokenizer, WeightedPieces, import_model, self_tokenization
from pyharness.corpora import open_corpus
from pyharness.features.adaptation.bpe.coverage import missing_characters
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError, Tally

TEXTS = ["hell õõ õhe", "õhe\tõhe w\n", "日本 日本語 ø", "hello õhe 日本"] * 3


def trained_by_sentencepiece(*, byte_fallback: bool) -> bytes:
    trainer, out = pytest.importorskip("sentencepiece").SentencePieceTrainer, io.BytesIO()
    trainer.train(
        sentence_iterator=iter(["hello we low", "he well hell"] * 9), model_writer=out, model_type="bpe",
        vocab_size=20 + 256 * byte_fallback, byte_fallback=byte_fallback, hard_vocab_limit=False, minloglevel=2,
        normalization_rule_name="identity",
    )  # fmt: skip
    return out.getvalue()


def bases() -> dict[str, bytes]:
    found = {f"tokenizer.json {fallback}": json.dumps(characters_file(byte_fallback=fallback)).encode()
             for fallback in (False, True)}  # fmt: skip
    return found | {f"tokenizer.model {fallback}": trained_by_sentencepiece(byte_fallback=fallback)
                    for fallback in (False, True)}  # fmt: skip


def extend(base: Path, tokens: int, texts: list[str] = TEXTS, **options: Any) -> TrainedTokenizer:
    request = asked("continued-bpe", texts=lambda: texts, base=str(base), tokens=tokens, **options)
    return trainers.train("continued-bpe", request)


def read_by_the_library(name: str, data: bytes, texts: list[str]) -> list[list[int]]:
    if name == "tokenizer.json":
        library = pytest.importorskip("tokenizers").Tokenizer.from_buffer(data)
        return [encoding.ids for encoding in library.encode_batch(texts, add_special_tokens=False)]
    found: list[list[int]] = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_proto=data).encode(texts)
    return found


@pytest.mark.parametrize("kind", bases())
def test_characters_come_first_and_libraries_reach_them(tmp_path: Path, kind: str) -> None:
    name = kind.split(" ")[0]
    path = tmp_path / name
    path.write_bytes(bases()[kind])
    before = import_model(path)
    trained = extend(path, 8, character_coverage=1.0)
    model = trained.model
    assert model is not None
    new = [model.vocabulary[token].decode() for token in range(before.id_limit, model.id_limit)]
    assert new[:5] == ["õ", "日", "本", "ø", "語"]
    assert all(len(token) > 1 for token in new[5:])
    assert any("õ" in token or "日" in token for token in new[5:])
    assert json.loads(trained.files["adaptation.json"])["characters"] == 5
    texts = [*TEXTS, "".join(new), *new, "ö õö 語\t"]
    tokens = BpeTokenizer(model).encode_batch(texts)
    ours = [tokens.document(index).tolist() for index in range(len(texts))]
    assert ours == read_by_the_library(name, trained.files[name], texts)
    assert set(range(before.id_limit, model.id_limit)) <= {token for ids in ours for token in ids}
    assert not (self_tokenization(model.merges).failed >= before.id_limit).any()
    without = extend(path, 8, [*TEXTS, "owe owe"]).model
    assert without is not None
    assert not any("õ" in without.vocabulary[token].decode() for token in range(before.id_limit, without.id_limit))


@pytest.mark.parametrize("kind", bases())
def test_a_text_with_characters_that_have_no_token_is_told(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind.split(" ")[0]
    path.write_bytes(bases()[kind])
    model = import_model(path)
    known = {model.vocabulary[token] for token in range(model.id_limit)} - {bytes([byte]) for byte in range(256)}
    texts = [*TEXTS, "owe owe"]
    letters = Counter("".join(texts).replace("\t", "").replace("\n", ""))
    missing = {letter: count for letter, count in letters.items() if letter in "õø日本語"}
    assert not known & {letter.encode() for letter in missing}
    plain = extend(path, 3, texts)
    told = plain.details["missing_characters"]
    assert told["distinct"] == len(missing) == 5
    marks = len(texts) if "model" in kind else 0  # SentencePiece puts one before each text
    assert told["share"] == sum(missing.values()) / (letters.total() + marks)
    assert [note for note in plain.notes if re.match(r"5 characters, .*\(--coverage\).*\b5\b", note)]
    assert extend(path, 8, character_coverage=1.0).details["missing_characters"]["distinct"] == 0
    assert not [note for note in extend(path, 8, character_coverage=1.0).notes if "characters" in note]
    assert any("asks for 5 characters" in note for note in extend(path, 3, character_coverage=1.0).notes)


def test_sizes_are_of_one_training(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(bases()["tokenizer.json True"])
    large = extend(path, 8, character_coverage=1.0)
    for tokens in (2, 5, 7):
        alone = extend(path, tokens, character_coverage=1.0)
        taken = extend(path, tokens, [], character_coverage=1.0, learnt=large.learnt)
        assert taken.files["tokenizer.json"] == alone.files["tokenizer.json"]
    few = extend(path, 8, character_coverage=0.5).model
    assert few is not None
    assert "ø" not in {few.vocabulary[token].decode(errors="replace") for token in range(few.id_limit)}
    denied = extend(path, 8, character_coverage=1.0, deny="[õ日]").model
    assert denied is not None
    assert {"õ", "日"}.isdisjoint(denied.vocabulary[token].decode(errors="replace") for token in range(denied.id_limit))


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(bases()["tokenizer.json True"])
    with pytest.raises(InputError, match=r"coverage of 1\.5"):
        trainers.options_of("continued-bpe", base=str(path), tokens=4, character_coverage=1.5)


def test_bytes_lack_no_character(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    covered, plain = (extend(base, 4, NEW, **options) for options in ({"character_coverage": 0.9}, {}))
    name = next(iter(plain.files))
    assert covered.files[name] == plain.files[name]


@given(
    st.dictionaries(st.text("aé日õ▁\n\ufffd", min_size=1, max_size=5), st.integers(1, 50), min_size=1, max_size=8),
    st.floats(0.01, 1),
)
def test_the_share_is_covered_by_no_more_than_it_takes(words: dict[str, int], coverage: float) -> None:
    model = import_model(json.dumps(characters_file()).encode())
    counts: Counter[str] = Counter()
    for word, weight in words.items():
        counts.update({character: word.count(character) * weight for character in set(word) - {"\n", "\ufffd"}})
    order = sorted(counts, key=lambda character: (-counts[character], character))
    needed = next(k for k in range(len(order) + 1) if sum(counts[c] for c in order[:k]) >= coverage * counts.total())
    expected = [character for character in order[:needed] if character.encode() not in model.alphabet]
    found = missing_characters(model, WeightedPieces.of_bytes({w.encode(): n for w, n in words.items()}), coverage)
    assert [character.decode() for character in found.first] == expected


@pytest.mark.data
@pytest.mark.parametrize("file", ["tokenizer.model.v1", "mistral02_tokenizer.json"])
def test_a_published_model_learns_to_spell(data: Path, file: str) -> None:
    text = open_corpus(f"path:{data / 'corpora' / 'multilingual' / 'th' / 'thaigov_news.jsonl.xz'}")
    texts = [document for document, _ in zip(text.documents(Tally()), range(15), strict=False)]
    path = data / "tokenizers" / "mistral" / file
    trained = extend(path, 300, texts, character_coverage=0.99995)
    model = trained.model
    assert model is not None
    characters = json.loads(trained.files["adaptation.json"])["characters"]
    assert 10 < characters < 200
    assert trained.details["unreachable"]["added"] == {"layer_1": 0, "layer_2": 0}
    name = "tokenizer.json" if file.endswith(".json") else "tokenizer.model"
    tokens = BpeTokenizer(model).encode_batch(texts)
    ours = [tokens.document(index).tolist() for index in range(len(texts))]
    assert ours == read_by_the_library(name, trained.files[name], texts)
    spelled = [byte for byte in model.fallback if byte != model.fallback[ord("\n")]]
    before, after = (np.isin(ids, spelled).mean() for ids in (encoded_by_file(path, texts), tokens.ids))
    assert 20 * after < before


def encoded_by_file(path: Path, texts: list[str]) -> Any:
    return BpeTokenizer(import_model(path)).encode_batch(texts).ids
