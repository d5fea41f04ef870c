"""Clips of motion: ``motions:FILE.jsonl?chunk=32``, rows with ``frames``, a list of equal-length lists of numbers.

A clip is cut into chunks of ``chunk`` frames. Like the pieces of a text, the chunks of a clip stay together in shards
and intervals. As documents, chunks are rows in the form of the file, so motion can be read as text; ``codecs/`` reads
it as motion, by ``read_chunks``. Clips with fewer frames than a chunk are left out and counted. So are the frames after
the last whole chunk: the row of that chunk has their number as ``left_out``.

Synthetic clips are for tests and for users without data: an arm that reaches, and a gripper. All dimensions but the
last move between places along minimum-jerk curves, with little tremor or none; the last is 0 or 1. They are no evidence
about robots.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pyharness import corpora
from pyharness.corpora.files import jsonl, reading
from pyharness.corpora.options import COMMON_OPTIONS, described
from pyharness.corpora.path import check_file
from pyharness.corpora.streaming import DerivedCorpus, StreamedCorpus, fits, never_empty
from pyharness.features.actions.types import KIND, ActionChunk, MotionCorpus
from pyharness.system import folders
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally

Frames = list[list[float]]
MOST_VALUES = 1 << 16  # per frame
MOST_FRAMES = 4096  # per chunk
DEFAULT_CHUNK = 32
MADE = "made"
FEWEST_MADE, MOST_MADE = 60, 140


class Clip(NamedTuple):
    """A clip of a file: its name, its place in the file, and its frames."""

    name: str
    where: str
    frames: Frames


@dataclass(slots=True)
class Motions(StreamedCorpus[Clip]):
    """Chunks of clips, as rows of JSON."""

    chunk_frames: int
    skip: int
    dims: int | None
    kind: str = KIND

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream chunks with keys: the frames of their clip."""
        return never_empty(self.name, self._pieces(tally), tally)

    def _pieces(self, tally: Tally) -> Iterator[Piece]:
        total = longest = 0
        for clip in one_width(self.read(), self.dims, self.name):
            longest = max(longest, len(clip.frames))
            if len(clip.frames) < self.chunk_frames:
                tally.empty_documents += 1
                continue
            rows = list(_rows(clip, self.chunk_frames))
            size = sum(map(len, rows))  # rows are ASCII
            total += size
            if not fits(total, size, self.max_bytes):
                return
            tally.cut_documents += len(rows) > 1
            key = json.dumps(clip.frames)
            for number, row in enumerate(rows):
                yield Piece(row, key, opens=number == 0)
        if 0 < longest < self.chunk_frames:
            reason = f"no clip has chunk={self.chunk_frames} frames, the longest has {longest}"
            raise InputError(f"corpus {self.name!r}: {reason}; give a smaller chunk=")


def _rows(clip: Clip, chunk: int) -> Iterator[str]:
    whole = len(clip.frames) // chunk
    for number in range(whole):
        row: dict[str, Any] = {"id": clip.name, "frames": clip.frames[number * chunk : (number + 1) * chunk]}
        if number == whole - 1 and len(clip.frames) % chunk:
            row["left_out"] = len(clip.frames) % chunk
        yield json.dumps(row)


