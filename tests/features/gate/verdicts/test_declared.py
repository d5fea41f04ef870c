"""Declared changes: exact, with a ceiling and a last day; whatever else stands in the file is refused."""

from __future__ import annotations

import re
from datetime import date
from pathlib import Path

import pytest

from gating.launches import benchmark, launches
from pyharness.features.gate.types import GateRules, GateVerdict, Judgement, Waiver
from pyharness.features.gate.verdicts import waivers as declared
from pyharness.features.gate.verdicts.judgements import judge
from pyharness.types import InputError

ENTRY = """[[accepted]]
benchmark = "encode"
metric = "time"
ceiling = "8 %"
expires = 2026-12-31
reason = "offsets are kept from now on"
"""
WAIVER = Waiver("encode", "time", 0.08, "2026-12-31", "offsets are kept from now on")
TODAY = date(2026, 12, 31)  # the last day is one on which it holds
SLOWER = launches("encode", 0.05, [0.05, 0.049, 0.051, 0.05, 0.052])
RULES = GateRules(budget=0.02, launches=5)


def written(folder: Path, text: str) -> Path:
    path = folder / "gate.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_an_entry(tmp_path: Path) -> None:
    assert declared.read(written(tmp_path, ENTRY)) == (WAIVER,)
    as_text = ENTRY.replace("2026-12-31", '"2026-12-31"').replace("8 %", "8%")
    assert declared.read(written(tmp_path, as_text)) == (WAIVER,)
    assert declared.read(written(tmp_path, "")) == ()
    (found,) = declared.read(written(tmp_path, ENTRY.replace('"encode"', '"test_encode[short-1]"')))
    assert found.benchmark == "test_encode[short-1]"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[accepted]]", "off = true\n[[accepted]]", "unknown key 'off'"),
        ("[[accepted]]", "[accepted]", r"'accepted' must be tables \[\[accepted\]\]"),
        ("reason =", "because =", "entry 1: unknown key 'because'"),
        ('"encode"', '"enc*"', r"entry 1: benchmark 'enc\*' is a pattern"),
        ('"encode"', '" "', "entry 1: 'benchmark' .*empty"),
        ('"time"', '"tmie"', r"entry 1: unknown metric 'tmie'; did you mean 'time'\?"),
        ('"8 %"', "0.08", "entry 1: 'ceiling' .*empty"),
        ('"8 %"', '"8"', "entry 1: ceiling '8' .*above 0.*'8 %'"),
        ('"8 %"', '"0 %"', "entry 1: ceiling '0 %' .*above 0"),
        ('"8 %"', '"1001 %"', "at most 1000 %"),
        ('"8 %"', '"nan %"', "ceiling 'nan %' .*above 0"),
        ("2026-12-31", '"soon"', "entry 1: 'expires' .*2026-12-31"),
        ("2026-12-31", "2026-12-31T00:00:00", "entry 1: 'expires' .*2026-12-31"),
        ("expires = 2026-12-31\n", "", "entry 1: 'expires' .*2026-12-31"),
        ('"offsets are kept from now on"', '""', "entry 1: 'reason' .*empty"),
        ("[[accepted]]", ENTRY + "[[accepted]]", "entry 2: time of 'encode' .*already"),
        ("[[accepted]]", "[[accepted", r"TOML: .*line \d+"),
        ("[[accepted]]", "accepted = [1]\n[other]", "unknown key 'other'"),
    ],
)
def test_what_is_not_exact_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, ENTRY.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        declared.read(path)
    assert re.search(message, str(caught.value))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read: No such file"):
        declared.read(tmp_path / "gate.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"binary\.toml .*TOML: "):
        declared.read(tmp_path / "binary.toml")


def judged(*waivers: Waiver, today: date = TODAY) -> tuple[Judgement, tuple[str, ...]]:
    found = judge([benchmark()], SLOWER, RULES, waivers, today)
    return found[0], declared.faults(found, waivers, today)


def test_a_regression_within_the_ceiling_passes_and_says_why() -> None:
    found, faults = judged(WAIVER)
    assert (found.verdict, found.waiver, faults) == (GateVerdict.PASS, WAIVER, ())
    assert found.waiver is not None


def test_an_expired_entry_accepts_nothing_and_is_named() -> None:
    found, faults = judged(WAIVER, today=date(2027, 1, 1))
    assert (found.verdict, found.waiver) == (GateVerdict.REGRESSION, None)
    (fault,) = faults
    assert re.match(r"gate\.toml: time of 'encode': .*expired on 2026-12-31\b", fault)
    quiet = judge([benchmark()], launches("encode", 0.0, []), RULES)
    assert len(declared.faults(quiet, [WAIVER], date(2027, 1, 1))) == 1


def test_an_exceeded_ceiling_accepts_nothing_and_is_named() -> None:
    found, faults = judged(Waiver("encode", "time", 0.05, "2026-12-31", "why"))
    assert found.verdict is GateVerdict.REGRESSION
    (fault,) = faults
    assert re.match(r"gate\.toml: time of 'encode': 5\.2 % .*ceiling of 5 %", fault)


@pytest.mark.parametrize(
    "waiver", [Waiver("gone", "time", 1, "2026-12-31", ""), Waiver("encode", "memory", 1, "2026-12-31", "")]
)
def test_an_entry_for_nothing_is_named(waiver: Waiver) -> None:
    found, faults = judged(waiver)
    assert found.verdict is GateVerdict.REGRESSION
    (fault,) = faults
    assert re.match(rf"gate\.toml: {waiver.metric} of {waiver.benchmark!r}: .*\bmatches\b", fault)


def test_an_entry_for_what_could_not_be_compared_is_not_blamed() -> None:
    found = judge([benchmark()], [], RULES, [WAIVER], TODAY, {"encode": (GateVerdict.FAILED, "it crashed")})
    assert found[0].verdict is GateVerdict.FAILED
    memory = Waiver("encode", "memory", 1, "2026-12-31", "")
    assert declared.faults(found, [WAIVER, memory], TODAY) == ()
