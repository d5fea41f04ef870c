"""A gate as JUnit XML: a test case for each judgement, and one for each fault of the gate itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from pyharness.features.gate.report.sheets import judgement_sheet, reason, verdict_line
from pyharness.features.gate.types import Gate, GateVerdict, Judgement
from pyharness.report.sheet.strings import visible

_NOT_IN_XML = re.compile("[\ufffe\uffff]")  # control characters and lone surrogates are visible already
_OUTCOMES = {
    GateVerdict.REGRESSION: "failure",
    GateVerdict.FAILED: "error",
    GateVerdict.INCOMPARABLE: "error",
    GateVerdict.INCONCLUSIVE: "skipped",
}


@dataclass(frozen=True, slots=True)
class TestCase:
    """A test case of JUnit XML."""

    __test__ = False  # pytest would collect it

    kind: str
    name: str
    outcome: str = ""  # "": passed
    message: str = ""
    text: str = ""


def to_junit(gate: Gate) -> str:
    """Return XML: a regression is a failure, failed and incomparable are errors, inconclusive is skipped.

    Under ``strict``, inconclusive is a failure. A gate with a status other than 0 has a failure or an error.
    """
    cases = [_test_case(gate, one) for one in gate.judgements]
    cases += [TestCase("gate", "gate.toml", "failure", fault) for fault in gate.declaration_faults]
    cases += [TestCase("gate", "self-test", "error", fault) for fault in gate.self_test.faults]
    if gate.exit_code and not any(one.outcome in ("failure", "error") for one in cases):
        text = "\n".join(gate.notes)
        cases.append(TestCase("gate", "gate", "error" if gate.exit_code == 2 else "failure", verdict_line(gate), text))
    return junit_xml("pyharness gate", gate.suite or "gate", cases)


def junit_xml(program: str, suite: str, cases: list[TestCase]) -> str:
    """Return XML of one suite of test cases."""
    root = ET.Element("testsuites", {"name": program, **_counts(cases, "tests", "failures", "errors")})
    element = ET.SubElement(root, "testsuite", {"name": _clean(suite), **_counts(cases)})
    for case in cases:
        test = ET.SubElement(element, "testcase", {"classname": case.kind, "name": _clean(case.name)})
        if case.outcome == "skipped":
            ET.SubElement(test, "skipped", {"message": _clean(case.message)})
        elif case.outcome:
            ET.SubElement(test, case.outcome, {"message": _clean(case.message)}).text = _lines(case.text)
        elif case.text:
            ET.SubElement(test, "system-out").text = _lines(case.text)
    ET.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _test_case(gate: Gate, one: Judgement) -> TestCase:
    outcome = _OUTCOMES.get(one.verdict, "")
    if outcome == "skipped" and gate.rules.strict:
        outcome = "failure"
    sheet = judgement_sheet([one])
    shown = dict(zip(sheet.columns, sheet.texts[0], strict=True))
    figures = ", ".join(f"{name} {text}" for name, text in shown.items() if name not in ("benchmark", "reason"))
    return TestCase(f"gate.{one.figure}", one.benchmark, outcome, reason(one) or one.verdict.value, figures)


def _counts(cases: list[TestCase], *names: str) -> dict[str, str]:
    of = {"failures": "failure", "errors": "error", "skipped": "skipped"}
    numbers = {name: sum(case.outcome == outcome for case in cases) for name, outcome in of.items()}
    return {name: str(count) for name, count in ({"tests": len(cases)} | numbers).items() if not names or name in names}


def _lines(text: str) -> str:
    return "\n".join(map(_clean, text.split("\n")))


def _clean(text: str) -> str:
    return _NOT_IN_XML.sub("", visible(text))
