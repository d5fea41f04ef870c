"""Hostile texts: their recipes, what breaks, the rule for growth. No test here asks a clock."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.features.serving import hostile, probe
from pyharness.features.serving.calls import RowFile
from pyharness.features.serving.growth import growth
from pyharness.features.serving.hostile import Broken, EngineProcess, KindTrial, Probe, measurements, trial_of
from pyharness.features.serving.hostile_texts import FIXED, TextRecipe, recipes, rules
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, CaseResult, InputError, Tokens, Unsupported
from pyharness.vocabularies import encodings
from pyharness.vocabularies.stages import SplitStep
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write

SIZES = [2**power for power in range(12, 21)]
FOREVER = float("inf")


# ----------------------------------------------------------------------------------------------------------- recipes


@pytest.mark.parametrize("recipe", FIXED, ids=lambda recipe: recipe.kind)
@pytest.mark.parametrize("size", [4096, 65536])
def test_a_text_has_its_size_and_comes_again(recipe: TextRecipe, size: int) -> None:
    texts = [recipe.text(size, seed) for seed in range(3)]
    assert all(size <= len(text.encode()) <= size + 12 for text in texts)
    assert len(set(texts)) == 3, "each repetition has a text of its own"
    assert texts[1] == recipe.text(size, 1)


def test_the_texts_are_the_same_everywhere() -> None:
    begins = {one.kind: hashlib.sha256(one.text(4096, 0).encode()).hexdigest()[:8] for one in FIXED}
    assert begins["one letter"] == "ec9d3c7b"
    assert begins["ideographs"] == "bcff1a8a"
    assert begins["mixed"] == "cf2f909e"


@pytest.mark.parametrize("name", sorted(encodings.PATTERNS))
def test_each_rule_has_a_text_that_one_match_takes(name: str) -> None:
    import regex

    expression = encodings.PATTERNS[name]
    made = rules([SplitStep(expression, "fancy_regex")])
    assert len(made) >= 5
    longest = []
    for recipe in made:
        text = recipe.text(2000, 0)
        assert len(text.encode()) >= 2000
        longest.append(max(len(match.group()) for match in regex.finditer(expression, text, regex.V1)))
    assert sum(one > 500 for one in longest) >= 3, "words, signs and white space are unbounded"


def test_repeats_of_repeats_have_short_texts() -> None:
    (recipe,) = rules([SplitStep("(?:(?:(?:ab){999999}){999999}){999999}", "fancy_regex")])
    assert set(recipe.text(4096, 0)) == {"a", "b", "!"}


def test_a_pattern_that_we_cannot_read_has_no_rules() -> None:
    assert rules([SplitStep(r"(?<=a)b\K", "fancy_regex")]) == []


def test_every_kind_of_file_has_recipes(tmp_path: Path) -> None:
    rows = [
        write(tmp_path, "tokenizer.json", byte_level()),
        write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)),
        write(tmp_path, "a.tiktoken", rank_data()) + "?pattern=cl100k_base",
    ]
    kinds = [[one.kind for one in recipes(RowFile.of(tokenizers.resolve(row)))] for row in rows]
    assert all(any(kind.startswith("prefixes") for kind in of_row) for of_row in kinds)
    assert [sum(kind.startswith("rule") for kind in of_row) for of_row in kinds] == [12, 0, 8]


def test_prefixes_are_those_of_the_file(tmp_path: Path) -> None:
    file = RowFile.of(tokenizers.resolve(write(tmp_path, "tokenizer.json", byte_level())))
    text = next(one for one in recipes(file) if one.kind.startswith("prefixes")).text(4096, 0)
    assert "<|endoftext|<|endoftext|" in text
    assert "<|endoftext|>" not in text


# ------------------------------------------------------------------------------------------------------------ growth


def engine(exponent: float, noise: random.Random | None = None) -> Probe:
    """An engine whose answers are a power of the size, with noise of a busy machine: it only adds."""

    def encode(text: str) -> Mapping[str, Any]:
        seconds = 1e-9 * len(text.encode()) ** exponent + 2e-6
        if noise is not None:
            seconds *= 1 + noise.expovariate(4) + (9 * noise.random() if noise.random() < 0.2 else 0)
        return {"seconds": seconds, "bytes": len(text), "tokens": 1}

    return encode


@pytest.mark.parametrize(("exponent", "found_out"), [(1.0, False), (1.1, False), (1.7, True), (2.0, True)])
def test_superlinear_engines_are_told_from_linear_ones(exponent: float, found_out: bool) -> None:
    trial = trial_of(engine(exponent), FIXED[0], SIZES, 1e9, FOREVER)
    fit = trial.fit()
    assert fit is not None
    assert fit.exponent == pytest.approx(exponent, abs=0.03)
    assert trial.confirmed is found_out


def test_one_step_of_a_cache_is_no_growth() -> None:
    def stepping(text: str) -> Mapping[str, Any]:
        size = len(text.encode())
        return {"seconds": size * 1e-9 * (1 if size < 2**18 else 6), "bytes": 0, "tokens": 1}

    assert not trial_of(stepping, FIXED[0], SIZES, 1e9, FOREVER).confirmed


def test_a_queue_that_outgrows_its_cache_is_no_growth() -> None:
    """About the least seconds of sentencepiece on prefixes of added tokens, on a busy machine."""
    fit = growth({2**14: [0.0024], 2**15: [0.0052], 2**16: [0.018], 2**17: [0.045], 2**18: [0.16]})
    assert fit is not None
    assert fit.exceeds(1.25, 2.0)
    assert not fit.exceeds(*hostile.SUPERLINEAR)


def test_noise_raises_no_alarm_and_hides_no_square() -> None:
    noise = random.Random(5)
    small = SIZES[:6]
    linear = [trial_of(engine(1.0, noise), FIXED[0], small, 1e9, FOREVER) for _ in range(examples(200))]
    square = [trial_of(engine(2.0, noise), FIXED[0], small, 1e9, FOREVER) for _ in range(examples(200))]
    assert not any(one.confirmed for one in linear)
    assert all(one.confirmed for one in square)


def test_an_alarm_that_does_not_come_again_is_none() -> None:
    calls = 0

    def once(text: str) -> Mapping[str, Any]:
        nonlocal calls
        calls += 1
        exponent = 2.0 if calls <= len(SIZES) * hostile.REPETITIONS else 1.0
        return engine(exponent)(text)

    trial = trial_of(once, FIXED[0], SIZES, 1e9, FOREVER)
    assert calls > len(SIZES) * hostile.REPETITIONS
    assert not trial.confirmed


def test_a_crash_at_the_second_look_counts() -> None:
    seen: set[str] = set()

    def crashing(text: str) -> Mapping[str, Any]:
        if len(seen) >= len(SIZES) * hostile.REPETITIONS:
            raise Broken("crash", "as planted")
        seen.add(text)
        return engine(2.0)(text)

    trial = trial_of(crashing, FIXED[0], SIZES, 1e9, FOREVER)
    assert trial.ending == "crash"
    assert trial.text is not None
    assert not trial.confirmed


@given(st.floats(0.5, 1.2), st.floats(1e-9, 1e-3))
def test_a_clean_power_below_the_rule_is_never_superlinear(exponent: float, factor: float) -> None:
    fit = growth({size: [factor * size**exponent] for size in SIZES})
    assert fit is not None
    assert not fit.exceeds(*hostile.SUPERLINEAR)


# ------------------------------------------------------------------------------------------------------ what breaks


def breaking(ending: Any, size: int) -> Probe:
    def encode(text: str) -> Mapping[str, Any]:
        if len(text.encode()) >= size:
            raise Broken(ending, "as planted")
        return engine(1.0)(text)

    return encode


@pytest.mark.parametrize("ending", ["crash", "hang", "error"])
def test_a_broken_engine_is_a_result_with_its_text(ending: str) -> None:
    trial = trial_of(breaking(ending, 2**15), FIXED[3], SIZES, 1e9, FOREVER)
    assert trial.ending == ending
    assert trial.text is not None
    assert trial.text["size"] == 2**15
    again = FIXED[3].text(trial.text["size"], trial.text["seed"])
    assert hashlib.sha256(again.encode()).hexdigest() == trial.text["sha256"]
    assert max(trial.seconds) == 2**14
    json.dumps(trial.details())


def test_slow_kinds_stop_early() -> None:
    trial = trial_of(engine(2.0), FIXED[0], SIZES, 1.0, FOREVER)
    assert trial.ending == "too slow"
    assert max(trial.seconds) < SIZES[-1]
    assert trial.confirmed


def test_nothing_is_measured_when_the_time_is_up() -> None:
    assert trial_of(breaking("crash", 0), FIXED[0], SIZES, 1.0, -FOREVER).ending == "not reached"


def test_no_call_begins_when_the_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call takes three seconds of a clock of our own: in a budget of ten, the fourth is the last that begins."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    def slow(text: str) -> Mapping[str, Any]:
        clock[0] += 3
        return {"seconds": len(text) / 1e6, "bytes": 0, "tokens": 1}

    trial = trial_of(slow, FIXED[0], SIZES, 1e9, 10.0)
    assert trial.ending == "not reached"
    assert sum(map(len, trial.seconds.values())) == 4
    assert trial_of(slow, FIXED[0], SIZES, 1e9, 10.0).seconds == {}


def test_what_no_time_is_left_to_confirm_is_not_calm(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    quadratic = engine(2.0)

    def slow(text: str) -> Mapping[str, Any]:
        clock[0] += 1
        return quadratic(text)

    trial = trial_of(slow, FIXED[0], SIZES, 1e9, len(SIZES) * hostile.REPETITIONS + 0.5)
    assert (trial.ending, trial.confirmed) == ("not reached", False)
    assert max(trial.seconds) == SIZES[-1]


def test_numbers_of_a_row() -> None:
    trials = [
        trial_of(engine(1.0), FIXED[0], SIZES, 1e9, FOREVER),
        trial_of(engine(2.0), FIXED[1], SIZES[:6], 1e9, FOREVER),
        trial_of(breaking("crash", 0), FIXED[2], SIZES, 1e9, FOREVER),
    ]
    values = {(one.metric, one.part): one.value for one in measurements(trials)}
    assert values["hostile_breaks", None] == 1
    assert values["superlinear_kinds", None] == 1
    assert ("hostile_growth", FIXED[2].kind) not in values
    details = {"kinds": {one.recipe.kind: one.details() for one in trials}}
    result = CaseResult(Case("hostile", "row", None), "ok", None, tuple(measurements(trials)), details)
    (line,) = hostile.answer([result], {})
    assert line.sign == "alarm"
    assert [entry[0] for entry in hostile.endings(result)] == [FIXED[1].kind, FIXED[2].kind]


@pytest.mark.parametrize("limit", [-FOREVER, FOREVER])
def test_what_was_not_measured_is_not_calm(limit: float) -> None:
    trial = trial_of(engine(1.0), FIXED[0], SIZES, 1e9, limit)
    details = {"kinds": {"digits": trial.details()}}
    (line,) = hostile.answer([CaseResult(Case("hostile", "row", None), "ok", None, (), details)], {})
    assert (line.sign == "calm") is (limit > 0)
    assert ("1 kind" in line.text) is (limit < 0)


@pytest.mark.parametrize("wrong", [{"largest": 13}, {"largest": 64}, {"call_seconds": 0}, {"seconds": 0}])
def test_a_parameter_out_of_range_is_named(wrong: Mapping[str, int]) -> None:
    benchmark = benchmarks()["hostile"]
    row = tokenizers.resolve("raw_bytes")
    assert benchmark.settle(benchmark.parameters, row, "cpu") == benchmark.parameters
    with pytest.raises(InputError, match=next(iter(wrong))):
        benchmark.settle({**benchmark.parameters, **wrong}, row, "cpu")


def test_all_kinds_may_break() -> None:
    trial = KindTrial(FIXED[0])
    trial.measure(breaking("crash", 0), SIZES, 0, 1.0, FOREVER)
    assert [one.metric for one in measurements([trial])] == ["hostile_breaks", "superlinear_kinds"]


# -------------------------------------------------------------------------------------------------------- processes


class Panic(BaseException):
    """As pyo3 raises it: no ``Exception``."""


class Panicking(RawBytes):
    """Panics on long texts, as tokie 0.1.4 does."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if len(texts[0]) > 10:
            raise Panic("called unwrap")
        return super().encode_batch(texts, threads)


