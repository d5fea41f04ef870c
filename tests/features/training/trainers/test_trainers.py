"""Trainers: every one gives a tokenizer, ours the one that counting by hand gives; bad input is refused in words."""

from __future__ import annotations

import importlib
import itertools
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.trained_rows import asked
from layout.thoroughness import examples
from pyharness import bpe, corpora, tokenizers
from pyharness.bpe.formats.own_file import load_bytes
from pyharness.bpe.training.piece_symbols import of_characters
from pyharness.features.training import trainers
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec, native
from pyharness.features.training.trainers.options import declared
from pyharness.plugins import registry
from pyharness.types import InputError, Tally, TrainingProgress

PEERS = ("rustbpe", "ffbpe", "gigatoken")


def sample() -> Iterator[str]:
    return corpora.open_corpus("sample:prose").documents(Tally())


def train(name: str, texts: Iterable[str], vocab_size: int, **options: Any) -> TrainedTokenizer:
    kept = list(texts)
    return trainers.train(name, asked(name, texts=lambda: kept, vocab_size=vocab_size, **options))


def test_a_trainer_is_found_by_name() -> None:
    assert {"bpe", "scaffold-bpe", "wordpiece", "unigram", "sentencepiece-bpe", *PEERS} <= set(trainers.specs())
    with pytest.raises(InputError, match=r"trainer 'scafold-bpe'.*'scaffold-bpe'"):
        trainers.resolve("scafold-bpe")


@pytest.mark.parametrize("spec", trainers.specs().values(), ids=lambda spec: spec.name)
def test_what_a_trainer_names_takes_its_options(spec: TrainerSpec[Any]) -> None:
    function = registry.loaded(spec.train)
    method = getattr(function, "__func__", function)
    (taken,) = get_args(get_type_hints(method, vars(sys.modules[spec.module]))["request"])
    assert issubclass(spec.options, taken)
    assert spec.base_digest is None or callable(registry.loaded(spec.base_digest))


@pytest.mark.parametrize("name", sorted(name for name, spec in trainers.specs().items() if not spec.adapts))
def test_what_is_trained_loads_and_encodes(name: str, tmp_path: Path) -> None:
    spec = trainers.resolve(name)
    if spec.extra:
        pytest.importorskip(spec.library, reason="an optional library")
    size = 600 if "pattern" in declared(spec.options) else 1500
    if spec.algorithm == "characters":
        size = 300
    trained = train(name, sample(), size, threads=2)
    assert trained.vocab_size == size
    assert trained.complete
    assert all(seconds >= 0 for seconds in trained.seconds.values())
    assert trained.details["bytes"] == sum(len(text.encode()) for text in sample())
    file, data = next(iter(trained.files.items()))
    (tmp_path / file).write_bytes(data)
    ending = "?pattern=r50k_base" if file.endswith(".tiktoken") else ""
    tokenizer = tokenizers.load(f"file:{tmp_path / file}{ending}")
    assert tokenizer.id_limit == size
    text = "The same sentence, once again."
    ids = tokenizer.encode_batch([text]).ids
    assert 0 < len(ids) < len(text) + (spec.algorithm == "characters")
    if tokenizer.round_trip == "exact":
        assert tokenizer.decode(ids) == text.encode()


@pytest.mark.parametrize("name", ["bpe", "scaffold-bpe"])
@pytest.mark.parametrize("symbols", ["bytes", "characters"])
def test_ours_give_the_same_file_for_any_number_of_threads_and_any_batches(
    name: str, symbols: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 400 if symbols == "bytes" else 2000
    first = train(name, sample(), size, symbols=symbols)
    monkeypatch.setattr("pyharness.features.training.trainers.feeding.BATCH_BYTES", 1000)
    for threads in (1, 2, 4):
        assert train(name, sample(), size, symbols=symbols, threads=threads).files == first.files


def test_ours_is_the_trainer_underneath() -> None:
    texts = list(sample())
    counter = bpe.PieceCounter(bpe.TextSplitter("cl100k"))
    counter.add(texts)
    expected = bpe.train(counter.pieces(), 500 - 1, tie_rule="first_seen", min_frequency=2, max_token_length=6)
    trained = train("bpe", texts, 500, pattern="cl100k", tie_rule="first_seen", min_frequency=2, max_token_length=6,
                  special=("<|end|>",))  # fmt: skip
    model = load_bytes(trained.files["model.json"], "model.json")
    assert [model.vocabulary[token] for token in range(499)] == [expected[token] for token in range(499)]
    assert model.special == {"<|end|>": 499}
    assert model.origin["tie_rule"] == "first_seen"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=8))
