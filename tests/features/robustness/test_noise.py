"""Noise: Unicode's tables, what each kind leaves, and counts against a slow reference."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call
from pyharness import tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.robustness.noise import EXTRACT_BYTES, Extract, NoiseCounts, measure
from pyharness.features.robustness.noises import BIDI_CONTROLS, CONFUSED, HOMOGLYPHS, KINDS, ZERO_WIDTH, spoiled
from pyharness.statistics.jackknife import GROUPS, paired_interval
from pyharness.statistics.samples import interval_of
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, InputError, Tokens

BENCHMARK = benchmarks()["noise"]
SEED = bytes(range(16))
PROSE = "The old corner clock said modern hours; Cécile watched 105 small boats drift home. " * 12
CHARACTERS = [chr(point) for point in range(0x3000)]


def test_bidirectional_characters_are_those_of_unicode() -> None:
    controls = [one for one in CHARACTERS if regex.fullmatch(r"\p{Bidi_Control}", one)]
    assert sorted(BIDI_CONTROLS) == controls


def test_zero_width_characters_are_formats_that_are_ignored() -> None:
    for one in ZERO_WIDTH:
        assert unicodedata.category(one) == "Cf"
        assert regex.fullmatch(r"[\p{Default_Ignorable_Code_Point}--\p{Bidi_Control}]", one, regex.V1)


def test_look_alikes_are_single_letters_of_other_scripts() -> None:
    for letter, other in HOMOGLYPHS.items():
        assert unicodedata.name(letter).startswith("LATIN")
        assert unicodedata.name(other).startswith(("GREEK", "CYRILLIC"))
        assert letter.isupper() == other.isupper()
        assert "LETTER" in unicodedata.name(other)


@pytest.mark.parametrize("kind", KINDS)
def test_noise_changes_prose_a_little_and_depends_on_the_seed(kind: str) -> None:
    noisy = spoiled(kind, PROSE, SEED)
    assert noisy != PROSE
    assert spoiled(kind, PROSE, SEED) == noisy
    assert abs(len(noisy) - len(PROSE)) < len(PROSE) / 10
    assert (spoiled(kind, PROSE, bytes(16)) == noisy) == (kind == "nfd")


@given(st.text(st.sampled_from("abcHO é1\n.中mrnl"), max_size=200), st.binary(min_size=16, max_size=16))
def test_what_noise_leaves(text: str, seed: bytes) -> None:
    noisy = {kind: spoiled(kind, text, seed) for kind in KINDS}
    back = {other: letter for letter, other in HOMOGLYPHS.items()}
    assert "".join(back.get(one, one) for one in noisy["homoglyphs"]) == text
    assert "".join(one for one in noisy["zero-width"] if one not in ZERO_WIDTH) == text
    assert "".join(one for one in noisy["bidi"] if one not in BIDI_CONTROLS) == text
    assert unicodedata.normalize("NFC", noisy["nfd"]) == unicodedata.normalize("NFC", text)
    assert noisy["case"].casefold() == text.casefold()
    assert set(noisy["typos"]) <= set(text)
    assert set(noisy["ocr"]) <= set(text) | set("".join(CONFUSED.values()))


def test_one_place_in_so_many_changes() -> None:
    noisy = spoiled("homoglyphs", "a" * 50_000, SEED)
    assert noisy.count(HOMOGLYPHS["a"]) == pytest.approx(1000, abs=150)
    words = spoiled("case", "word " * 10_000, SEED).split()
    assert words.count("WORD") == pytest.approx(1000, abs=150)
    assert len(words) == 10_000


class Folding(RawBytes):
    """Writes every text in small letters."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return super().encode_batch([text.lower() for text in texts], threads)


def counted(tokenizer: RawBytes, *texts: str) -> dict[tuple[str, str | None], Any]:
    counts = NoiseCounts()
    counts.add(tokenizer, [Extract(text, index % GROUPS, True) for index, text in enumerate(texts)], 0)
    return {(one.metric, one.part): one.value for one in measure(counts)}


def test_bytes_are_their_own_reference() -> None:
    numbers = counted(RawBytes(), PROSE, PROSE[5:])
    assert {numbers["noise_round_trips", kind] for kind in KINDS} == {1}
    assert numbers["noise_ids_kept", "zero-width"] == 1
    assert numbers["noise_ids_kept", "bidi"] == 1
    assert numbers["noise_tokens", "case"] == 1
    marks = PROSE.count("é") + PROSE[5:].count("é")
    size = len(PROSE.encode()) + len(PROSE[5:].encode())
    assert numbers["noise_tokens", "nfd"] == (size + marks) / size
    assert numbers["noise_ids_kept", "nfd"] == (size - 2 * marks) / size


