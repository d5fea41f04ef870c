"""From a record to points: one for each figure of a benchmark at a revision."""

from __future__ import annotations

import hashlib
import json
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pyharness.features.gate.records import GATE_KIND, dump_gate, gate_from_json
from pyharness.features.gate.types import Gate, GateVerdict, Judgement
from pyharness.features.gate.verdicts.effects import effects_of
from pyharness.features.gate.verdicts.judgements import ALLOWED
from pyharness.features.gate.verdicts.times import trimmed_interval, trimmed_mean
from pyharness.report.sheet.strings import writable
from pyharness.statistics.samples import interval_of
from pyharness.store import KIND, Record
from pyharness.store.json_values import MOST_BYTES, load, parsed
from pyharness.types import InputError

FOREIGN = "pytest-benchmark"
ASKS = "asks_about"  # in a gate's record: the benchmarks of a search or a suspicion; such a gate gives no points
LONGEST_REASON = 300  # characters
MOST_LOG = 100.0  # of a ratio: exp(100) is 3e43, and sums of a few have an exponential, too
MOST_VALUE = 1e150  # of a metric, as of a number in a gate's record
# ratio: a time over the anchor's, judged by its steps. count: memory or instructions over the anchor's, judged at once.
# exact: what a text determines. shown: times of one process, which are never judged.
Nature: TypeAlias = Literal["ratio", "count", "exact", "shown"]
_IDENTIFYING = ("machine", "cpu", "cores", "memory_bytes", "gpus")  # as a calibration's machine
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class SeriesName(NamedTuple):
    """What points of one line have in common, but for the machine."""

    nature: Nature
    suite: str
    benchmark: str  # of a run: the case
    figure: str  # of a run: the metric, and its part
    definition: str  # digest of what is measured; "" where it is not known
    anchor: str  # commit or version that all are measured against; "" without one


@dataclass(frozen=True, slots=True)
class SeriesPoint:
    """One figure at one revision: a logarithm of head / anchor, or a metric's value."""

    series: SeriesName
    value: float
    low: float | None
    high: float | None
    samples: int  # 0: not judged


@dataclass(frozen=True, slots=True)
class HistoryGap:
    """Why a gate has no points."""

    anchor: str
    reason: str


@dataclass(frozen=True, slots=True)
class KeptRecord:
    """A record as a history keeps it, and what is made of it."""

    id: str
    kind: str
    created: str
    suite: str
    machine: str
    revision: str  # commit that it measured
    content: bytes  # packed
    points: tuple[SeriesPoint, ...]
    subjects: Mapping[str, str] = field(default_factory=dict)  # of commits, as the record says
    gap: HistoryGap | None = None


def is_commit(text: str) -> bool:
    """Whether a text is the whole id of a commit."""
    return _COMMIT.fullmatch(text) is not None


def read(path: Path, revision: str = "") -> KeptRecord:
    """Read a record: of a gate, of a run, or a file of pytest-benchmark.

    Args:
        path: its file.
        revision: the commit that it measured, where the record does not say it; "": as the record says.

    Raises:
        InputError: it cannot be read, is no such record, is of an unfinished run, or names no commit.
    """
    return _entry(load(path), f"record {str(path)!r}", revision)


def entry_of_gate(gate: Gate) -> KeptRecord:
    """Make an entry of a gate that has just ended: the same that its written record gives."""
    return _entry(json.loads(dump_gate(gate)), "the record of the gate", "")


def _entry(data: Any, name: str, revision: str) -> KeptRecord:
    content = json.dumps(data, sort_keys=True, separators=(",", ":")).encode("ascii")
    return entry_of(data, content, name, revision)


def kept(packed: bytes, digest: str, revision: str, history: str) -> KeptRecord:
    """Make the entry of a kept record again; ``history`` is what messages call the history.

    Raises:
        InputError: it is damaged, too large, or not what its digest says.
    """
    try:
        content = zlib.decompressobj().decompress(packed, MOST_BYTES)
    except (zlib.error, TypeError):
        content = b""
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(f"{history} is damaged: record {digest[:12]!r} has another digest; restore a backup of it")
    try:
        data = parsed(content)
    except ValueError as error:
        raise InputError(f"{history} is damaged: record {digest[:12]!r} is not JSON: {error}") from None
    return entry_of(data, content, f"record {digest[:12]!r} of {history}", revision)


def entry_of(data: Any, content: bytes, name: str, revision: str) -> KeptRecord:
    """Make an entry of JSON values; ``name`` is what messages call the record.

    Raises:
        InputError: as ``read``.
    """
    gap = None
    if isinstance(data, dict) and data.get("kind") == GATE_KIND:
        gate = gate_from_json(data, name)
        facts, gap = _of_gate(gate, name, revision), _gap_of(gate)
    else:
        record = Record.from_json(data, name)
        if record.data["kind"] != KIND:
            raise InputError(f"{name} is no gate, run or file of pytest-benchmark: a history takes these")
        facts = _of_run(record, data, name, revision)
    kind, created, suite, environment, commit, figures, subjects = facts
    points = tuple(figures)
    for one in points:
        if not can_be_shown(one.series.nature, one.value, one.low, one.high):
            raise InputError(
                f"{name} has a value of {one.series.figure} for {one.series.benchmark!r} that is too large to be "
                "measured: measure that revision again"
            )
    machine = {fact: environment[fact] for fact in _IDENTIFYING if environment.get(fact) is not None}
    return KeptRecord(
        hashlib.sha256(content).hexdigest(), kind, whole_text(created), whole_text(suite),
        json.dumps(machine, sort_keys=True), commit, zlib.compress(content, 9), points,
        {one: whole_text(text) for one, text in subjects.items()}, gap,
    )  # fmt: skip