def _open(spec: str, argument: str, options: Mapping[str, str]) -> Corpus:
    if not argument:
        raise InputError(f"corpus {spec!r} names nothing; write motions:FILE.jsonl?chunk=32, or motions:{MADE}")
    chunk = number_of("chunk", options.get("chunk", str(DEFAULT_CHUNK)), 1, MOST_FRAMES)
    dims = number_of("dims", options["dims"], 1, MOST_VALUES) if "dims" in options else None
    skip = number_of("skip", options.get("skip", "0"), 0, MOST_VALUES)
    if argument == MADE:
        for option in ("skip", "field"):
            if option in options:
                raise InputError(f"{option}= does not apply to motions:{MADE}, which is made here; leave it out")
        clips = number_of("clips", options.get("clips", "64"), 1, 10_000)
        read_made = lambda: (Clip(name, name, frames) for name, frames in made_clips(clips, dims or 7))  # noqa: E731
        about = described(spec, options, domain="made motion", licence="CC0-1.0")
        return Motions(spec, read_made, chunk_frames=chunk, skip=0, dims=dims, **about, smoke_test=True)
    if "clips" in options:
        raise InputError(f"clips= is for motions:{MADE}; leave it out, or read less with max_bytes=")
    path = folders.expanded(argument)
    check_clips(path)
    field = options.get("field", "frames")
    return Motions(
        spec, lambda: clips_of(path, field, skip, dims),
        chunk_frames=chunk, skip=skip, dims=dims, **described(spec, options, domain="motion"),
    )  # fmt: skip


def number_of(option: str, text: str, least: int, most: int) -> int:
    """Read an option's whole number."""
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise InputError(f"{option}={text} is not a whole number from {least:,} to {most:,}")
    return int(text)


def read_chunks(corpus: Corpus, tally: Tally) -> Iterator[ActionChunk]:
    """Stream the chunks of a corpus, and count them as its text.

    Raises:
        InputError: the corpus is text, or its chunks differ in their number of dimensions.
    """
    for one in corpora.read(corpus, tally):
        try:
            row = json.loads(one.text)
            frames = np.array(row["frames"], np.float64)
            left_out = int(row.get("left_out", 0))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise _no_motion(corpus) from None
        if frames.ndim != 2 or not frames.size:
            raise _no_motion(corpus)
        yield ActionChunk(frames, one.key, one.opens, left_out)


def clips_behind(corpus: Corpus) -> MotionCorpus:
    """Return the clips that a corpus such as a shard is made of; raise ``InputError`` for text."""
    clips = corpus
    while isinstance(clips, DerivedCorpus):
        clips = clips.whole
    if not isinstance(clips, MotionCorpus):
        raise _no_motion(corpus)
    return clips


def _no_motion(corpus: Corpus) -> InputError:
    return InputError(
        f"corpus {corpus.name!r} is text, and no clips of motion: name a file of clips, like "
        "'motions:clips.jsonl?chunk=32'"
    )


def check_clips(path: Path) -> None:
    """Check a file of clips by its name and the file system."""
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r} in {Path.cwd()}; check the spelling")
    check_file(path)
    if reading.kind(path.name) != "jsonl":
        raise InputError(f"{path} is not JSON Lines by its name; clips are rows with frames, as in clips.jsonl.xz")


def clips_of(file: Path, field: str = "frames", skip: int = 0, dims: int | None = None) -> Iterator[Clip]:
    """Stream the clips of a file, without the first ``skip`` values of each frame.

    With ``dims``, stream only clips whose frames have so many values in the file, the skipped ones included.

    Raises:
        InputError: a row is no clip: its frames differ in length, or have values other than finite numbers; or ``skip``
            leaves no value.
    """
    for number, row in jsonl.rows(file):
        where = f"{file} line {number}"
        rows = jsonl.value(file, number, row, field)
        width = _width(where, field, rows)
        if dims not in (None, width):
            continue
        if skip >= width:
            raise InputError(f"{where}: frames have {width} values, so skip={skip} leaves none")
        frames = [_frame(where, at, frame, width)[skip:] for at, frame in enumerate(rows)]
        yield Clip(_name(where, number, row.get("id")), where, frames)


def _name(where: str, number: int, given: Any) -> str:
    """Name a clip by its row, or by its line where the row has no name or null."""
    if given is None:
        return f"line {number}"
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f"{where}: 'id' is {jsonl.kind_of(given)}; a clip is named by text or by a whole number")
    return str(given)


