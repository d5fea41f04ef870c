"""Fresh text for a gate: one file per kind, of which each call of a benchmark gets a span that is new in its launch.

A text that comes again is in the caches of the library and of the processor: what is timed then is these. Both arms
read the same spans of the same files.

What is on every machine (the source of Python's library) is less than short calls read: 40 batches of 5 ms may take
40 MB. So the kinds of text that come with the gate are lengthened: after the text itself, its lines come again, all of
them in an order drawn by a fixed lot, and so on. No text of some lines comes twice. But after the
first time no word is new, so a cache of words meets what it has seen: docs/gate.md "Launches and rounds" says from
which byte on.
"""

from __future__ import annotations

import mmap
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyharness.corpora import open_corpus
from pyharness.features.gate.suites import CORPORA
from pyharness.features.gate.types import GateBenchmark
from pyharness.system import program
from pyharness.types import InputError, Tally

MOST_BYTES = 64 << 20  # of a kind
MOST_TIMES = 32  # that a line comes in a text that is lengthened
GOLDEN = 0.6180339887498949  # multiples of it, without their whole part, lie as far apart as they can
CONTINUATION = range(0x80, 0xC0)  # bytes of UTF-8 that no character begins with


@dataclass
class Texts:
    """Files of text by kind, and how much of each the benchmarks of a launch have had.

    Benchmarks of one kind read the same text: what one of them leaves in a cache is dropped before the next begins.
    """

    paths: Mapping[str, Path]
    corpora: Mapping[str, str] = field(default_factory=dict)  # what each was made of, for messages
    _data: dict[str, mmap.mmap] = field(default_factory=dict)
    _taken: dict[str, tuple[int, int]] = field(default_factory=dict)  # by benchmark: where it is, bytes it had
    _launch: int = 0

    def begin(self, launch: int) -> None:
        """Start anew, for fresh processes, and in another place of the text."""
        self._launch, self._taken = launch, {}

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        """Hand out the texts of ``calls`` calls: begin and length in bytes, whole characters.

        Raises:
            InputError: there is not so much that is new to this benchmark.
        """
        return tuple(self._span(benchmark) for _ in range(calls)) if benchmark.text else ()

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        """Calls of a batch when so many batches are to have new text; None where a benchmark reads none.

        Raises:
            InputError: there is not one new text for each batch.
        """
        if not benchmark.text:
            return None
        there = (len(self._of(benchmark)) - self._had(benchmark)) // benchmark.bytes - 1  # one is lost at the end
        if there < batches:
            raise self._too_little(benchmark, max(there, 0), batches)
        return there // batches

    def _span(self, benchmark: GateBenchmark) -> tuple[int, int]:
        data = self._of(benchmark)
        begin, had = self._taken.get(benchmark.name) or (self._offset(data), 0)
        if begin + benchmark.bytes > len(data):
            begin, had = 0, had + len(data) - begin
        if had + benchmark.bytes > len(data):
            raise self._too_little(benchmark, had // benchmark.bytes, had // benchmark.bytes + 1)
        end = _boundary(data, begin + benchmark.bytes)
        self._taken[benchmark.name] = end, had + end - begin
        return begin, end - begin

    def _had(self, benchmark: GateBenchmark) -> int:
        return self._taken.get(benchmark.name, (0, 0))[1]

    def _offset(self, data: mmap.mmap) -> int:
        return _boundary(data, int(len(data) * (self._launch * GOLDEN % 1)))

    def _of(self, benchmark: GateBenchmark) -> mmap.mmap:
        kind = benchmark.text
        if kind not in self._data:
            with self.paths[kind].open("rb") as file:
                self._data[kind] = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        return self._data[kind]

    def _too_little(self, benchmark: GateBenchmark, there: int, needed: int) -> InputError:
        kind = benchmark.text
        return InputError(
            f"benchmark {benchmark.name!r}: text of kind {kind!r} ({self.corpora.get(kind, self.paths[kind])}) has "
            f"{there:,} fresh texts of {benchmark.bytes:,} bytes, and {needed:,} are needed at least: name a larger "
            "corpus in [corpora] of the suite, or let it read fewer bytes"
        )


def _boundary(data: mmap.mmap, at: int) -> int:
    """Return the last place up to ``at`` where a character begins or the text ends."""
    while at < len(data) and data[at] in CONTINUATION:
        at -= 1
    return at


def written(corpora: Mapping[str, str], folder: Path) -> Texts:
    """Read corpora (by kind of text) into files of a folder; those that the gate brings along are lengthened.

    Raises:
        InputError: a corpus is unknown, cannot be read, or is empty.
        OutOfTime: it takes too long (``program.until``), looked at between two documents.
    """
    paths = {}
    for kind, spec in corpora.items():
        paths[kind] = folder / f"{kind}.txt"
        _write(spec, paths[kind])
        if not paths[kind].stat().st_size:
            raise InputError(f"text of kind {kind!r}: corpus {spec!r} is empty")
        if CORPORA.get(kind) == spec:  # a corpus of somebody's own is read as it is
            _lengthen(paths[kind])
    return Texts(paths, dict(corpora))


def _write(spec: str, path: Path) -> None:
    left = MOST_BYTES
    with path.open("wb") as file:
        for document in open_corpus(spec).documents(Tally()):
            program.check_time(f"corpus {spec!r} was read")
            data = document.encode() + b"\n"
            if len(data) > left:
                return
            file.write(data)
            left -= len(data)


def _lengthen(path: Path) -> None:
    """Append the lines of a file again and again, each time in another order; the same for the same file."""
    data, lot = path.read_bytes(), random.Random(0)  # noqa: S311 -- no secret
    lines, left = data.splitlines(keepends=True), MOST_BYTES - len(data)
    with path.open("ab") as file:
        for _ in range(MOST_TIMES - 1):
            if left < len(data):
                break
            program.check_time(f"{path.name} was lengthened")
            lot.shuffle(lines)
            file.writelines(lines)
            left -= len(data)
