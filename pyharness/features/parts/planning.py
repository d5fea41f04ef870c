"""The plan of a run in parts: what is measured, of which files, with which versions; and whether that still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyharness import suite as suites
from pyharness.benchmarks import Role, benchmarks
from pyharness.corpora import open_corpus
from pyharness.corpora.parts import MOST_PARTS, FileListing, whole_of
from pyharness.features.parts.folder import DividedRow, Division, PartsFolder
from pyharness.running import run_record
from pyharness.running.schedule import Schedule
from pyharness.store import Misshapen
from pyharness.store.json_values import get, short
from pyharness.suite import Entry, Plan, Selection, Suite
from pyharness.system.environment import version_of
from pyharness.types import Case, InputError


@dataclass(frozen=True, slots=True)
class PartsRun:
    """A suite with all names resolved, and the folder in which it is run in parts."""

    folder: PartsFolder
    plan: Plan

    @property
    def cases(self) -> list[Case]:
        """The cases that are read in parts; rows of one library follow each other."""
        return sorted(_in_parts(self.plan), key=lambda case: self.plan.tokenizers[case.tokenizer].library)


def made(declared: Suite, parts: int, path: Path) -> PartsRun:
    """Plan a suite in parts, and write the plan into a folder; the same plan may be there already.

    Raises:
        InputError: something cannot be read in parts (it says what to do instead), or the folder has another plan.
    """
    if not 1 <= parts <= MOST_PARTS:
        raise InputError(f"{parts} parts are not possible; write a number from 1 to {MOST_PARTS:,}")
    check(declared)
    plan = suites.plan(declared)
    for name in (name for name, row in plan.tokenizers.items() if "dropout" in row.options):
        what = "ids with dropout depend on the place of a document in its batch"
        raise InputError(f"row {name!r} cannot be run in parts: {what}; leave dropout= out, or do without --parts")
    return PartsRun(PartsFolder.made(path, _divided(plan, parts)), plan)


def opened(path: Path) -> PartsRun:
    """Open the folder of a plan; raise ``InputError`` if anything that it was made of is no longer the same."""
    folder = PartsFolder.opened(path)
    plan = suites.plan(_declaration(folder.plan.suite))
    _compare(folder, _divided(plan, folder.plan.parts))
    return PartsRun(folder, plan)


def check(declared: Suite) -> None:
    """Refuse corpora and benchmarks that cannot be read in parts, before a row is trained."""
    every = benchmarks()
    counting = [one.benchmark for one in declared.selections if one.benchmark in every]
    whole = [name for name in counting if every[name].role is Role.COUNTS and every[name].corpus != "none"]
    for name in whole:
        wanted = [one for one in declared.selections if one.benchmark == name]
        reads = every[name].corpus != "optional" or any(one.corpora is not None for one in wanted)
        if reads and every[name].starts is None:
            raise InputError(f"benchmark {name!r} cannot be run in parts: it reads a whole text at once; leave it out")
    for entry in declared.corpora:
        whole_of(open_corpus(entry.spec))


def _in_parts(plan: Plan) -> Iterator[Case]:
    return (case for case in plan.cases if case.corpus is not None and benchmarks()[case.benchmark].starts is not None)


def _divided(plan: Plan, parts: int) -> Division:
    cases = tuple(case.key for case in _in_parts(plan))
    if not cases:
        names = ", ".join(
            name for name, one in benchmarks().items() if one.starts is not None and one.corpus != "parallel"
        )
        raise InputError(f"suite {plan.suite.name!r} has nothing to read in parts: its benchmarks are none of {names}")
    header = run_record.header(plan, Schedule.of(plan))
    rows = {
        label: DividedRow(
            spec=row.name, version=str(version_of(row.library)), revision=row.revision, vocabulary=row.vocabulary,
            sha256=header["files"].get(label),
        )
        for label, row in plan.tokenizers.items()
    }  # fmt: skip
    listings = {label: FileListing.of(whole_of(corpus)).digest for label, corpus in plan.corpora.items()}
    version = str(version_of("pyharness"))
    return Division(
        parts=parts, suite=plan.suite.as_json(), pyharness=version, rows=rows, listings=listings, cases=cases
    )


def _compare(folder: PartsFolder, now: Division) -> None:
    """Raise ``InputError`` for the first thing that is no longer as planned: parts would be of two runs."""
    planned = folder.plan
    advice = f"change it back, or plan again in another folder than {str(folder.path)!r}"
    if planned.pyharness != now.pyharness:
        raise InputError(f"planned with pyharness {planned.pyharness}, and this is {now.pyharness}: {advice}")
    for label, row in planned.rows.items():
        mine = now.rows.get(label)
        for name, value in asdict(row).items():
            if (current := getattr(mine, name, None)) != value:
                raise InputError(f"{name} of row {label!r} was {short(value)}, now {short(current)}: {advice}")
    for label, listing in planned.listings.items():
        if now.listings.get(label) != listing:
            raise InputError(f"the files of corpus {label!r} are not those of the plan: {advice}")
    if planned.cases != now.cases:
        raise InputError(f"the cases of the plan are not those of today: {advice}")


def _declaration(data: Mapping[str, Any]) -> Suite:
    """Return the suite that ``Suite.as_json`` wrote; raise ``InputError`` for anything else."""
    try:
        declared = Suite(
            name=get(data, "name", str),
            tokenizers=_entries(get(data, "tokenizers", dict)),
            corpora=_entries(get(data, "corpora", dict)),
            selections=tuple(map(_selection, get(data, "benchmarks", list))),
            summary=get(data, "summary", str),
            reference=get(data, "reference", str, None),
            time_limit_seconds=get(data, "time_limit_seconds", float, int),
            oversubscribe=get(data, "oversubscribe", bool),
            device=get(data, "device", str, default="cpu"),
            memory_limit=get(data, "memory_limit", int, None, default=None),
            workers=get(data, "workers", int, default=1),
        )
    except Misshapen as error:
        raise InputError(f"the plan has no suite: {error}") from None
    if declared.as_json() != data:
        raise InputError("the plan has a suite that this pyharness would not have written; plan again")
    return declared


def _entries(data: Mapping[str, Any]) -> tuple[Entry, ...]:
    return tuple(Entry(label, get(data, label, str), named=True) for label in data)


def _selection(data: Any) -> Selection:
    rows, texts = (get(data, key, list, None) for key in ("tokenizers", "corpora"))
    labels = (None if one is None else tuple(map(str, one)) for one in (rows, texts))
    return Selection(get(data, "name", str), get(data, "parameters", dict), *labels)
