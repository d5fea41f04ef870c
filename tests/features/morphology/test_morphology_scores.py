"""Scores against gold boundaries: trivial tokenizers, a slow reference, and figures of the originals."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from pyharness import tokenizers
from pyharness.benchmarks import Work
from pyharness.features.morphology.benchmark import run, score, settle
from pyharness.features.morphology.formats import GoldWord
from pyharness.features.morphology.gold import boundaries
from pyharness.features.morphology.scores import CUT, EVERY, ONE, WordScores, measure
from pyharness.statistics.jackknife import paired_interval
from pyharness.statistics.samples import lack_of
from pyharness.tokenizers.segmenting import segmenter_of
from pyharness.types import Case, InputError, Segments, offsets_of

# Words of ours with their morphemes, and GPT-2's cuts of them (each word alone).
CUTS = (
    "walk|s=wal|ks play|ing=playing un|happi|ness=un|h|appiness re|build|ing=re|building kind|ness=kind|ness "
    "work|er|s=workers under|stand|able=under|stand|able out|play|ed=out|played light|ly=lightly cloud|less=cloud|less "
    "dis|loc|ate=d|isl|ocate garden|er|s=g|arden|ers table=table water|ed=w|atered snow|flake|s=s|now|fl|akes "
    "misprint|s=mis|prints help|ful|ness=help|fulness boat=boat unpack|ing=un|packing tree|top|s=t|reet|ops "
    "brisk|ly=br|isk|ly quick|est=quick|est slow|ness=sl|own|ess over|reach=over|reach the=the"
)
PAIRS = [tuple(tuple(side.split("|")) for side in pair.split("=")) for pair in CUTS.split()]
WORDS = [GoldWord("".join(one), one, round(1 / (1 + place), 4)) for place, (one, _) in enumerate(PAIRS)]

# What the originals print for these cuts: MorphScore of 2024-11 (morph_eval), MorphScore of 2025 (get_morphscore, with
# its defaults, with those of TokEval, and between) and TkTkT of 2026-08 (compareSplits_cursors, computePrReF1).
FIRST = 0.5
SECOND = {
    (CUT, ""): (0.47368421052631576, 0.28508771929824556, 0.3617021276595745, 0.38365914786967414),
    (CUT, ", by frequency"): (0.3616044945388562, 0.23630352095474064, 0.3617021276595745, 0.38365914786967414),
    (ONE, ""): (0.6, 0.45666666666666667, 0.36363636363636365, 0.4116059379217274),
    (ONE, ", by frequency"): (0.5205843815513627, 0.4264871593291405, 0.36363636363636365, 0.4116059379217274),
}
TKTKT = {
    "": (0.4642857142857143, 0.40625, 0.4333333333333333),
    ", by frequency": (0.43204242072495114, 0.3268144718724433, 0.37213265619141755),
}


@dataclass(slots=True)
class RecordedCuts:
    """A segmenter that cuts words as recorded, and does not spell others."""

    ends: Mapping[str, Sequence[int]]
    is_causal: bool = False

    def segment_batch(self, texts: Sequence[str], threads: int = 1) -> Segments:
        del threads
        ends = [[end + text.startswith(" ") for end in self.ends.get(text.removeprefix(" "), ())] for text in texts]
        flat = np.array([end for one in ends for end in one], np.int64)
        return Segments(flat, offsets_of(np.array(list(map(len, ends)), np.int64)), np.array([not one for one in ends]))


def cut_as(pieces: Iterable[Sequence[str]]) -> RecordedCuts:
    return RecordedCuts({"".join(one): [*sorted(boundaries(tuple(one))), len("".join(one).encode())] for one in pieces})


def numbers(scores: WordScores) -> dict[tuple[str, str | None], float | int | None]:
    return {(one.metric, one.part): one.value for one in measure(scores)}


GOLD = sum(len(one.morphemes) - 1 for one in WORDS)
GPT2 = cut_as(cuts for _, cuts in PAIRS)


@pytest.mark.parametrize("space", [False, True])
def test_every_number_of_the_originals(space: bool) -> None:
    ours = numbers(score(GPT2, WORDS, space=space))
    assert ours["morphscore_1", None] == FIRST
    for (words, by), (recall, precision, micro, macro) in SECOND.items():
        assert ours["morphscore_2_recall", words + by] == pytest.approx(recall, rel=1e-14)
        assert ours["morphscore_2_precision", words + by] == pytest.approx(precision, rel=1e-14)
        assert ours["morphscore_2_f1", f"micro, {words}"] == pytest.approx(micro, rel=1e-14)
        assert ours["morphscore_2_f1", f"macro, {words}"] == pytest.approx(macro, rel=1e-14)
    for by, (precision, recall, f1) in TKTKT.items():
        assert ours["boundary_precision", f"micro, {CUT}{by}"] == pytest.approx(precision, rel=1e-14)
        assert ours["boundary_recall", f"micro, {EVERY}{by}"] == pytest.approx(recall, rel=1e-14)
        assert ours["boundary_f1", f"micro, {EVERY}{by}"] == pytest.approx(f1, rel=1e-14)


def test_bytes_have_recall_one() -> None:
    ours = numbers(score(segmenter_of(tokenizers.load("raw_bytes")), WORDS, space=False))
    assert {value for (metric, _), value in ours.items() if metric == "boundary_recall"} == {1.0}
    assert ours["morphscore_2_recall", CUT] == 1.0
    scored = [len(one.morphemes) for one in WORDS if len(one.morphemes) < 3]
    assert ours["morphscore_1", None] == scored.count(2) / len(scored)  # as the original: 0 for a word of one morpheme
    assert ours["boundary_precision", f"micro, {CUT}"] == GOLD / sum(len(one.word) - 1 for one in WORDS)


def test_whole_words_have_recall_0_or_none() -> None:
    ours = numbers(score(cut_as([one.word] for one in WORDS), WORDS, space=False))
    assert ours["one_token_share", None] == 1
    for mean in ("micro", "macro"):
        assert ours["boundary_recall", f"{mean}, {EVERY}"] == ours["boundary_f1", f"{mean}, {EVERY}"] == 0
        assert ours["boundary_recall", f"{mean}, {CUT}"] is None
        assert ours["boundary_precision", f"{mean}, {CUT}"] is None
    assert ours["morphscore_2_recall", CUT] is None
    assert ours["morphscore_2_recall", ONE] == 1  # words of one token score 1: the choice that changes rankings


def test_the_gold_boundaries_themselves_have_one() -> None:
    ours = numbers(score(cut_as(one.morphemes for one in WORDS), WORDS, space=False))
    parts = {metric: value for (metric, _), value in ours.items() if metric.startswith("boundary")}
    assert set(parts.values()) == {1.0}
    assert ours["morphscore_2_f1", f"micro, {CUT}"] == 1


WORD = st.lists(st.text(st.sampled_from("abé中"), min_size=1, max_size=3), min_size=1, max_size=4)


@given(st.lists(st.tuples(WORD, st.integers(0, 255)), min_size=1, max_size=12))
def test_means_agree_with_a_slow_reference(given_words: list[tuple[list[str], int]]) -> None:
    words, cuts = [], {}
    for morphemes, mask in given_words:
        word = "".join(morphemes)
        inner = [len(word[:place].encode()) for place in range(1, len(word)) if mask >> (place % 8) & 1]
        words.append(GoldWord(word, tuple(morphemes)))
        cuts[word] = [*inner, len(word.encode())]
    ours = numbers(score(RecordedCuts(cuts), words, space=False))
    for only_cut, name in ((False, EVERY), (True, CUT)):
        rows = [(boundaries(one.morphemes), set(cuts[one.word][:-1])) for one in words]
        rows = [(wanted, cut) for wanted, cut in rows if cut or not only_cut]
        recalls = [len(wanted & cut) / len(wanted) for wanted, cut in rows if wanted]
        micro = sum(len(wanted & cut) for wanted, cut in rows), sum(len(wanted) for wanted, _ in rows)
        same(ours["boundary_recall", f"micro, {name}"], micro[0] / micro[1] if micro[1] else None)
        same(ours["boundary_recall", f"macro, {name}"], sum(recalls) / len(recalls) if recalls else None)


def same(one: float | int | None, other: float | None) -> None:
    assert (one is None) == (other is None)
    assert one is None or other is None or math.isclose(one, other, rel_tol=1e-12)


def test_words_that_tokens_do_not_spell_are_left_out() -> None:
    some = score(cut_as(cuts for _, cuts in PAIRS[3:]), WORDS, space=False)
    assert some.unspelled == 3
    assert list(measure(some)) == list(measure(score(GPT2, WORDS[3:], space=False)))


def test_a_run_says_what_is_left_out_and_derives_again(tmp_path: Path) -> None:
    (tmp_path / "gold.tsv").write_text("".join(f"{one.word}\t{' @@'.join(one.morphemes)}\n" for one in WORDS))
    done = call(
        "run", "-t", "raw_bytes", "-b", "morphology?gold=gold.tsv&space=false,true", "-o", "r.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for case in json.loads((tmp_path / "r.json").read_text())["results"]:
        assert (case["details"]["unspelled"], case["details"]["gold"]["left out"]) == (0, {})
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


@given(st.integers(0, 4), st.integers(-2, 40))
def test_a_damaged_state_is_refused_or_read(column: int, value: int) -> None:
    arrays = {name: array.astype(np.int64) for name, array in score(GPT2, WORDS, space=False).arrays().items()}
    arrays["gold outcomes"][3, column] = value
    try:
        read = WordScores.of_arrays(arrays)
    except InputError:
        return
    assert list(measure(read))


def test_intervals_are_over_words() -> None:
    many = [GoldWord(f"w{place}s", (f"w{place}", "s")) for place in range(400)]
    cuts = RecordedCuts({one.word: [len(one.word) - 1 - place % 2, len(one.word)] for place, one in enumerate(many)})
    recall = next(one for one in measure(score(cuts, many, space=False)) if one.metric == "boundary_recall")
    assert len(recall.replicates) == 32


def test_numbers_by_frequency_have_no_interval_and_say_why() -> None:
    many = [GoldWord(f"w{place}s", (f"w{place}", "s"), 1.0 + place) for place in range(400)]
    cuts = RecordedCuts({one.word: [len(one.word) - 1 - place % 2, len(one.word)] for place, one in enumerate(many)})
    given = list(measure(score(cuts, many, space=False)))
    weighted = [one for one in given if (one.part or "").endswith(", by frequency")]
    assert len(weighted) == 14
    assert all(one.value is not None and "frequent words decide" in str(lack_of(one)) for one in weighted)
    assert not any(paired_interval(one, one) for one in weighted)
    assert all("frequent" not in str(lack_of(one)) for one in given if one not in weighted)


def test_a_changed_gold_file_is_another_case_and_ends_a_run(tmp_path: Path) -> None:
    gold, spec = tmp_path / "gold.tsv", tokenizers.resolve("raw_bytes")

    def settled() -> Case:
        return Case("morphology", "raw_bytes", None, settle({"gold": str(gold), "space": False}, spec, "cpu"))

    gold.write_text("walks\twalk @@s\n")
    case = settled()
    assert settled().key == case.key
    gold.write_text("walls\twall @@s\n")
    os.utime(gold, ns=(0, 0))
    assert settled().key != case.key
    with pytest.raises(InputError, match=r"gold\.tsv.* has changed"):
        run(Work(case, spec, lambda: tokenizers.load("raw_bytes"), None, 1))
    assert "gold.txt" in refused("run", "-t", "raw_bytes", "-b", "morphology?gold=gold.txt", cwd=tmp_path)
