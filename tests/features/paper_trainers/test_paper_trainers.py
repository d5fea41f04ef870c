"""Trainers that papers use: the files that their libraries make, and what is refused."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cases.command_line import call
from cases.trained_rows import asked
from pyharness import corpora, tokenizers
from pyharness.corpora.texts import Text
from pyharness.features.paper_trainers.documents import CorpusFeed, lines_of
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError, Tally

LIBRARY = pytest.importorskip("tokenizers", reason="its trainer is compared with")
pytest.importorskip("sentencepiece", reason="its trainer is compared with")


def texts_of(name: str) -> list[str]:
    return list(corpora.open_corpus(name).documents(Tally()))[:120]


def parity(parts: list[list[str]], **options: Any) -> TrainedTokenizer:
    request = asked("parity-bpe", texts=lambda: [text for part in parts for text in part], **options)
    return trainers.train("parity-bpe", replace(request, parts=lambda: parts))


@pytest.fixture(scope="module")
def parts() -> list[list[str]]:
    prose = texts_of("sample:prose")
    return [prose[::2], [text.upper() for text in prose[1::2]], ["नमस्ते दुनिया, यह एक परीक्षण है। " * 20] * 3]


def library_merges(parts: list[list[str]], merges: int, **options: Any) -> list[list[str]]:
    """The merges of the library's own trainer, called as its documentation does."""
    tokenizer = LIBRARY.Tokenizer(LIBRARY.models.BPE())
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
    tokenizer.pre_tokenizer = LIBRARY.pre_tokenizers.Sequence([
        LIBRARY.pre_tokenizers.Split(LIBRARY.Regex(pattern), "isolated"),
        LIBRARY.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip
    settings = {name: options[name] for name in ("variant", "global_merges") if name in options}
    balance: dict[str, Any] = {}
    if "ratio" in options:
        balance["ratio"] = [float(one) for one in options["ratio"]]
    if options.get("parallel"):
        balance["dev_iterators"] = [lines_of(part) for part in parts]
    trainer = LIBRARY.trainers.ParityBpeTrainer(
        num_merges=merges, show_progress=False,
        initial_alphabet=sorted(LIBRARY.pre_tokenizers.ByteLevel.alphabet()), **settings,
    )  # fmt: skip
    trainer.train_from_iterator(tokenizer, train_iterators=[lines_of(part) for part in parts], **balance)
    merged: list[list[str]] = json.loads(tokenizer.to_str())["model"]["merges"]
    return merged


@pytest.mark.skipif(not hasattr(LIBRARY.trainers, "ParityBpeTrainer"), reason="tokenizers has it from 0.23")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"parallel": True},
        {"ratio": ("1", "1", "2.5")},
        {"variant": "window", "parallel": True},
        {"global_merges": 50},
    ],
)
def test_merges_are_those_of_the_library(parts: list[list[str]], options: dict[str, Any]) -> None:
    trained = parity(parts, vocab_size=456, **options)
    assert json.loads(trained.files["tokenizer.json"])["model"]["merges"] == library_merges(parts, 200, **options)
    assert trained.vocab_size <= 456


@pytest.mark.skipif(not hasattr(LIBRARY.trainers, "ParityBpeTrainer"), reason="tokenizers has it from 0.23")
def test_a_balanced_language_gets_more_merges(parts: list[list[str]], tmp_path: Path) -> None:
    counts: list[int] = []
    for options in ({}, {"ratio": ("1", "1", "50")}):
        path = tmp_path / f"{len(counts)}.json"
        path.write_bytes(parity(parts, vocab_size=400, **options).files["tokenizer.json"])
        counts.append(len(tokenizers.load(f"file:{path}").encode_batch(parts[2], 1).ids))
    assert counts[1] < counts[0]


@pytest.mark.skipif(not hasattr(LIBRARY.trainers, "ParityBpeTrainer"), reason="tokenizers has it from 0.23")
def test_a_second_reading_of_the_text_is_not_counted(parts: list[list[str]], tmp_path: Path) -> None:
    specs = [f"path:{_written(tmp_path / f'{place}.jsonl', part)}" for place, part in enumerate(parts[1:])]
    read: list[Any] = []
    for name in ([], ["--parallel"]):
        out = tmp_path / f"out{len(read)}"
        call("train", "parity-bpe", "-c", specs[0], "-c", specs[1], "--vocab-size", "300", *name, "--out", str(out))
        read.append(json.loads((out / "training.json").read_text())["text"])
    assert read[0] == read[1]