def test_a_row_that_folds_case_keeps_all_ids_and_no_text() -> None:
    numbers = counted(Folding(), PROSE)
    assert (numbers["noise_ids_kept", "case"], numbers["noise_tokens", "case"]) == (1, 1)
    assert {numbers["noise_round_trips", kind] for kind in KINDS} == {0}


def test_a_text_that_noise_leaves_has_no_number() -> None:
    numbers = counted(RawBytes(), "12 + 34")
    assert numbers["noise_tokens", "typos"] is None
    assert numbers["noise_tokens", "nfd"] is None


def run(folder: Path, texts: Sequence[str], seed: int = 0) -> Findings:
    path = folder / "a.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    row = tokenizers.load("raw_bytes")
    case = Case("noise", "raw_bytes", "t", {"seed": seed})
    return BENCHMARK.run(Work(case, tokenizers.resolve("raw_bytes"), lambda: row, open_corpus(f"path:{path}"), 1))


def test_every_value_derives_again_and_has_replicates(tmp_path: Path) -> None:
    findings = run(tmp_path, [f"{number} {PROSE[number:]}" for number in range(90)])
    assert BENCHMARK.rederive is not None
    again = BENCHMARK.rederive(findings.state, Case("noise", "raw_bytes", "t"))
    assert again == Findings(findings.measurements, findings.details)
    assert {one.metric for one in findings.measurements} == set(BENCHMARK.metric_names)
    kept = [one for one in findings.measurements if one.metric != "noise_round_trips" and one.part != "nfd"]
    assert len(kept) == 2 * (len(KINDS) - 1)
    assert all(len(one.replicates) == GROUPS for one in kept)
    assert findings.details["extracts"] == 90


def test_the_order_of_documents_changes_nothing_and_the_seed_does(tmp_path: Path) -> None:
    texts = [f"{number} {PROSE[number:]}" for number in range(40)]
    findings = run(tmp_path, texts)
    assert run(tmp_path, texts[::-1]).measurements == findings.measurements
    assert run(tmp_path, texts, seed=1).measurements != findings.measurements


def test_the_sample_is_bounded(tmp_path: Path) -> None:
    findings = run(tmp_path, [f"{number} " + "long text " * 300 for number in range(300)])
    assert findings.details["extracts"] == (512 << 10) // EXTRACT_BYTES


def test_every_part_of_a_long_document_is_an_extract(tmp_path: Path) -> None:
    findings = run(tmp_path, ["".join(f"{line} {PROSE}\n" for line in range(3000))])
    assert findings.tally is not None
    assert (findings.details["extracts"], findings.tally.cut_documents) == (findings.tally.documents, 1)
    assert findings.details["changed"]["typos"] == findings.details["extracts"] > 1


def test_damaged_states_are_refused() -> None:
    arrays = NoiseCounts().arrays()
    more_kept = np.zeros_like(arrays["noise sums"])
    more_kept[3] = 1
    for wrong in ({"noise sums": more_kept}, {"noise sums": more_kept[1:]}, {"noise sums": more_kept - 2}):
        with pytest.raises(InputError):
            NoiseCounts.of_arrays({**arrays, **wrong})


def test_a_run_has_a_table_for_each_metric(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(PROSE)
    done = call("run", "-t", "raw_bytes", "-c", "path:a.txt", "-b", "noise?seed=2", "-o", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert all(title in done.stdout for title in ("Tokens under", "Ids kept", "Round trips"))
    assert call("report", "r.json", "--rederive", cwd=tmp_path).returncode == 0


def test_what_was_not_shown_to_hold_has_no_interval_and_says_why() -> None:
    counts = NoiseCounts()
    texts = [f"naïve {place} old Corner clocks said modern hours " * (2 + place % 5) for place in range(400)]
    extracts = [Extract(text, place % GROUPS, True) for place, text in enumerate(texts)]
    counts.add(RawBytes(), extracts, 0)
    of = {(one.metric, one.part): one for one in measure(counts)}
    for kind in KINDS:
        rounds = of["noise_round_trips", kind]
        assert paired_interval(rounds, rounds) is None
        assert "too few" in str(rounds.no_interval)
    decomposed, typos = of["noise_tokens", "nfd"], of["noise_tokens", "typos"]
    assert "too few" in str(decomposed.no_interval)
    assert interval_of(typos) is not None
    alike = of["noise_ids_kept", "homoglyphs"]
    assert interval_of(alike) is None
    assert "too wide" in str(alike.no_interval)
    assert len(alike.replicates) == GROUPS
    assert alike.no_pair is None
    loud = of["noise_ids_kept", "case"]
    assert interval_of(loud) is not None
    assert paired_interval(loud, of["noise_ids_kept", "typos"]) is None
    assert "too seldom" in str(loud.no_pair)
