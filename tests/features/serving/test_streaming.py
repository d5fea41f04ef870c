"""Decoding id by id: against a UTF-8 decoder written from the standard, and with planted faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.serving import streaming
from pyharness.features.serving.growth import growth
from pyharness.features.serving.streaming import MARKS, MethodTrial, random_sequences
from pyharness.features.serving.streams import HasStream, Stream, incremental, shortest, stream, streams, whole, window
from pyharness.types import Case, CaseResult, HasVocabulary, Tokenizer
from tokenizer_files import byte_level, sentencepiece_data, write

BYTES = [bytes([byte]) for byte in range(256)]
# The Unicode Standard, table 3-7: the second byte of a character by its first, where it is not any of 80 to BF.
SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}


class Utf8Oracle:
    """Decoder of one byte after another: each longest beginning of a character that is not one is one U+FFFD."""

    def __init__(self) -> None:
        self.pending: list[int] = []
        self.needed = 0

    def step(self, byte: int) -> str:
        if self.pending:
            low, high = SECOND.get(self.pending[0], (0x80, 0xBF)) if len(self.pending) == 1 else (0x80, 0xBF)
            if low <= byte <= high:
                self.pending.append(byte)
                if len(self.pending) == self.needed:
                    return self._character()
                return ""
            self.pending = []
            return "\ufffd" + self.step(byte)
        if byte < 0x80:
            return chr(byte)
        self.needed = 2 if 0xC2 <= byte <= 0xDF else 3 if 0xE0 <= byte <= 0xEF else 4 if 0xF0 <= byte <= 0xF4 else 0
        if not self.needed:
            return "\ufffd"
        self.pending = [byte]
        return ""

    def _character(self) -> str:
        point = self.pending[0] & (0x7F >> self.needed)
        for byte in self.pending[1:]:
            point = point << 6 | byte & 0x3F
        self.pending = []
        return chr(point)

    def end(self) -> str:
        return "\ufffd" if self.pending else ""


def by_oracle(strings: Sequence[bytes], ids: Sequence[int]) -> list[str]:
    """What is known of the text after each id, and at the end."""
    oracle, text, after = Utf8Oracle(), "", []
    for token in ids:
        text += "".join(map(oracle.step, strings[token]))
        after.append(text)
    return [*after, text + oracle.end()]


def after_each(method: Stream, ids: Sequence[int]) -> list[str]:
    after: list[str] = []
    text = ""

    def watched() -> Iterator[int]:
        for number, token in enumerate(ids):
            if number:
                after.append(text)
            yield token
        if ids:
            after.append(text)

    for delta in method(watched()):
        text += delta
    return [*after, text]


def lags(got: Sequence[str], expected: Sequence[str]) -> bool:
    """Python waits for a third byte behind the halves of surrogates: a U+FFFD may come late, and nothing else may."""
    return got[-1] == expected[-1] and all(
        full.startswith(part) and not full[len(part) :].strip("\ufffd")
        for part, full in zip(got, expected, strict=True)
    )


def made(tmp_path: Path, row: str = "native") -> Tokenizer:
    return tokenizers.load(f"{row}+{write(tmp_path, 'tokenizer.json', byte_level())}")


# ----------------------------------------------------------------------------------------------------------- oracle


@given(st.lists(st.integers(0, 255), max_size=30))
def test_bytes_one_by_one(ids: list[int]) -> None:
    assert lags(after_each(incremental(BYTES), ids), by_oracle(BYTES, ids))
    assert by_oracle(BYTES, ids)[-1] == bytes(ids).decode("utf-8", "replace")


def test_random_ids_of_a_model(tmp_path: Path) -> None:
    tokenizer = made(tmp_path)
    assert isinstance(tokenizer, HasVocabulary)
    assert isinstance(tokenizer, HasStream)
    strings = tokenizer.vocabulary().strings()
    invalid = 0
    for ids in random_sequences(tokenizer, examples(10_000)):
        expected = by_oracle(strings, ids)
        assert lags(after_each(incremental(strings), ids), expected)
        assert after_each(tokenizer.decode_stream, ids)[-1] == expected[-1] == whole(tokenizer, ids)
        assert stream(window(lambda some: whole(tokenizer, some)), ids).text == expected[-1]
        invalid += "\ufffd" in expected[-1]
    assert invalid > examples(10_000) // 4


def test_streams_of_libraries(tmp_path: Path) -> None:
    row = write(tmp_path, "tokenizer.json", byte_level())
    spec = tokenizers.resolve(row)
    tokenizer = spec.load(spec)
    named = streams(spec, tokenizer)
    assert named.keys() == {"library", "bytes", "window"}
    ids = tokenizer.encode_batch(["hello wörld 東京 👩"]).ids.tolist()
    assert {stream(method, ids).fault(whole(tokenizer, ids)) for method in named.values()} == {""}


# ---------------------------------------------------------------------------------------------------- planted faults


def dropping(ids: Iterator[int]) -> Iterator[str]:
    """Lose what waits when a character of three bytes is complete."""
    for delta in incremental(BYTES)(ids):
        if delta != "東":
            yield delta


def early(ids: Iterator[int]) -> Iterator[str]:
    for token in ids:
        yield bytes([token]).decode("utf-8", "replace")


def failing(ids: Iterator[int]) -> Iterator[str]:
    for token in ids:
        if token == 0xE6:
            raise ValueError(token)
        yield ""


def stopping(ids: Iterator[int]) -> Iterator[str]:
    for delta in incremental(BYTES)(ids):
        if delta != "\ufffd":
            yield delta


TOKYO = list("Tō: 東京.".encode())


@pytest.mark.parametrize(
    ("method", "ids", "fault"),
    [
        (incremental(BYTES), TOKYO, ""),
        (dropping, TOKYO, "other text"),
        (early, TOKYO, "early U+FFFD"),
        (failing, TOKYO, "fails"),
        (stopping, TOKYO[:-2], "end is missing"),
    ],
)
def test_faults_are_named(method: Stream, ids: list[int], fault: str) -> None:
    assert stream(method, ids).fault(bytes(ids).decode("utf-8", "replace")) == fault


def test_a_witness_is_as_short_as_can_be() -> None:
    kept = shortest(dropping, TOKYO * 9, lambda ids: bytes(ids).decode("utf-8", "replace"))
    assert bytes(kept) == "東".encode()


def test_ids_that_wait_are_counted() -> None:
    assert stream(incremental(BYTES), list("a東é".encode())).held.tolist() == [0, 1, 2, 0, 1, 0]
    assert stream(incremental(BYTES), []).held.tolist() == []


@given(st.lists(st.integers(0, 255), min_size=1, max_size=40))
def test_a_step_is_timed_for_each_id(ids: list[int]) -> None:
    streamed = stream(incremental(BYTES), ids)
    assert len(streamed.steps) == len(streamed.held) == len(ids)
    assert (streamed.held <= np.arange(1, len(ids) + 1)).all()


def test_a_stream_is_stopped_when_its_time_is_up() -> None:
    assert len(stream(incremental(BYTES), [65] * 100, most_seconds=-1.0).steps) == 0


def test_quadratic_cost_is_found() -> None:
    trial, steady = MethodTrial(), MethodTrial()
    for mark in MARKS:
        trial.steps[mark] = [1e-7 + mark * 1e-9] * 9
        steady.steps[mark] = [2e-6] * 9
    assert trial.grows()
    assert not steady.grows()


@given(st.floats(0.0, 3.0), st.floats(1e-9, 1.0))
def test_exponents_are_those_of_powers(exponent: float, factor: float) -> None:
    fit = growth({2**power: [factor * 2.0 ** (power * exponent)] for power in range(12, 20)})
    assert fit is not None
    assert fit.exponent == pytest.approx(exponent, abs=1e-3)
    assert fit.low <= fit.exponent <= fit.high


def test_two_sizes_have_no_exponent() -> None:
    assert growth({1: [1.0], 2: [2.0]}) is None


# ---------------------------------------------------------------------------------------------------------- the case


def measured(row: str) -> Findings:
    spec = tokenizers.resolve(row)
    case = Case("streaming", row, "sample:prose", {"bytes": 2000, "sequences": 20})
    return benchmarks()["streaming"].run(Work(case, spec, lambda: spec.load(spec), open_corpus("sample:prose"), 1))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "MARKS", (256, 512, 1024))


@pytest.mark.usefixtures("short")
def test_a_row_is_measured(tmp_path: Path) -> None:
    findings = measured(f"native+{write(tmp_path, 'tokenizer.json', byte_level())}")
    faults = {one.part: one.value for one in findings.measurements if one.metric == "stream_faults"}
    assert faults == {"library": 0, "bytes": 0, "window": 0}
    assert {one.part for one in findings.measurements if one.metric == "stream_step_seconds"} >= {"window, step 1024"}


@pytest.mark.usefixtures("short")
def test_a_row_that_normalises_has_the_window(tmp_path: Path) -> None:
    findings = measured(write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)))
    assert findings.details["methods"].keys() == {"window"}


@pytest.mark.parametrize(("faults", "sign"), [({"end is missing, random ids": 3}, ""), ({}, "calm")])
def test_a_stream_that_cuts_is_not_calm(faults: dict[str, int], sign: str) -> None:
    details = {"methods": {"library": {"faults": faults, "witness": None, "grows": False}}}
    (line,) = streaming.answer([CaseResult(Case("streaming", "row", "a"), "ok", None, (), details)], {})
    assert line.sign == sign
    assert ("row by library" in line.text) is bool(faults)


@pytest.mark.usefixtures("short")
def test_a_fault_reaches_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "streams", lambda *_: {"early": early})
    sequences = [list("é".encode())]
    monkeypatch.setattr(streaming, "random_sequences", lambda *_: iter(sequences))
    findings = measured("raw_bytes")
    assert findings.details["methods"]["early"]["witness"]["ids"] == sequences[0]
    result = CaseResult(Case("streaming", "raw_bytes", "a"), "ok", None, findings.measurements, findings.details)
    (line,) = streaming.answer([result], {})
    assert line.sign == "alarm"
    assert [entry[0] for entry in streaming.faults(result)] == ["early"]
