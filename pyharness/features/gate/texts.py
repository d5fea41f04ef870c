"""Fresh text for a gate: one file per kind, of which each call gets a span that its benchmark has not read.

Spans are new within a launch, whose processes are fresh. A repeated text would be in the caches of the library and of
the processor, and the gate would time those. Both arms read the same spans of the same files.

The text that every machine has (Python's library and its documentation, the shipped sample) is too short for short
calls: 40 batches of 5 ms may read 40 MB. So the gate lengthens its own kinds of text: all lines are repeated, each time
in another random order of a fixed seed. A text of several different lines hardly ever comes twice. But a repeated line
has no new word, so a cache of words gets hits: docs/gate.md "Launches and rounds" says from which byte on.
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

MOST_BYTES = 64 << 20  # of text per kind
MOST_TIMES = 32  # copies of all lines in a lengthened text
GOLDEN = 0.6180339887498949  # fractional parts of its multiples are spread as evenly as possible
CONTINUATION = range(0x80, 0xC0)  # UTF-8 continuation bytes


@dataclass
class Texts:
    """Files of text by kind, and the amount of each that the benchmarks of a launch have read.

    Benchmarks of one kind read the same text: an arm drops one's objects and their caches before the next begins.
    """

    paths: Mapping[str, Path]
    corpora: Mapping[str, str] = field(default_factory=dict)  # specification of each, for messages
    _data: dict[str, mmap.mmap] = field(default_factory=dict)
    _taken: dict[str, tuple[int, int]] = field(default_factory=dict)  # by benchmark: position, bytes read
    _launch: int = 0

    def begin(self, launch: int) -> None:
        """Restart for the fresh processes of a launch, at the launch's own place of the text."""
        self._launch, self._taken = launch, {}

    def spans(self, benchmark: GateBenchmark, calls: int) -> tuple[tuple[int, int], ...]:
        """Return the texts of ``calls`` calls: begin and length in bytes, in whole characters; empty for no text.

        Raises:
            InputError: too little text is new to this benchmark.
        """
        return tuple(self._span(benchmark) for _ in range(calls)) if benchmark.text else ()

    def affordable(self, benchmark: GateBenchmark, batches: int) -> int | None:
        """Return the most calls per batch for which ``batches`` batches have new text; None where it reads none.

        Raises:
            InputError: not even one new text is left for each batch.
        """
        if not benchmark.text:
            return None
        _, had = self._taken.get(benchmark.name, (0, 0))
        there = (len(self._of(benchmark)) - had) // benchmark.bytes - 1  # one is lost at the end
        if there < batches:
            raise self._too_little(benchmark, max(there, 0), batches)
        return there // batches

    def _span(self, benchmark: GateBenchmark) -> tuple[int, int]:
        data = self._of(benchmark)
        offset = int(len(data) * (self._launch * GOLDEN % 1))
        begin, had = self._taken.get(benchmark.name) or (_boundary(data, offset), 0)
        if begin + benchmark.bytes > len(data):
            begin, had = 0, had + len(data) - begin
        if had + benchmark.bytes > len(data):
            raise self._too_little(benchmark, had // benchmark.bytes, had // benchmark.bytes + 1)
        end = _boundary(data, begin + benchmark.bytes)
        self._taken[benchmark.name] = end, had + end - begin
        return begin, end - begin

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
    """Return the last position up to ``at`` where a character begins or the text ends."""
    while at < len(data) and data[at] in CONTINUATION:
        at -= 1
    return at


def written(corpora: Mapping[str, str], folder: Path) -> Texts:
    """Read corpora (by kind of text) into files of a folder, up to ``MOST_BYTES`` each; lengthen the gate's own.

    Raises:
        InputError: a corpus is unknown, cannot be read, or is empty.
        OutOfTime: it takes too long (``program.until``): checked at each document, and at each copy of all lines.
    """
    paths = {}
    for kind, spec in corpora.items():
        paths[kind] = folder / f"{kind}.txt"
        _write(spec, paths[kind])
        if not paths[kind].stat().st_size:
            raise InputError(f"text of kind {kind!r}: corpus {spec!r} is empty")
        if CORPORA.get(kind) == spec:  # a user's own corpus stays as it is
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
    """Append a file's lines repeatedly, each time in another order; deterministic for a file."""
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