def whole_text(text: str) -> str:
    """Return a text that a database can hold: JSON may have halves of a surrogate pair, and NUL."""
    return str(writable(text)).replace("\0", "\\x00")


def can_be_shown(nature: str, *values: float | None) -> bool:
    """Whether values of a point, or ends of its interval, are small enough for what is computed with them."""
    most = MOST_LOG if nature in ("ratio", "count") else MOST_VALUE
    return all(value is None or abs(value) <= most for value in values)


_Facts: TypeAlias = tuple[str, str, str, Mapping[str, Any], str, Iterator[SeriesPoint], Mapping[str, str]]


def _of_gate(gate: Gate, name: str, revision: str) -> _Facts:
    sides = _sides(gate)
    version, subject = (_text(sides, "head", part) for part in ("commit", "subject"))
    commit = revision or version
    if not is_commit(commit):
        what = "a working tree with changes" if "+" in commit else "a version without a commit"
        raise InputError(f"{name} measures {what}: --revision COMMIT says where it belongs")
    silent = bool(gate.self_test.faults) or ASKS in gate.about
    points = iter(()) if silent else _gate_points(gate, _anchor_of(gate))
    environment = gate.about.get("environment")
    known = {commit: subject} if subject and commit == version else {}
    return (
        GATE_KIND, str(gate.about.get("created", "")), gate.suite, environment if isinstance(environment, dict) else {},
        commit, points, known,
    )  # fmt: skip


def _sides(gate: Gate) -> Mapping[str, Any]:
    commits = gate.about.get("commits")
    return commits if isinstance(commits, dict) else {}


def _anchor_of(gate: Gate) -> str:
    base = gate.arms.get("base")
    return whole_text(_text(_sides(gate), "base", "commit") or ("" if base is None else base.version))


def _gap_of(gate: Gate) -> HistoryGap | None:
    """Return why a gate has no points: its arms were not made, or they differed. A part says no more than the first."""
    if not gate.self_test.faults or (ASKS in gate.about and "unbuilt" not in gate.about):
        return None
    return HistoryGap(_anchor_of(gate), whole_text(gate.self_test.faults[0])[:LONGEST_REASON])


def _text(sides: Mapping[str, Any], side: str, part: str) -> str:
    facts = sides.get(side)
    value = facts.get(part, "") if isinstance(facts, dict) else ""
    return value if isinstance(value, str) else ""


def _gate_points(gate: Gate, anchor: str) -> Iterator[SeriesPoint]:
    digests = gate.about.get("definitions")
    definitions: Mapping[str, Any] = digests if isinstance(digests, dict) else {}
    for one in gate.judgements:
        if one.effect is None or one.effect <= -1 or one.verdict in (GateVerdict.FAILED, GateVerdict.INCOMPARABLE):
            continue
        definition = str(definitions.get(one.benchmark, ""))
        nature: Nature = "ratio" if one.figure == "time" else "count"
        series = SeriesName(nature, gate.suite, one.benchmark, one.figure, definition, anchor)
        if one.figure == "time":
            yield _of_launches(gate, one, series)
        else:
            apart = abs(one.values.get("head", 0.0) - one.values.get("base", 0.0))
            by_chance = apart <= ALLOWED[one.figure].least  # two processes differ by so much
            yield SeriesPoint(series, 0.0 if by_chance else math.log1p(one.effect), None, None, one.launches + 1)


def _of_launches(gate: Gate, one: Judgement, series: SeriesName) -> SeriesPoint:
    """Return the mean of all launches; of a gate that screened, its effect: what it saw chose its launches."""
    if gate.rules.fixed:
        logs = logs_of(gate, one.benchmark)
        if (interval := trimmed_interval(logs)) is not None:
            return SeriesPoint(series, trimmed_mean(logs), *interval, len(logs))
    low, high = one.interval or (-1.0, -1.0)
    known = low > -1
    return SeriesPoint(series, math.log1p(one.effect or 0.0), math.log1p(low) if known else None,
                 math.log1p(high) if known else None, 0)  # fmt: skip


def logs_of(gate: Gate, name: str) -> list[float]:
    """Return log(head / base) of each launch of a benchmark; none where the gate lacks it."""
    benchmarks = [one for one in gate.benchmarks if one.name == name]
    return [launch.log for one in benchmarks for launch in effects_of(one, gate.rounds, gate.rules).launches]


def _of_run(record: Record, data: Any, name: str, revision: str) -> _Facts:
    if not record.data["complete"]:
        raise InputError(f"{name} is of an unfinished run: finish it with pyharness run --resume, then add it")
    foreign = "commit_info" in data and "kind" not in data
    about = data["commit_info"] if foreign and isinstance(data["commit_info"], dict) else {}
    commit = revision or ("" if about.get("dirty") else str(about.get("id", "")))
    if not is_commit(commit):
        raise InputError(f"{name} names no commit: --revision COMMIT says what it measured")
    suite = str(record.data["suite"].get("name", ""))
    environment: Mapping[str, Any] = record.data["environment"]
    kind = FOREIGN if "kind" not in data else KIND
    return kind, str(record.data["created"]), suite, environment, commit, _run_points(record, suite), {}


def _run_points(record: Record, suite: str) -> Iterator[SeriesPoint]:
    metrics = record.data["metrics"]
    for result in record.results:
        text = "" if result.tally is None else result.tally.digest
        for one in result.measurements:
            if one.value is None:
                continue
            exact = metrics.get(one.metric, {}).get("deterministic") is True
            figure = one.metric if one.part is None else f"{one.metric} {one.part}"
            series = SeriesName("exact" if exact else "shown", suite, result.case.key, figure, text, "")
            low, high = interval_of(one) or (None, None)
            yield SeriesPoint(series, float(one.value), low, high, len(one.samples))
