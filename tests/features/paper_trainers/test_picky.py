"""PickyBPE: events against a reference that recounts everything and against the authors' code, and its rows."""

from __future__ import annotations

import dataclasses
import json
from itertools import pairwise, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.command_line import call
from cases.trained_rows import asked
from layout.thoroughness import examples
from oracles import events as oracle
from pyharness import tokenizers
from pyharness.bpe import TextSplitter, WeightedPieces
from pyharness.features.paper_trainers.event_model import (
    BYTES,
    KNOCKOUT,
    NEVER,
    PICKY,
    Event,
    EventModel,
    load_bytes,
    save_bytes,
)
from pyharness.features.paper_trainers.event_tokenizer import EventEncoder, EventTokenizer
from pyharness.features.paper_trainers.picky import model_of
from pyharness.features.paper_trainers.picky_training import PickyTraining
from pyharness.features.training import trainers
from pyharness.metrics import reachability
from pyharness.types import HasModelEncoder, HasVocabulary, InputError, TokenKind
from pyharness.vocabularies.own_file import digest

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=12).map(str.encode), st.integers(1, 40), max_size=12)
THRESHOLDS = st.sampled_from([0.3, 0.5, 0.6, 0.8, 0.9, 1.0])


def trained(words: dict[bytes, int], threshold: float, size: int = 300) -> PickyTraining:
    training = PickyTraining(WeightedPieces.of_bytes(words), threshold)
    while training.size < size and training.merge():
        pass
    return training


@given(WORDS, THRESHOLDS, st.integers(257, 290))
@settings(max_examples=examples(300))
def test_events_are_those_of_a_training_that_recounts_everything(
    words: dict[bytes, int], threshold: float, size: int
) -> None:
    ours, reference = trained(words, threshold, size), oracle.train(words, threshold, size)
    assert ours.events == reference.steps
    assert ours.strings == reference.strings
    assert [token for token, present in enumerate(ours.present) if present] == sorted(reference.present)
    assert ours.size == len(reference.present)


@given(WORDS, THRESHOLDS, st.lists(st.text("abcd", max_size=30), max_size=5))
@settings(max_examples=examples(300))
def test_encoding_replays_the_events_in_order(words: dict[bytes, int], threshold: float, texts: list[str]) -> None:
    training = trained(words, threshold)
    model = model_of(training, TextSplitter("gpt2"))
    encoder, tokenizer = EventEncoder(model), EventTokenizer(model)
    for text in [*texts, *(word.decode() for word in words)]:
        tokens = encoder.encode(text.encode())
        assert tokens == oracle.replay(text.encode(), training.events)
        assert all(training.present[token] for token in tokens)
        ids = tokenizer.encode_batch([text]).ids
        assert tokenizer.decode(ids) == text.encode()


@given(WORDS)
@settings(max_examples=examples(100))
def test_a_threshold_of_one_removes_nothing(words: dict[bytes, int]) -> None:
    training = trained(words, 1.0)
    assert not any(event.splits for event in training.events)
    assert all(training.present)


def test_a_token_that_is_used_up_goes_and_comes_back() -> None:
    # lo is in low alone, and goes; with los it comes back, and is used up again by neither.
    words = {b"low": 10, b"los": 4, b"lo": 3}
    training = trained(words, 0.5, 258)
    low, lo = 257, 256
    assert training.events == [
        ((ord("l"), ord("o")), (lo,)), ((lo, ord("w")), (low,)), ((lo,), (ord("l"), ord("o"))),
        ((ord("l"), ord("o")), (lo,)),
    ]  # fmt: skip
    assert training.present[256:] == [True, True]


def test_longer_tokens_than_allowed_are_not_made() -> None:
    training = PickyTraining(WeightedPieces.of_bytes({b"abcabc": 5, b"ab": 1}), 0.9, max_token_length=3)
    while training.merge():
        pass
    assert max(map(len, training.strings)) == 3


# ------------------------------------------------------------------------------------------------ models and files

LOW = EventModel(
    algorithm=PICKY, strings=(*BYTES, b"lo", b"low"), ids=(*range(256), NEVER, 256),
    events=(Event((108, 111), (256,)), Event((256, 119), (257,)), Event((256,), (108, 111))),
    splitter="gpt2", whole_pieces=True, special={"<|end|>": 257}, origin={"trained_on": "made up"},
)  # fmt: skip