@settings(max_examples=examples(60), deadline=None)
def test_characters_are_those_of_the_pieces(texts: list[str]) -> None:
    counter = bpe.PieceCounter(bpe.TextSplitter("gpt2"))
    counter.add(texts)
    pieces = counter.pieces()
    spelled = of_characters(pieces, "zé")
    strings = [
        pieces.symbols[start:end].astype("u1").tobytes().decode()
        for start, end in zip(pieces.offsets[:-1], pieces.offsets[1:], strict=True)
    ]
    alphabet = sorted(set("zé").union(*strings))
    expected = bpe.WeightedPieces.of_characters(dict(zip(strings, pieces.weights.tolist(), strict=True)), alphabet)
    for name in ("symbols", "offsets", "weights", "data", "data_offsets"):
        assert getattr(spelled, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.parametrize("pieces", [(b"a\xff",), (b"\xc3", b"\xa9")])
def test_pieces_that_are_no_characters_are_refused(pieces: tuple[bytes, ...]) -> None:
    with pytest.raises(InputError, match="not UTF-8"):
        of_characters(bpe.WeightedPieces.of_bytes(dict.fromkeys(pieces, 1)))


def test_a_trace_has_every_event_in_order() -> None:
    trained = train("scaffold-bpe", sample(), 400, trace=True)
    rows = [json.loads(line) for line in trained.files[native.TRACE].splitlines()]
    assert [row["event"] for row in rows] == list(range(len(rows)))
    assert {row["kind"] for row in rows} <= {"demoted", "promoted"}
    out = sum(1 if row["kind"] == "demoted" else -1 for row in rows)
    assert out == trained.details["scaffold_tokens"] > 0
    assert all(bytes.fromhex(row["hex"]).decode(errors="backslashreplace") == row["text"] for row in rows)
    assert trained.files[native.TRACE].isascii()


def test_progress_says_how_far_and_what_is_left() -> None:
    seen: list[TrainingProgress] = []
    texts = list(sample()) * 20
    size = sum(len(text.encode()) for text in texts)
    train("bpe", texts, 2000, text_bytes=size, progress=seen.append)
    phases = list(dict.fromkeys(one.phase for one in seen))
    assert phases == ["counting", "merging"]
    assert all(0 <= one.fraction <= 1 for one in seen if one.fraction is not None)
    assert all(a.done <= b.done for a, b in itertools.pairwise(seen) if a.phase == b.phase)
    assert seen[-1].fraction == 1.0
    assert seen[-1].seconds_left == 0.0


def test_what_a_listener_raises_ends_the_training() -> None:
    def stop(progress: TrainingProgress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train("bpe", sample(), 500, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        train("tokenizers-bpe", sample(), 500, progress=stop)


def test_a_corpus_without_pairs_stops_early_and_says_so() -> None:
    trained = train("bpe", ["a"], 300)
    assert (trained.vocab_size, trained.merges, trained.complete) == (256, 0, False)
    assert "stopped after 0 merges" in trained.notes[0]
    trained = train("bpe", ["abab"], 2**31 - 1)
    assert (trained.vocab_size, trained.merges, trained.complete) == (258, 2, False)
    trained = train("bpe", ["abc abc"], 1000, min_frequency=2, symbols="characters", initial_alphabet="xyz")
    assert not trained.complete
    assert "at least 2 times" in trained.notes[0]


@pytest.mark.parametrize(
    ("name", "size", "options", "said"),
    [
        ("bpe", 255, {}, r"vocabulary of 255\b.*alphabet.* 256\b"),
        ("bpe", 256, {"special": ("<e>",)}, r"vocabulary of 256\b.* 257\b"),
        ("scaffold-bpe", 3, {"symbols": "characters"}, r"vocabulary of 3\b.* 8\b"),
        ("bpe", 0, {}, r"vocab_size.* 0\b"),
        ("bpe", 2**31, {}, "vocab_size.* 2,147,483,648"),
        ("bpe", 300, {"special": ("<e>", "<e>")}, "'<e>' .*twice"),
        ("bpe", 300, {"special": ("",)}, "empty"),
        ("bpe", 300, {"pattern": "gtp2"}, "did you mean 'gpt2'"),
        ("bpe", 300, {"pattern": "(a"}, "compile"),
        ("bpe", 300, {"min_frequency": 0}, r"min_frequency.* 0\b.* 1\b"),
        ("bpe", 300, {"initial_alphabet": "a"}, "initial alphabet.*'characters'"),
        ("bpe", 300, {"trace": True}, "option 'trace'.*scaffold-bpe"),
        ("scaffold-bpe", 300, {"tie_rule": "first_seen"}, "option 'tie_rule'"),
        ("unigram", 300, {"pattern": "gpt2"}, "option 'pattern'"),
        ("ffbpe", 300, {"pattern": "cl100k"}, "pattern.* 'cl100k'.*gpt2"),
        ("tokenizers-bpe", 200, {}, r"\b256\b"),
        ("tokenizers-bpe", 2**30, {}, "16,777,216"),
        ("tokenizers-unigram", 300, {"pattern": "(a"}, "compile"),
        ("wordpiece", 1, {}, r"vocabulary of 1\b"),
        ("unigram", 2**30, {}, "at most"),
        ("unigram", 100_000, {"byte_fallback": False}, r" at most \d+"),
        ("unigram", 300, {"character_coverage": 0.5}, r"character_coverage.* 0\.5\b.* 0\.98\.\.1"),
        ("unigram", 300, {"max_token_length": 1000}, r"max_token_length.* 1,000\b.* 1\.\.512"),
        ("sentencepiece-bpe", 5, {}, r"vocabulary of 5\b.* at least \d+"),
        ("bpe", 300, {"threads": 0}, r"threads.* 0\b"),
    ],
)
def test_what_cannot_be_trained_is_refused(name: str, size: int, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        train(name, ["one two three two one"], size, **options)


@pytest.mark.parametrize("name", ["bpe", "scaffold-bpe", "wordpiece", "tokenizers-bpe", "unigram", "sentencepiece-bpe"])
@pytest.mark.parametrize("texts", [[], [""]])
def test_an_empty_corpus_is_refused(name: str, texts: list[str]) -> None:
    with pytest.raises(InputError, match="no text"):
        train(name, texts, 300)


@pytest.mark.parametrize("name", ["bpe", "tokenizers-bpe", "unigram"])
def test_a_lone_surrogate_is_refused_with_its_place(name: str) -> None:
    with pytest.raises(InputError, match=r"document 2 .*surrogate.*character 2"):
        train(name, ["fine", "ab\ud800"], 300)


@pytest.mark.parametrize("name", ["bpe", "tokenizers-bpe", "sentencepiece-bpe"])
def test_what_reading_raises_is_what_training_raises(name: str) -> None:
    def texts() -> Iterator[str]:
        yield "some text"
        raise InputError("line 7 is damaged")

    with pytest.raises(InputError, match="line 7 is damaged"):
        trainers.train(name, asked(name, texts=texts, vocab_size=300))


def test_a_pattern_that_backtracks_without_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "TextSplitter", lambda pattern: bpe.TextSplitter(pattern, time_limit=0.2))
    with pytest.raises(InputError, match="backtrack"):
        train("bpe", ["a" * 40 + "b"], 300, pattern=r"(?<!x)(?:a|a)*c|(?:a|aa)+$")


def test_the_split_pattern_of_tokenizers_is_ours() -> None:
    library = pytest.importorskip("tokenizers")
    texts = ["I'll pay 12345.67 €  \r\n\n  ok\t123", "x\u00a0 'S 1234567\n", "日本語 ١٢٣٤ \U0001f642!!\r\n"]
    for pattern in bpe.SPLIT_PATTERNS:
        trained = train("tokenizers-bpe", [" ".join(texts)], 256, pattern=pattern)
        pre = library.Tokenizer.from_str(trained.files["tokenizer.json"].decode()).pre_tokenizer
        for text in texts:
            spans = [span for _, span in pre.pre_tokenize_str(text)]
            assert [text[a:b].encode() for a, b in spans] == bpe.TextSplitter(pattern).split(text)


def test_a_limited_alphabet_of_wordpiece() -> None:
    trained = train("wordpiece", ["abc abc ab xyz"], 300, limit_alphabet=2)
    vocab = json.loads(next(iter(trained.files.values())))["model"]["vocab"]
    assert {token for token in vocab if len(token) == 1} == {"a", "b"}


def test_a_vocabulary_is_never_larger_than_asked() -> None:
    with pytest.raises(InputError, match=r"vocabulary of 20\b.* 37\b"):
        train("wordpiece", ["it jumps over the brown quick fox"], 20)
    assert train("wordpiece", ["it jumps over the brown quick fox"], 37).vocab_size == 37


def test_gigatoken_leaves_no_copy_of_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("gigatoken", reason="an optional library")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def texts() -> Iterator[str]:
        for text in sample():
            assert not list(tmp_path.iterdir())
            yield text

    trained = trainers.train("gigatoken", asked("gigatoken", texts=texts, vocab_size=300))
    assert trained.vocab_size == 300


def test_a_rank_file_is_named_with_the_pattern_it_was_trained_on(tmp_path: Path) -> None:
    pytest.importorskip("rustbpe", reason="an optional library")
    trained = train("rustbpe", sample(), 300, pattern="cl100k")
    (tmp_path / "a.tiktoken").write_bytes(trained.files["ranks.tiktoken"])
    text = "I'VE 12345"
    by_name, by_expression = (
        tokenizers.load(f"file:{tmp_path / 'a.tiktoken'}?pattern={pattern}").encode_batch([text]).ids.tolist()
        for pattern in ("cl100k", "cl100k_base")
    )
    assert by_name == by_expression


def test_long_lines_keep_all_their_text() -> None:
    from pyharness.features.training.trainers import sentencepiece

    text = "word " * 1000 + "x" * 3000 + "\n\nlast"
    lines = list(sentencepiece._lines([text]))
    assert max(map(len, lines)) <= sentencepiece.LINE_CHARACTERS
    assert "".join(lines) == text.replace("\n", "")
    assert all(line.strip("x").startswith((" ", "word", "last")) or set(line) <= set("x ") for line in lines)


def test_a_library_says_when_it_has_read_everything() -> None:
    seen: list[TrainingProgress] = []
    train("tokenizers-bpe", sample(), 500, progress=seen.append)
    assert seen[0].phase == "reading"
    assert seen[-1].phase == "training"
    assert seen[-1].done == sum(len(text.encode()) for text in sample())


def test_the_public_name_has_what_plug_ins_import() -> None:
    public = importlib.import_module("pyharness.trainers")
    for name in ("Options", "TrainedTokenizer", "TrainerSpec", "TrainingRequest", "option", "options_of", "train"):
        assert getattr(public, name) is getattr(trainers, name)
    with pytest.raises(AttributeError, match="no_such_name"):
        public.no_such_name  # noqa: B018
    with pytest.raises(ModuleNotFoundError):  # not a second copy, whose classes no trainer takes
        importlib.import_module("pyharness.trainers.options")