def _written(path: Path, texts: list[str]) -> Path:
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    return path


def test_a_second_reading_is_cut_like_the_first(parts: list[list[str]], tmp_path: Path) -> None:
    specs = [f"path:{_written(tmp_path / f'{place}.jsonl', part)}" for place, part in enumerate(parts)]
    text = Text.of(specs, sum(len(one.encode()) for one in parts[0]) + 500)
    feed = CorpusFeed(replace(asked("parity-bpe", texts=text.documents, vocab_size=300), parts=text.parts))
    first, second = feed.corpora(), feed.again(3)
    assert [list(one) for one in first] == [list(one) for one in second]
    assert feed.documents == text.tally.documents == len(parts[0]) + 1


@pytest.mark.parametrize(
    "options",
    [{"ratio": ("1",)}, {"ratio": ("1", "x", "2")}, {"ratio": ("1", "0", "2")}, {"ratio": ("nan", "1", "1")},
     {"parallel": True, "ratio": ("1", "1", "1")}, {"vocab_size": 100}],
)  # fmt: skip
def test_what_cannot_be_balanced_is_refused(parts: list[list[str]], options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        parity(parts, **{"vocab_size": 400, **options})


def test_one_corpus_is_plain_bpe(parts: list[list[str]]) -> None:
    trained = trainers.train("parity-bpe", asked("parity-bpe", texts=lambda: parts[0], vocab_size=300))
    assert json.loads(trained.files["tokenizer.json"])["model"]["merges"] == library_merges(parts[:1], 44)
    assert len(trained.notes) == 1


def test_a_document_that_cannot_be_read_is_named(parts: list[list[str]]) -> None:
    def broken() -> Iterator[str]:
        yield "fine"
        yield "a\ud800"

    request = asked("parity-bpe", texts=list, vocab_size=300)
    with pytest.raises(InputError, match="surrogate"):
        trainers.train("parity-bpe", replace(request, parts=lambda: [broken(), iter(parts[0])]))


@pytest.mark.parametrize(
    "options", [{}, {"normalization": "identity"}, {"split_digits": True}, {"byte_fallback": True}]
)
def test_pieces_are_those_of_the_library(options: dict[str, Any], tmp_path: Path) -> None:
    import sentencepiece

    texts = texts_of("sample:prose")
    trained = trainers.train(
        "unigram-published", asked("unigram-published", texts=lambda: texts, vocab_size=900, **options)
    )
    settings = {name.replace("normalization", "normalization_rule_name"): value for name, value in options.items()}
    written = io.BytesIO()
    sentencepiece.set_random_generator_seed(1)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([line for text in texts for line in text.split("\n") if line]), model_writer=written,
        vocab_size=900, num_threads=1, minloglevel=3, **settings,
    )  # fmt: skip
    ours, theirs = (
        sentencepiece.SentencePieceProcessor(model_proto=data)
        for data in (trained.files["tokenizer.model"], written.getvalue())
    )
    assert [ours.id_to_piece(token) for token in range(900)] == [theirs.id_to_piece(token) for token in range(900)]
    (tmp_path / "tokenizer.model").write_bytes(trained.files["tokenizer.model"])
    row = tokenizers.load(f"file:{tmp_path / 'tokenizer.model'}")
    for text in ["one  two ﬁne 1234", "x"]:
        assert row.encode_batch([text], 1).ids.tolist() == theirs.encode(text)


def test_the_command_trains_on_several_corpora(tmp_path: Path) -> None:
    done = call(
        "train", "parity-bpe", "-c", "sample:prose", "-c", "sample:code", "--vocab-size", "300", "--ratio", "1",
        "--ratio", "2", "--out", "t", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "t/tokenizer.json").is_file()
    done = call(
        "train", "parity-bpe", "-c", "sample:prose", "--vocab-size", "300", "--ratio", "0", "--out", "u", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
