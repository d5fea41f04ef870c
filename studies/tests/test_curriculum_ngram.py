"""The tier without networks: symbol models of the tokens of a curriculum, BPE and random groups, on a made text."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curriculum import __main__ as program
from curriculum import ngram, ngram_tables
from curriculum.ngram import CURRICULUM, EPSILONS, PARTS, RANDOM, SYMBOLS, Source, Tier, method
from curriculum.scoring import Passage
from pyharness.features.curriculum.model import CurriculumModel
from pyharness.features.curriculum.tokenizer import CurriculumTokenizer
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.types import Tokens
from small_model.results import Key, Results


def made_text(seed: int, words: int = 300) -> str:
    chance = random.Random(seed)
    syllables = ["ba", "co", "di", "fu", "ge", "ha"]
    kept = random.Random(0)
    lexicon = ["".join(kept.choices(syllables, k=kept.randint(1, 4))) for _ in range(40)]
    return " ".join(chance.choices(lexicon, k=words))


@pytest.fixture(scope="module")
def source() -> Source:
    passages = [Passage(made_text(100 + group)[:200], group) for group in range(6)]
    return Source("made", [made_text(seed) for seed in range(24)], passages)


def test_scored_are_tokens_behind_what_is_given_and_before_the_end() -> None:
    model = CurriculumModel(strings=(*(bytes([b]) for b in range(256)), b"ab"), sizes=(256, 257))
    tokenizer = CurriculumTokenizer(model)
    tokens = tokenizer.encode_batch(["abacabad" * 9])
    symbols = SymbolModel.train([(tokens.ids, tokens.offsets)], 257, 3)
    text = "abacabadé" * 12  # 120 bytes, 108 characters
    found = ngram.score(symbols, tokenizer, [Passage(text, 1), Passage("ab", 0)])
    ids = tokenizer.encode_batch([text]).ids
    sizes = np.where(ids == 256, 2, 1)
    starts = np.cumsum(sizes) - sizes
    asked = (starts >= 64) & (starts < 120 - 32)
    assert found["nats"] == pytest.approx([0, symbols.score(ids, np.array([0, len(ids)])).nll[asked].sum()])
    assert found["characters"] == pytest.approx([0, sizes[asked].sum() * 108 / 120])


def test_random_groups_stay_in_their_document() -> None:
    tokens = Tokens(np.arange(10, dtype=np.uint32), np.array([0, 3, 10]))
    chance = random.Random(1)
    drawn = [ngram._drawn(tokens, 3, chance) for _ in range(200)]
    assert {one[0] for one in drawn} == {0, 3, 4, 5, 6}
    assert all(b - a == 1 for one in drawn for a, b in pairwise(one))


def test_a_run_that_is_ended_goes_on_and_its_tables_say_what_is_tested(source: Source, tmp_path: Path) -> None:
    results = Results(tmp_path / "results.gz", {"bytes": 1})
    Tier(source, results, seeds=2).run()
    lines = dict(results.lines)
    rounds = max(int(key.stage.split()[1]) for key in lines if key.method == method("made", CURRICULUM))
    sizes = [lines[Key(0, method("made", CURRICULUM), f"round {number}")]["ids"] for number in range(1, rounds + 1)]
    for way, seed in (("BPE", 0), (RANDOM, 0), (RANDOM, 1)):
        assert sizes == [lines[Key(seed, method("made", way), f"round {n}")]["ids"] for n in range(1, rounds + 1)]
    assert (
        lines[Key(0, method("made", RANDOM), "round 1")]["fixed"]
        != lines[Key(1, method("made", RANDOM), "round 1")]["fixed"]
    )
    shares = [lines[Key(0, method("made", SYMBOLS, part), "round 0")]["bytes"] for part in range(1, PARTS + 1)]
    assert shares == sorted(set(shares))
    assert shares[-1] == sum(map(len, source.documents))
    report = ngram_tables.report(results)
    assert "not testable here, because there is no network" in report
    assert "| as published: every point has more text, bytes the least |" in report

    for key in list(lines)[len(EPSILONS) :]:
        del results.lines[key]
    Tier(source, results, seeds=2).run()
    assert {key: line["fixed"] for key, line in results.lines.items()} == {k: v["fixed"] for k, v in lines.items()}


def test_the_command_reads_a_text_and_refuses_what_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(made_text(seed, 60) for seed in range(120)), encoding="utf-8")
    options = ["--tier", "ngram", "--text", f"path:{text}?split=line", "--work-field", "", "--bytes", "20000"]
    monkeypatch.setattr("sys.argv", ["curriculum", *options, "--seeds", "1", "--results", str(tmp_path / "results.gz")])
    program.main()
    said = capsys.readouterr().out
    assert "### text: growth" in said
    other = ["--tier", "small", "--tables", "--results", str(tmp_path / "results.gz")]
    monkeypatch.setattr("sys.argv", ["curriculum", *other])
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "is of another tier; name another file with --results" in capsys.readouterr().err
    monkeypatch.setattr(
        "sys.argv", ["curriculum", "--tier", "ngram", "--tables", "--results", str(tmp_path / "none.gz")]
    )
    with pytest.raises(SystemExit, match="2"):
        program.main()
    assert "has nothing yet; leave --tables out to measure" in capsys.readouterr().err