def test_the_probe_tells_time_memory_and_tokens() -> None:
    answer = probe.encoded(RawBytes(), "é" * 100)
    assert answer["tokens"] == 200
    assert answer["seconds"] > 0
    assert answer["bytes"] >= 0


def test_the_probe_tells_a_panic_by_name() -> None:
    assert probe.encoded(Panicking(), "a" * 11)["error"].startswith("Panic")


def test_a_process_serves_and_ends() -> None:
    process = EngineProcess("raw_bytes", 60.0)
    try:
        assert process("abc")["tokens"] == 3
        assert process("é" * 1000)["tokens"] == 2000
    finally:
        process.close()
    assert process.child is None


def test_a_killed_process_is_a_crash_and_the_next_text_has_another(monkeypatch: pytest.MonkeyPatch) -> None:
    process = EngineProcess("raw_bytes", 60.0)
    try:
        process("abc")
        assert process.child is not None
        process.child.process.kill()
        with pytest.raises(Broken) as broken:
            process("abc")
        assert broken.value.ending == "crash"
        assert process("abc")["tokens"] == 3
        process.seconds = -1.0
        with pytest.raises(Broken) as broken:
            process("abc")
        assert broken.value.ending == "hang"
    finally:
        process.close()


def measured(row: str, **parameters: float) -> Any:
    spec = tokenizers.resolve(row)
    case = Case("hostile", row, None, {"largest": 14, "call_seconds": 10, "seconds": 60} | parameters)
    return benchmarks()["hostile"].run(Work(case, spec, lambda: spec.load(spec), None, 1))


def test_a_row_is_measured(tmp_path: Path) -> None:
    findings = measured(f"native+{write(tmp_path, 'tokenizer.json', byte_level())}", seconds=2)
    values = {one.metric: one.value for one in findings.measurements if one.part is None}
    assert values["hostile_breaks"] == 0
    assert "combining marks" in findings.details["kinds"]


def test_a_row_that_does_not_load_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile.EngineProcess, "_start", lambda _: (_ for _ in ()).throw(Broken("crash", "loading")))
    assert measured("raw_bytes").status == "failed"


def test_a_row_without_a_vocabulary_is_skipped() -> None:
    with pytest.raises(Unsupported):
        measured("units:word")