def test_a_file_says_all_that_the_model_does(tmp_path: Path) -> None:
    data = save_bytes(LOW)
    assert dataclasses.asdict(load_bytes(data, "it")) == dataclasses.asdict(LOW)
    (tmp_path / "model.json").write_bytes(data)
    row = tokenizers.load(f"file:{tmp_path}")
    assert row.encode_batch(["low lo<|end|>", ""]).ids.tolist() == [256, 32, *b"lo<|end|>"]
    assert (row.vocab_size, row.id_limit, row.round_trip) == (257, 258, "exact")
    assert isinstance(row, HasVocabulary)
    assert TokenKind(row.vocabulary().kinds[257]) is TokenKind.SPECIAL
    with pytest.raises(InputError, match=r"no rules.*file:PATH"):
        tokenizers.load(f"native+file:{tmp_path}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"strings": (*BYTES[::-1], b"lo", b"low")},
        {"strings": (*BYTES, b"lo", b"lo")},
        {"strings": (*BYTES, b"", b"low")},
        {"ids": (*range(256), NEVER)},
        {"ids": (*range(256), NEVER, 255)},
        {"ids": (NEVER, *range(1, 256), NEVER, 256)},
        {"ids": (*range(256), NEVER, 1 << 22)},
        {"special": {"<s>": 256}},
        {"special": {"": 300}},
        {"events": LOW.events[:2]},  # lo would be written
        {"events": (Event((108, 111), (257,)), *LOW.events)},
        {"events": (Event((108, 111), (111, 108)),)},
        {"events": (Event((108,), (108,)),)},
        {"algorithm": KNOCKOUT},  # which never splits
    ],
)
def test_a_model_that_contradicts_itself_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        save_bytes(dataclasses.replace(LOW, **wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("events", [
    (Event((108,) * 2000, (256,)),), (Event((258,) * 1000, (256,)),), (Event((258,), (259, 259)),) * 100
])  # fmt: skip
def test_what_a_file_of_strangers_makes_large_is_refused_in_a_short_line(events: tuple[Event, ...]) -> None:
    strings, ids = (*LOW.strings, b"a" * (1 << 20), b"a" * (1 << 19)), (*LOW.ids, 300, 301)
    with pytest.raises(InputError) as refused:
        save_bytes(dataclasses.replace(LOW, strings=strings, ids=ids, events=events))
    assert len(str(refused.value)) < 300


def test_a_wrong_event_is_shown_in_a_short_line() -> None:
    strings, ids = (*LOW.strings, b"a" * 10_000), (*LOW.ids, 300)
    with pytest.raises(InputError, match="event 0") as refused:
        save_bytes(dataclasses.replace(LOW, strings=strings, ids=ids, events=(Event((258,) * 500, (256,)),)))
    assert len(str(refused.value)) < 500


PARTS = [bytes(one) for size in range(1, 5) for one in product(b"ab", repeat=size)]


@st.composite
def splits(draw: st.DrawFn) -> tuple[tuple[bytes, ...], bytes]:
    whole = draw(st.sampled_from([one for one in PARTS if len(one) > 1]))
    inside = sorted(draw(st.sets(st.integers(1, len(whole) - 1), min_size=1)))
    return tuple(whole[start:end] for start, end in pairwise([0, *inside, len(whole)])), whole


@given(st.lists(st.tuples(splits(), st.booleans()), max_size=20), st.text("ab", max_size=20))
@settings(max_examples=examples(300))
def test_any_events_are_run_once_in_their_order(
    drawn: list[tuple[tuple[tuple[bytes, ...], bytes], bool]], text: str
) -> None:
    strings = (*BYTES, *(one for one in PARTS if len(one) > 1))
    numbers = {string: number for number, string in enumerate(strings)}
    sides = [(tuple(numbers[part] for part in parts), (numbers[whole],)) for (parts, whole), _ in drawn]
    events = tuple(Event(*(side if merges else side[::-1])) for side, (_, merges) in zip(sides, drawn, strict=True))
    model = EventModel(
        algorithm=PICKY, strings=strings, ids=tuple(range(len(strings))), events=events, splitter="none"
    )  # fmt: skip
    assert EventEncoder(model).encode(text.encode()) == oracle.replay(text.encode(), events)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("events", [[[108, 111]]]), ("events", [[108, 256]]), ("events", [[[108, 999], [256]]]), ("events", "x"),
        ("algorithm", "bpe"), ("ids", [0]), ("ids", ["a"]), ("tokens", ["a"]), ("special", {"a": "b"}), ("more", 1),
        ("whole_pieces", 1), ("splitter", 5), ("dialect", "perl"),
    ],
)  # fmt: skip
def test_a_file_with_a_wrong_member_is_refused(member: str, value: object) -> None:
    content = json.loads(save_bytes(LOW))
    content[member] = value
    content["digest"] = digest({name: one for name, one in content.items() if name != "digest"})
    with pytest.raises(InputError, match="it"):
        load_bytes(json.dumps(content).encode(), "it")


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(InputError, match="damaged"):
        load_bytes(save_bytes(LOW).replace(b'"low"', b'"lox"'), "it")


