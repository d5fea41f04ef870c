"""pyharness for Python and notebooks: ``run`` returns a result that displays itself and converts to a DataFrame."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyharness import report, store, suite
from pyharness.commands import notebook
from pyharness.report import comparison
from pyharness.report import page as pages
from pyharness.report.exporters.data import to_frame
from pyharness.running import runner
from pyharness.running.progress import Deadline, Listener
from pyharness.system import atomic_file
from pyharness.types import Case, CaseResult, InputError, TrainingProgress

if TYPE_CHECKING:
    import pandas as pd

ADVICE = "pass overwrite=True to replace it, or another path"


class SilentListener:
    """A listener that ignores every event."""

    def preparing(self, row: str, progress: TrainingProgress) -> None:
        """Ignore the event."""

    def begin(self, total: int) -> None:
        """Ignore the event."""

    def started(self, case: Case) -> None:
        """Ignore the event."""

    def progress(self, case: Case, done: int) -> None:
        """Ignore the event."""

    def remaining(self, seconds: float) -> None:
        """Ignore the event."""

    def finished(self, result: CaseResult) -> None:
        """Ignore the event."""


@dataclass(frozen=True, repr=False)
class Result:
    """A finished run: prints as tables, and displays itself in a notebook."""

    record: store.Record
    state: bytes | None = field(default=None, repr=False)  # of a record without a file

    def to_dataframe(self) -> pd.DataFrame:
        """Return one row per number, with its interval."""
        return to_frame(report.flat_sheet(self.record))

    def compare(self, first: str, second: str, *others: str) -> pd.DataFrame:
        """Return paired differences of tokenizers of this run, each from the first: one row per number.

        Raises:
            InputError: a tokenizer is not in the run, or there is nothing to compare.
        """
        with self._beside_state() as record:
            return to_frame(report.flat_differences(comparison.rows(record, first, second, *others)))

    @contextmanager
    def _beside_state(self) -> Iterator[store.Record]:
        """Yield the record; one without a file gets a temporary file for its state."""
        if self.state is None:
            yield self.record
            return
        with tempfile.TemporaryDirectory(prefix="pyharness-") as folder:
            path = Path(folder) / "record.json"
            store.path_beside(path).write_bytes(self.state)
            yield replace(self.record, path=path)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the record and, next to it, the state of its numbers.

        Existing files are refused, or replaced with ``overwrite``. Raises ``InputError`` for that, and if the state
        of the record that was read is gone.
        """
        path, data = Path(path), dict(self.record.data)
        beside = store.path_beside(path)
        for target in (path, beside) if data.get("state") else (path,):
            atomic_file.check_writable(target, overwrite=overwrite, advice=ADVICE)
        if data.get("state") and atomic_file.is_stream(path):
            data["state"] = None
        elif data.get("state"):
            data["state"] = data["state"] | {"file": beside.name}
            atomic_file.write(beside, self._state(), overwrite=overwrite, advice=ADVICE)
        atomic_file.write(path, store.dump(data), overwrite=overwrite, advice=ADVICE)

    def _state(self) -> bytes | Path:
        if self.state is not None:
            return self.state
        with self.record.state() as states:
            return states.path

    def report(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write a report: a page (.html), tables (.md, .tex, .txt), or a row per number (.csv, .json, .parquet).

        An existing file is refused, or replaced with ``overwrite``. Raises ``InputError`` for that, and for another
        suffix.
        """
        path = Path(path)
        form = report.FORMATS_OF_SUFFIXES.get(path.suffix)
        if form is None:
            raise InputError(f"a report ends in {', '.join(report.FORMATS_OF_SUFFIXES)}, and {str(path)!r} does not")
        atomic_file.check(path, overwrite=overwrite, advice=ADVICE)
        if form == "parquet":
            report.to_parquet(report.flat_sheet(self.record), path, overwrite=overwrite)
            return
        written: dict[str, Callable[[], str]] = {
            "html": self._page, "markdown": lambda: report.to_markdown(report.sheets(self.record)),
            "latex": lambda: report.to_latex(report.sheets(self.record)),
            "text": self.__str__, "csv": lambda: report.to_csv(report.flat_sheet(self.record)),
            "json": lambda: report.to_json(report.flat_sheet(self.record)),
        }  # fmt: skip
        atomic_file.write(path, written[form](), overwrite=overwrite, advice=ADVICE)

    def _page(self) -> str:
        path = self.record.path if self.state is None else None
        name = "record.json" if path is None else path.name
        if pages.lack() is not None:
            return report.to_page(report.sheets(self.record), name)
        return pages.to_report([pages.RecordFile(name, self.record, path)])

    def __str__(self) -> str:
        return report.to_text(report.sheets(self.record))

    def __repr__(self) -> str:
        """Return the tables: a prompt shows these for a result."""
        return str(self)

    def _repr_html_(self) -> str:
        """Return the tables, and the charts if their library is installed: a notebook shows these for a result."""
        figures = pages.figures(self.record) if pages.lack() is None else ()
        return report.to_html(report.sheets(self.record), figures)


def run(
    tokenizers: Sequence[str] = (), corpora: Sequence[str] = (), benchmarks: Sequence[str | dict[str, Any]] = (),
    suite_name: str | os.PathLike[str] | None = None, output: str | os.PathLike[str] | None = None,
    listener: Listener | None = None, *, overwrite: bool = False, device: str | None = None,
    memory_limit: int | str | None = None, max_bytes: int | str | None = None, time_limit: str | None = None,
    tracebacks: bool = False, reference: str | None = None,
) -> Result:  # fmt: skip
    """Measure tokenizers on corpora.

    Names are those of ``pyharness list``. Given parts replace those of the suite ``suite_name``. Without that name,
    ``tokenizers`` get default corpora and benchmarks; without ``tokenizers`` either, the suite is ``quick``. Raises
    ``InputError`` for anything unknown, before anything is measured, and if the time limit ends the run before the
    first case. The record is only kept with ``output``; an existing file is refused, or replaced with ``overwrite``.
    Pairs are counted and language models run on ``device``, ``cpu`` or ``cuda`` (default: the suite's). A case that
    holds more than ``memory_limit`` (bytes, or text such as ``4GB``; default: the suite's, or three quarters of what is
    free, shared by the workers) is ended, and fails alone. No more of each text is read than ``max_bytes`` (likewise;
    whole documents), or less if its own ``max_bytes=`` says so. No case begins after ``time_limit``, such as ``10m``:
    the others are skipped. With ``tracebacks``, failures keep theirs among their details, if an exception caused them.
    Lengths and differences are relative to the row ``reference`` (default: the suite's).

    A ``listener`` gets the progress. Without one, a notebook shows it; otherwise nothing does.
    """
    base = None
    if suite_name is not None or not tokenizers:
        base = suite.read(suite.find(os.fspath(suite_name or suite.DEFAULT)))
    deadline = None if time_limit is None else Deadline.after(time_limit)
    declared = suite.declare(tokenizers, corpora, benchmarks, base, device, memory_limit, max_bytes, reference)
    if output is not None:
        return _keep(declared, Path(output), listener, deadline, overwrite=overwrite, tracebacks=tracebacks)
    with tempfile.TemporaryDirectory(prefix="pyharness-") as folder:
        result = _keep(declared, Path(folder) / "record.json", listener, deadline, tracebacks=tracebacks)
        beside = store.path_beside(Path(folder) / "record.json")
        return replace(result, state=beside.read_bytes() if beside.exists() else None)


def _keep(
    declared: suite.Suite, output: Path, listener: Listener | None, deadline: Deadline | None, *,
    overwrite: bool = False, tracebacks: bool = False,
) -> Result:  # fmt: skip
    claimed = store.Journal(output, overwrite=overwrite, advice=ADVICE)  # before a row is trained
    with claimed as journal, notebook.shown(listener) as shown:
        watching = shown or SilentListener()
        plan = suite.plan(declared, watching.preparing)
        return Result(runner.run(plan, journal, watching, tracebacks=tracebacks, deadline=deadline))


def read(path: str | os.PathLike[str]) -> Result:
    """Read a record from a file; raise ``InputError`` if there is no valid record."""
    return Result(store.read(Path(path)))