def _width(where: str, field: str, frames: Any) -> int:
    if not isinstance(frames, list) or not frames or not isinstance(frames[0], list):
        raise InputError(f"{where}: {field!r} is {jsonl.kind_of(frames)}, not a list of frames (lists of numbers)")
    if not 1 <= len(frames[0]) <= MOST_VALUES:
        raise InputError(f"{where}: frame 0 has {len(frames[0]):,} values; frames have 1 to {MOST_VALUES:,}")
    return len(frames[0])


def _frame(where: str, at: int, frame: Any, width: int) -> list[float]:
    if not isinstance(frame, list):
        raise InputError(f"{where}: frame {at} is {jsonl.kind_of(frame)}, not a list of numbers")
    if len(frame) != width:
        raise InputError(f"{where}: frame {at} has {len(frame)} values and frame 0 has {width}; they must be as many")
    for value in frame:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InputError(f"{where}: frame {at} has {jsonl.kind_of(value)} among its values, which are numbers")
    try:
        values = [float(value) for value in frame]
    except OverflowError:
        values = [math.inf]
    if not all(map(math.isfinite, values)):
        raise InputError(f"{where}: frame {at} has a value that is not a finite number (NaN, infinite, or too large)")
    return values


def one_width(clips: Iterable[Clip], dims: int | None, name: str) -> Iterator[Clip]:
    """Pass clips on; refuse different numbers of dimensions, which no codec accepts, and ``dims`` that no clip has."""
    first: Clip | None = None
    for clip in clips:
        first = clip if first is None else first
        if len(clip.frames[0]) != len(first.frames[0]):
            raise InputError(
                f"{name}: frames of {first.where} have {len(first.frames[0])} values, those of {clip.where} "
                f"{len(clip.frames[0])}: choose clips with ?dims=, which counts values before skip= leaves some out"
            )
        yield clip
    if first is None and dims is not None:
        raise InputError(f"{name}: no clip has frames of {dims} values; leave dims= out to see which there are")


def made_clips(count: int, dims: int) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield names and frames; fewer clips of the same ``dims`` are a prefix of more."""
    for number in range(count):
        yield f"made-{number}", _make_clip(random.Random(f"{dims}/{number}"), dims)  # noqa: S311 - no secret


def _make_clip(draw: random.Random, dims: int) -> list[list[float]]:
    frames: list[list[float]] = []
    length = draw.randint(FEWEST_MADE, MOST_MADE)
    pace, tremor = draw.uniform(12, 40), draw.choice([0.0, 0.002, 0.01])
    here = [draw.uniform(-1, 1) for _ in range(dims)]
    while len(frames) < length:
        there = [draw.uniform(-1, 1) for _ in range(dims - 1)] + [float(draw.random() < 0.5)]
        steps = max(4, round(draw.gauss(pace, pace / 4)))
        for step in range(steps):
            share = _minimum_jerk((step + 1) / steps)
            moved = [a + (b - a) * share + draw.gauss(0, tremor) for a, b in zip(here, there, strict=True)]
            frames.append([round(value, 6) for value in [*moved[:-1], there[-1]]])
        here = there
    return frames[:length]


def _minimum_jerk(time: float) -> float:
    """Return the share of the path at a time, both in 0..1 (Flash and Hogan 1985)."""
    return math.fsum((10 * time**3, -15 * time**4, 6 * time**5))


CORPORA = (
    CorpusFamily(
        name="motions",
        open=_open,
        summary="clips of motion, JSON Lines with a list of equal-length frames, in chunks of some frames; "
        f"motions:{MADE} is synthetic",
        example="motions:clips.jsonl.xz?chunk=32",
        options={
            **COMMON_OPTIONS,
            "chunk": f"frames of a chunk (default {DEFAULT_CHUNK})",
            "dims": "clips whose frames have this many values, in the file; needed where clips differ",
            "skip": "leading values of each frame that are not part of the action, such as its duration (default 0)",
            "field": "where the frames are (default frames)",
            "clips": f"motions:{MADE}: how many are made (default 64)",
        },
        known=lambda: (MADE,),
    ),
)