def test_the_self_tokenization_test_finds_what_events_never_make() -> None:
    tokenizer = EventTokenizer(LOW)
    assert isinstance(tokenizer, HasModelEncoder)
    tested = reachability.examine_model(tokenizer, tokenizer.vocabulary())
    assert tested is not None
    assert (tested.tested, tested.failed.tolist()) == (257, [])
    more = dataclasses.replace(LOW, strings=(*LOW.strings, b"lows"), ids=(*LOW.ids, 258))
    tokenizer = EventTokenizer(more)
    tested = reachability.examine_model(tokenizer, tokenizer.vocabulary())
    assert tested is not None
    assert tested.failed.tolist() == [258]  # no event makes lows


# ---------------------------------------------------------------------------------------------- the authors' code

ORIGINAL = json.loads((Path(__file__).parent / "picky_original.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ORIGINAL["trainings"])
def test_events_are_those_of_the_authors(name: str) -> None:
    """Made by the code of the paper; ``studies/boards/event_trainers.py`` compares real text."""
    case = ORIGINAL["trainings"][name]
    words = {word.encode(): weight for word, weight in case["words"].items()}
    training = PickyTraining(WeightedPieces.of_bytes(words), case["threshold"])
    while len(training.events) < len(case["events"]) and training.merge():
        pass
    spelled = [[[training.strings[token].decode() for token in side] for side in event] for event in training.events]
    assert spelled[: len(case["events"])] == case["events"]
    assert any(len(before) == 1 for before, _ in case["events"])
    training.events[len(case["events"]) :] = []
    made = {token for event in training.events for token in event.after}
    for word, tokens in case["encoded"].items():
        replayed = oracle.replay(word.encode(), training.events)
        assert [training.strings[token].decode() for token in replayed] == tokens or tokens == [word]
        assert set(replayed) <= made | set(range(256))


# ------------------------------------------------------------------------------------------------- rows and commands


def test_a_trained_row_is_measured(tmp_path: Path) -> None:
    done = call(
        "train", "picky-bpe", "-c", "sample:prose", "--vocab-size", "600", "--threshold", "0.6", "--special",
        "<|end|>", "--out", "p", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "removed" in done.stdout
    record = json.loads((tmp_path / "p/training.json").read_text(encoding="utf-8"))
    assert record["vocab_size"] == 600
    assert record["details"]["removed_tokens"] > 0
    done = call(
        "run", "-t", "file:p/model.json", "-c", "sample:prose", "-b", "compression", "-b", "integrity", "-b",
        "reachability", "-o", "r.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cases = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["results"]
    assert {case["status"] for case in cases} == {"ok"}
    values = {one["metric"]: one["value"] for case in cases for one in case["measurements"]}
    assert values["stt_tested"] == 599


def test_the_same_text_gives_the_same_file() -> None:
    texts = ["the cat sat on the mat; the rat sat on the cat\n" * 3, "a hug, a pug"]
    files = {
        trainers.train("picky-bpe", asked("picky-bpe", texts=lambda: texts, vocab_size=280, threads=threads)).files[
            "model.json"
        ]
        for threads in (1, 2)
    }
    assert len(files) == 1


def test_a_text_that_gives_no_more_is_told() -> None:
    done = trainers.train("picky-bpe", asked("picky-bpe", texts=lambda: ["abab"], vocab_size=400))
    assert not done.complete
    assert len(done.notes) == 1


@pytest.mark.parametrize(
    "options", [("--threshold", "1.5"), ("--threshold", "nan"), ("--vocab-size", "100"), ("--pattern", "(")]
)
def test_what_cannot_be_trained_is_one_line(options: tuple[str, ...], tmp_path: Path) -> None:
    given = ("--vocab-size", "300", *options)
    done = call("train", "picky-bpe", "-c", "sample:prose", *given, "--out", "q", cwd=tmp_path)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "q").exists()
