"""The curriculum's rounds are those of its definition, over the signal of a symbol model; what cannot be is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cases.trained_rows import asked
from oracles import curriculum as oracle
from pyharness import corpora
from pyharness.features.curriculum import trainer as trainer
from pyharness.features.curriculum.declarations import CurriculumOptions
from pyharness.features.curriculum.model import CurriculumModel, load_bytes
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.training import trainers
from pyharness.features.training.recipe import Recipe
from pyharness.features.training.trainers import TrainedTokenizer
from pyharness.types import InputError, Tally, Tokens

TEXTS = list(corpora.open_corpus("sample:prose").documents(Tally()))[:30]


def train(texts: list[str] = TEXTS, **options: Any) -> TrainedTokenizer:
    return trainers.train("curriculum", asked("curriculum", texts=lambda: texts, **options))


def model_of(trained: TrainedTokenizer) -> CurriculumModel:
    return load_bytes(trained.files["model.json"], "it")


def by_definition(texts: list[str], options: CurriculumOptions) -> list[str]:
    """Strings of a vocabulary over characters, by the slow references alone but for the symbol model."""
    vocabulary = dict(enumerate(sorted(set("".join(texts)))))
    for _ in range(options.rounds):
        tokens = Tokens.from_lists([oracle.encode(text, vocabulary) for text in texts])
        model = SymbolModel.train([(tokens.ids, tokens.offsets)], len(vocabulary), options.order)
        scores = model.score(tokens.ids, tokens.offsets)
        signal = scores.entropy if options.signal == "entropy" else scores.nll
        found = list[oracle.Group]()
        for start, end in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True):
            ids, values = tokens.ids[start:end].tolist(), signal[start:end].tolist()
            found += oracle.groups(ids, values, options.epsilon, options.row_quantile, options.strict)
        taken = [group for group, _ in oracle.selected(found, options.per_round)]
        vocabulary, _ = oracle.expand(vocabulary, taken)
    return list(vocabulary.values())


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 3, "epsilon": 1.5, "per_round": 40, "order": 3},
        {"rounds": 2, "epsilon": 1.0, "per_round": 500, "order": 4, "signal": "nll", "row_quantile": 0.6},
        {"rounds": 2, "epsilon": 2.0, "per_round": 30, "order": 2, "strict": True},
    ],
    ids=["entropy", "nll", "strict"],
)
def test_rounds_are_those_of_the_definition(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [text[:1500] for text in TEXTS[:6]]
    monkeypatch.setattr(trainer, "AT_ONCE", 1000)  # several batches
    trained = train(texts, symbols="characters", **options)
    request = asked("curriculum", texts=lambda: texts, symbols="characters", **options)
    assert [string.decode() for string in model_of(trained).strings] == by_definition(texts, request.options)


def test_what_is_said_of_the_rounds_is_so() -> None:
    trained = train(rounds=2, per_round=20, epsilon=1.0, order=3)
    model, rounds = model_of(trained), trained.details["rounds"]
    assert list(model.sizes) == trained.details["sizes"]
    assert [one["vocabulary"] for one in rounds] == list(model.sizes[:-1])
    assert [one["added"] for one in rounds] == np.diff(model.sizes).tolist()
    size = sum(len(text.encode()) for text in TEXTS)
    for one in rounds:
        tokens = CurriculumTokenizer(model.truncated(one["vocabulary"])).encode_batch(TEXTS)
        assert (one["tokens"], one["bytes"]) == (len(tokens.ids), size)
        scores = SymbolModel.train([(tokens.ids, tokens.offsets)], one["vocabulary"], 3).score(*_arrays(tokens))
        assert one["nll"] == pytest.approx(scores.nll.mean() / np.log(2))
        assert one["entropy"] == pytest.approx(scores.entropy.mean() / np.log(2))
        assert one["bits_per_byte"] == pytest.approx(scores.nll.sum() / np.log(2) / size)
        assert one["groups"] >= one["distinct_groups"] >= one["selected_groups"] == 20
        assert set(one["seconds"]) == set(trainer.PHASES)
    assert trained.details["tokens"] == len(CurriculumTokenizer(model).encode_batch(TEXTS).ids)
    assert trained.details["tokens"] < rounds[1]["tokens"] < rounds[0]["tokens"] == size


def _arrays(tokens: Tokens) -> tuple[Any, Any]:
    return tokens.ids, tokens.offsets


def test_a_smaller_vocabulary_is_the_beginning_of_a_larger_one() -> None:
    whole = train(rounds=3, per_round=100, epsilon=1.0)
    some = train(rounds=3, per_round=100, epsilon=1.0, vocab_size=400, special=("<s>",))
    strings = model_of(whole).strings
    assert len(strings) > 450
    assert model_of(some).strings == strings[:399]
    assert (some.vocab_size, some.complete, model_of(some).special) == (400, True, ("<s>",))
    short = train(rounds=1, per_round=3, epsilon=1.0, vocab_size=4000)
    assert (short.complete, short.vocab_size < 400) == (False, True)
    assert any("4,000" in note and "rounds=" in note for note in short.notes)


def test_threads_do_not_change_a_byte() -> None:
    options: dict[str, Any] = {"rounds": 2, "epsilon": 1.0, "per_round": 200}
    assert train(**options, threads=1).files == train(**options, threads=4).files


def test_a_shuffle_takes_other_groups() -> None:
    options: dict[str, Any] = {"rounds": 1, "epsilon": 1.0, "per_round": 50}
    first, again = (model_of(train(**options, selection="shuffle", seed=3)) for _ in range(2))
    assert first.strings == again.strings
    assert first.strings != model_of(train(**options, selection="shuffle", seed=4)).strings
    assert first.strings != model_of(train(**options)).strings


def test_rounds_that_add_nothing_end_it() -> None:
    trained = train(epsilon=1e-9)
    assert (trained.vocab_size, trained.complete, len(trained.details["rounds"])) == (256, False, 1)
    assert "stopped in round 1, which added nothing" in trained.notes
    for epsilon, more in ((1e-9, False), (3.0, True)):  # more rounds would add nothing, either; or something
        (note,) = (note for note in train(epsilon=epsilon, rounds=1, vocab_size=5000).notes if "5,000" in note)
        assert ("rounds=" in note, "epsilon=" in note) == (more, True)
    assert model_of(trained).sizes == (256,)


def test_no_token_is_longer_than_asked() -> None:
    texts = ["=" * 300 + "x"] * 20
    assert max(map(len, model_of(train(texts, epsilon=3.0)).strings)) > 100
    assert max(map(len, model_of(train(texts, epsilon=3.0, max_token_length=7)).strings)) == 7


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0.0}, "epsilon is 0;.*entropy.*above 0"),
        ({"epsilon": float("nan")}, "epsilon is nan"),
        ({"epsilon": -1.0, "signal": "nll"}, "epsilon is -1;.* nll .*above 0"),
        ({"vocab_size": 255}, r"vocabulary of 255\b.*\b256 bytes"),
        ({"vocab_size": 256, "special": ("<s>",)}, r"256 bytes.*\b1 special.*\b257"),
        ({"vocab_size": 20, "symbols": "characters"}, r"vocabulary of 20\b.*alphabet of"),
        ({"rounds": 0}, "rounds is 0"),
        ({"per_round": 1 << 40}, "per_round is 1,099,511,627,776"),
        ({"order": 6}, r"order is 6;.*\b1\.\.5"),
        ({"row_quantile": 1.5}, r"row_quantile is 1\.5"),
        ({"signal": "loss"}, "signal is 'loss'; it must be entropy or nll"),
        ({"selection": "best"}, "selection is 'best'"),
        ({"seed": 3}, "seed= .*selection=shuffle"),
        ({"unknown": "?"}, "for symbols 'characters'"),
        ({"pattern": "gpt2"}, "pattern is 'gpt2'; it must be none"),
        ({"tie_rule": "lexicographic"}, "has no option 'tie_rule'"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        train(**options)


def test_no_text_and_too_much_text_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"corpus .*no text"):
        train(["", ""])
    monkeypatch.setattr(trainer, "MOST_TEXT", 10)
    with pytest.raises(InputError, match=r"\b10 bytes.*max_bytes"):
        train(["0123456789", "0"])


def test_a_row_needs_no_size_and_keeps_its_options() -> None:
    recipe = Recipe.of("curriculum", {"corpus": "sample", "epsilon": "0.5", "rounds": "2", "strict": "1"})
    assert recipe.options == {"epsilon": 0.5, "rounds": 2, "strict": True}
    with pytest.raises(InputError, match="'trained:bpe' lacks vocab_size="):
        Recipe.of("bpe", {"corpus": "sample"})
    with pytest.raises(InputError, match="epsilon is 0"):
        Recipe.of("curriculum", {"corpus": "sample", "epsilon": "0"})
