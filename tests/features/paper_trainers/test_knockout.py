"""BPE-knockout: encoding with merges of several tokens, blame, knock-outs, the original's results, and its rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases.command_line import call
from cases.trained_rows import asked
from layout.thoroughness import examples
from oracles import events as oracle
from pyharness import tokenizers
from pyharness.bpe import WeightedPieces, export_model, import_model, model_of_training, save, train
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.paper_trainers.event_model import KNOCKOUT, NEVER, EventModel, load_bytes
from pyharness.features.paper_trainers.event_tokenizer import EventEncoder, EventTokenizer
from pyharness.features.paper_trainers.knockout import blame_of, events_of, knock_out, knocked_out, without
from pyharness.features.training import trainers
from pyharness.tokenizers.native import NativeBpe
from pyharness.types import HasVocabulary, InputError, TokenKind

WORDS = st.dictionaries(st.text("abc", min_size=1, max_size=12).map(str.encode), st.integers(1, 40), min_size=1,
                        max_size=12)  # fmt: skip


def base_of(words: dict[bytes, int], size: int = 290, **options: Any) -> EventModel:
    return events_of(model_of_training(train(WeightedPieces.of_bytes(words), size), "gpt2", **options), "it")


@given(WORDS, st.lists(st.text("abcd", max_size=30), min_size=1, max_size=5), st.data())
@settings(max_examples=examples(300))
def test_encoding_runs_the_first_merge_that_applies(
    words: dict[bytes, int], texts: list[str], data: st.DataObject
) -> None:
    base = base_of(words)
    made = sorted({event.after[0] for event in base.events})
    model = without(base, frozenset(data.draw(st.sets(st.sampled_from(made)) if made else st.just(set[int]()))))
    encoder, tokenizer = EventEncoder(model), EventTokenizer(model)
    never = {number for number, string in enumerate(model.strings) if encoder.encode(string) != [number]}
    for text in [*texts, *(word.decode() for word in words)]:
        tokens = encoder.encode(text.encode())
        assert never.isdisjoint(tokens)  # what its own bytes do not give, no text gives
        assert tokens == oracle.merge_lowest(text.encode(), model.events)
        assert all(model.ids[token] != NEVER for token in tokens)
        assert tokenizer.decode(tokenizer.encode_batch([text]).ids) == text.encode()


@given(WORDS, st.lists(st.text("abcd", max_size=30), min_size=1, max_size=5))
@settings(max_examples=examples(100))
def test_without_knock_outs_the_ids_are_those_of_the_base(words: dict[bytes, int], texts: list[str]) -> None:
    trained = model_of_training(train(WeightedPieces.of_bytes(words), 290), "gpt2", special=["<s>"])
    ours, theirs = EventTokenizer(events_of(trained, "it")), NativeBpe(trained)
    assert ours.encode_batch(texts).ids.tolist() == theirs.encode_batch(texts).ids.tolist()
    assert (ours.id_limit, ours.vocab_size) == (theirs.id_limit, theirs.vocab_size)


def test_merges_are_blamed_for_the_boundaries_that_they_close() -> None:
    base = base_of({b"ab": 9, b"abc": 5, b"bc": 2}, 258)  # a+b, then ab+c
    words = [GoldWord("abc", ("a", "bc")), GoldWord("abc", ("ab", "c")), GoldWord("ab", ("ab",))]
    blame = blame_of(base, words, space=False)
    assert (blame.closed, blame.wrong) == ({0: 3, 1: 2}, {0: 1, 1: 1})
    assert (blame.ratio(0), blame.ratio(1), blame.ratio(2)) == (1 / 3, 1 / 2, 0.0)
    without_ab = without(base, frozenset({256}))
    assert without_ab.events == (((97, 98, 99), (257,)),)
    blame = blame_of(without_ab, words, space=False)
    assert (blame.closed, blame.wrong) == ({0: 4}, {0: 2})  # a merge of three closes two
    assert knocked_out(base.events, frozenset()) == base.events


def test_a_word_of_several_pieces_and_of_wide_characters() -> None:
    base = base_of({" größe".encode(): 9, b"los": 9}, 270)
    blame = blame_of(base, [GoldWord("größe-los", ("größ", "e", "-los"))], space=True)
    assert sum(blame.closed.values()) == len(" größe".encode()) - 1 + len(b"los") - 1
    assert sum(blame.wrong.values()) == 1  # the boundary between pieces is nobody's


# ------------------------------------------------------------------------------------------------- the original's

ORIGINAL = json.loads((Path(__file__).parent / "knockout_original.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ORIGINAL["runs"])
def test_merges_are_those_of_the_original(name: str) -> None:
    """Made by the package bpe-knockout; ``studies/boards/event_trainers.py`` compares real text."""
    run = ORIGINAL["runs"][name]
    words = {word.encode(): weight for word, weight in ORIGINAL["words"].items()}
    base = base_of(words, ORIGINAL["vocab_size"])
    gold = [GoldWord("".join(parts), tuple(parts)) for parts in ORIGINAL["gold"]]
    base, _ = knock_out(base, gold, run["threshold"], run["iterations"], space=True)
    spelled = [[base.strings[token].decode() for token in event.before] for event in base.events]
    assert spelled == run["merges"]
    assert any(len(merge) > 2 for merge in run["merges"])
    encoder = EventEncoder(base)
    for word, tokens in run["encoded"].items():
        assert [base.strings[token].decode() for token in encoder.encode(word.encode())] == tokens


# ------------------------------------------------------------------------------------------------- rows and commands

GOLD = "walking\twalk @@ing\nwalks\twalk @@s\nkingdom\tking @@dom\nrewalk\tre @@walk\n"


@pytest.fixture
def base(tmp_path: Path) -> Path:
    words = {b" walking": 9, b" king": 7, b" walks": 4, b" rewalk": 2, b" kingdom": 5}
    trained = train(WeightedPieces.of_bytes(words), 270)
    save(model_of_training(trained, "gpt2", special=["<|end|>"]), tmp_path / "base.json")
    (tmp_path / "gold.tsv").write_text(GOLD, encoding="utf-8")
    return tmp_path / "base.json"


def boundary_recall(name: str, folder: Path) -> float:
    done = call(
        "run", "-t", f"file:{name}", "-b", "morphology?gold=gold.tsv&space=true", "--force", "-o", "m.json", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    (case,) = json.loads((folder / "m.json").read_text(encoding="utf-8"))["results"]
    return float(next(one["value"] for one in case["measurements"] if one["metric"] == "boundary_recall"))


def test_a_knocked_out_row_is_measured(base: Path, tmp_path: Path) -> None:
    done = call("train", "bpe-knockout", "-c", "path:gold.tsv", "--base", "base.json", "--iterations", "20", "--out",
                "k", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "k/training.json").read_text(encoding="utf-8"))
    trace = [json.loads(line) for line in (tmp_path / "k/knockouts.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(trace) == record["details"]["knocked_out"] > 0
    assert all(row["ratio"] == row["wrong"] / row["closed"] >= 0.5 for row in trace)
    row, before = tokenizers.load(f"file:{tmp_path / 'k'}"), tokenizers.load(f"file:{base}")
    assert isinstance(row, HasVocabulary)
    assert row.vocab_size == before.vocab_size - len(trace)
    assert row.id_limit == before.id_limit  # the others keep their ids
    kinds = row.vocabulary().kinds
    assert {TokenKind(kinds[one["id"]]) for one in trace} == {TokenKind.ABSENT}
    done = call(
        "run", "-t", "file:k/model.json", "-c", "sample:prose", "-b", "compression", "-b", "integrity", "-b",
        "reachability", "-b", "morphology?gold=gold.tsv", "-o", "r.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    cases = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))["results"]
    assert {case["status"] for case in cases} == {"ok"}
    recall = [boundary_recall(name, tmp_path) for name in ("base.json", "k/model.json")]
    assert recall[1] > recall[0]


def test_any_file_of_byte_level_bpe_is_a_base(base: Path, tmp_path: Path) -> None:
    model, texts = import_model(base), GOLD.split("\n")
    files = {"tokenizer.json": export_model(model, "tokenizer.json"), "ranks.tiktoken": export_model(model, "tiktoken")}
    expected = None
    for name, data in {"base.json": base.read_bytes(), **files}.items():
        (tmp_path / name).write_bytes(data)
        path = f"file:{tmp_path / name}" + ("?pattern=gpt2" if name.endswith("tiktoken") else "")
        done = trainers.train("bpe-knockout", asked("bpe-knockout", texts=lambda: [GOLD], base=path))
        knocked = load_bytes(done.files["model.json"], name)
        events = [[tuple(knocked.strings[one] for one in side) for side in event] for event in knocked.events]
        expected = expected or events
        assert events == expected
        assert "".join(EventTokenizer(knocked).decode(EventTokenizer(knocked).encode_batch([text]).ids).decode()
                       for text in texts) == "".join(texts)  # fmt: skip


def test_iterations_go_on_until_nothing_is_blamed(base: Path) -> None:
    once, often = (
        load_bytes(trainers.train(
            "bpe-knockout", asked("bpe-knockout", texts=lambda: [GOLD], base=str(base), iterations=iterations)
        ).files["model.json"], "it")
        for iterations in (1, 50)
    )  # fmt: skip
    gold = [GoldWord(line.split("\t")[0], tuple(line.split("\t")[1].split(" @@"))) for line in GOLD.split("\n")[:-1]]
    blame = blame_of(often, gold, space=True)
    assert all(blame.ratio(merge) < 0.5 for merge in range(len(often.events)))
    assert once.algorithm == often.algorithm == KNOCKOUT
    assert len(often.events) <= len(once.events)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("no gold words", {}), ("", {}), (GOLD, {"threshold": 0.0}), (GOLD, {"threshold": 2.0}),
        (GOLD, {"iterations": 0}), (GOLD, {"base": "/nowhere"}),
    ],
)  # fmt: skip
def test_what_cannot_be_knocked_out_is_refused(base: Path, text: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        trainers.train("bpe-knockout", asked("bpe-knockout", texts=lambda: [text], **{"base": str(base), **options}))


def test_a_base_that_is_no_byte_level_bpe_is_refused(base: Path, tmp_path: Path) -> None:
    characters = train(WeightedPieces.of_characters({"abab": 5}), 4)
    save(model_of_training(characters, "gpt2"), tmp_path / "characters.json")
    knocked = trainers.train("bpe-knockout", asked("bpe-knockout", texts=lambda: [GOLD], base=str(base)))
    (tmp_path / "events.json").write_bytes(knocked.files["model.json"])
    advice = {"characters.json": "merges characters", "gold.tsv": "", "events.json": "another file"}
    for path, said in advice.items():
        done = call("train", "bpe-knockout", "-c", "path:gold.tsv", "--base", path, "--out", "n", cwd=tmp_path)
        assert done.returncode == 2
        assert said in done.stderr
        assert "Traceback" not in done.stderr
    done = call("train", "bpe-knockout", "-c", "path:gold.tsv", "--out", "n", cwd=tmp_path)
    assert "--base" in done.stderr
    assert base.is_file()


def test_options_of_a_base_that_do_nothing_are_refused(base: Path) -> None:
    given = asked("bpe-knockout", texts=lambda: [GOLD], base=f"file:{base}?dropout=0.5&seed=1")
    with pytest.raises(InputError, match="dropout"):
        trainers.train("bpe-knockout", given)


def test_other_gold_words_give_another_file(base: Path) -> None:
    other = GOLD.replace("re @@walk", "rew @@alk")
    files = {
        trainers.train("bpe-knockout", asked("bpe-knockout", texts=lambda text=text: [text], base=str(base))).files[
            "model.json"
        ]
        for text in (GOLD, other)
    }  # fmt: skip
    assert len(files) == 2
