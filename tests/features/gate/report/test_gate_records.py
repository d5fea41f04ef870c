"""Records of gates: what is written is read back as it was, and what is no record of a gate is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gating.gates import gate, judgement
from pyharness import store
from pyharness.features.gate import records as gate_records
from pyharness.features.gate.types import (
    ArmFacts,
    Gate,
    GateBenchmark,
    GateRules,
    GateVerdict,
    Judgement,
    Launch,
    Rounds,
    SelfTest,
    Timing,
    Waiver,
)
from pyharness.report import record_kinds
from pyharness.types import InputError

TEXT = st.text(max_size=8)
REAL = st.floats(-1e150, 1e150)
WHOLE = st.integers(-(10**30), 10**30)
SIDE = st.sampled_from(["base", "head"])
JSON = st.recursive(
    st.none() | st.booleans() | WHOLE | REAL | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
VALUES = st.dictionaries(TEXT, JSON, max_size=3)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
VERDICT = st.sampled_from(GateVerdict)


def several(of: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(of, max_size=3).map(tuple)


def rounds() -> st.SearchStrategy[Rounds]:
    timing = st.builds(Timing, WHOLE, WHOLE)
    counts = st.dictionaries(SIDE, WHOLE)
    return st.lists(st.tuples(timing, timing, st.booleans()), max_size=4).flatmap(
        lambda rows: st.builds(
            Rounds, TEXT, WHOLE, WHOLE, *map(st.just, tuple(zip(*rows, strict=True)) or ((), (), ())), counts, counts
        )
    )


JUDGEMENTS = st.builds(
    Judgement,
    TEXT,
    st.sampled_from(["time", "memory", "instructions"]),
    VERDICT,
    effect=st.none() | REAL,
    interval=st.none() | st.tuples(REAL, REAL),
    p=st.none() | REAL,
    budget=st.none() | REAL,
    launches=WHOLE,
    noise=st.none() | REAL,
    values=st.dictionaries(SIDE, REAL),
    reason=TEXT,
    waiver=st.none() | st.builds(Waiver, TEXT, TEXT, REAL, TEXT, TEXT),
)
ARMS = st.dictionaries(SIDE, st.builds(ArmFacts, SIDE, TEXT, TEXT, VALUES, st.dictionaries(TEXT, TEXT, max_size=3)))
RULES = st.builds(GateRules, budget=REAL, rounds=WHOLE, minutes=st.none() | REAL, strict=st.booleans())
BENCHMARKS = st.builds(GateBenchmark, TEXT, TEXT, TEXT, TEXT, WHOLE, WHOLE, VALUES, st.none() | REAL)
GATES = st.builds(
    Gate,
    suite=TEXT,
    rules=RULES,
    arms=ARMS,
    benchmarks=several(BENCHMARKS),
    launches=several(st.builds(Launch, WHOLE, SIDE)),
    rounds=several(rounds()),
    judgements=several(JUDGEMENTS),
    self_test=st.builds(SelfTest, TEXTS, VALUES),
    verdict=VERDICT,
    declaration_faults=TEXTS,
    notes=TEXTS,
    about=VALUES,
)
PLAIN = gate(judgement("encode short"), judgement("decode", "regression", 0.1), verdict="regression")


@given(GATES)
def test_a_gate_is_read_back_as_it_was(one: Gate) -> None:
    again = gate_records.gate_from_json(json.loads(gate_records.dump_gate(one)), "record")
    assert again == one
    assert gate_records.dump_gate(again) == gate_records.dump_gate(one), "types of numbers are kept, too"


LATER = {"seconds", "fewest_rounds"}  # rules that the first records of this schema do not name


def test_a_record_is_as_its_schema_says() -> None:
    data = json.loads(gate_records.dump_gate(PLAIN))
    schema = json.loads(gate_records.GATE_SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.validate(data, schema)
    assert set(schema["required"]) == set(schema["properties"]) == data.keys()
    parts = {
        "ArmFacts": data["arms"]["base"],
        "GateBenchmark": data["benchmarks"][0],
        "GateRules": data["rules"],
        "Judgement": data["judgements"][0],
        "Launch": data["launches"][0],
        "Rounds": data["rounds"][0],
        "SelfTest": data["self_test"],
    }
    for noun, part in parts.items():
        later = LATER if noun == "GateRules" else set()
        assert set(schema["$defs"][noun]["required"]) | later == part.keys()
        assert schema["$defs"][noun]["properties"].keys() == part.keys()


def test_a_record_from_before_some_rules_holds_to_the_schema_and_is_read() -> None:
    data = json.loads(gate_records.dump_gate(PLAIN))
    for name in LATER:
        del data["rules"][name]
    jsonschema.validate(data, json.loads(gate_records.GATE_SCHEMA_FILE.read_text(encoding="utf-8")))
    assert gate_records.gate_from_json(data, "record").rules == PLAIN.rules


def test_samples_are_columns_one_line_for_a_benchmark_of_a_launch() -> None:
    text = gate_records.dump_gate(PLAIN)
    data = json.loads(text)
    assert data["rounds"][0]["base"] == {"wall": [10, 11], "cpu": [9, 9]}
    assert sum('"benchmark": "encode short", "launch"' in line for line in text.splitlines()) == 1


def read(path: Path) -> object:
    other = record_kinds.read(path)
    assert isinstance(other, record_kinds.Other)
    return other.content


def test_a_record_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text(gate_records.dump_gate(PLAIN), encoding="utf-8")
    assert read(path) == PLAIN


def test_where_the_record_of_a_run_is_due_a_gate_is_named(tmp_path: Path) -> None:
    path = tmp_path / "gate.json"
    path.write_text(gate_records.dump_gate(PLAIN), encoding="utf-8")
    with pytest.raises(InputError, match=r"gate\.json.*: it is a pyharness-gate\b"):
        store.read(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e200])
def test_numbers_that_a_record_cannot_hold_are_refused(value: float) -> None:
    with pytest.raises(InputError, match="record cannot hold"):
        gate_records.dump_gate(gate(judgement("a", noise=value)))


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("kind",), "pyharness-run", "not .*record of"),
        (("schema",), 2, "reads up to 1: upgrade pyharness"),
        (("schema",), True, "its schema is true"),
        (("suite",), None, "'suite' is null; .*text"),
        (("arms",), [], r"'arms' is \[\]; .*object"),
        (("arms", "third"), {}, "'arms: name' is \"third\"; known: base, head"),
        (("arms", "base", "version"), 3, "'version' is 3; .*text"),
        (("rules", "budget"), "3%", "'budget' is \"3%\"; .*number"),
        (("rules", "rounds"), 2.5, "'rounds' is 2.5; .*whole number"),
        (("rules", "strict"), 1, "'strict' is 1; .*true or false"),
        (("launches", 0, "number"), True, "'number' is true"),
        (("rounds",), {}, "'rounds' is {}; .*list"),
        (("rounds", 0), [], r"'rounds' is \[\]; .*object"),
        (("rounds", 0, "base", "cpu"), [9], "columns of 'base' .*equally long"),
        (("rounds", 0, "base", "cpu"), [9, None], "'base: cpu' is null; .*whole number"),
        (("rounds", 0, "head_first"), [True], "base, head .*order .*equally long"),
        (("judgements", 0, "verdict"), "fine", "'verdict' is \"fine\"; known: pass, improvement"),
        (("judgements", 0, "verdict"), [], "known: pass, improvement"),
        (("judgements", 0, "interval"), [1.0], "must be a list of 2"),
        (("judgements", 0, "values"), {"base": "x"}, "'values: base' is \"x\"; .*number"),
        (("judgements", 0, "effect"), 1e200, "beyond 1e\\+150"),
        (("about", "x"), json.loads("[" * 80 + "]" * 80), "nested more than 64"),
    ],
)
def test_what_is_no_record_of_a_gate_is_refused(place: tuple[str | int, ...], value: Any, message: str) -> None:
    data: Any = copy.deepcopy(gate_records.gate_as_json(PLAIN))
    inner = data
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(InputError, match=f"^r .*{message}"):
        gate_records.gate_from_json(data, "r")


def test_fields_that_must_be_there_are_missed() -> None:
    data = json.loads(gate_records.dump_gate(PLAIN))
    for name in ("suite", "rules", "arms", "benchmarks", "launches", "rounds", "judgements", "self_test", "verdict"):
        with pytest.raises(InputError, match=f"'{name}' is missing"):
            gate_records.gate_from_json({key: value for key, value in data.items() if key != name}, "r")
