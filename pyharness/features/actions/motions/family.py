"""Clips of motion: ``motions:FILE.jsonl?chunk=32``, rows with ``frames``, a list of lists of as many numbers.

A clip is cut into chunks of ``chunk`` frames. Those of a clip belong together as the pieces of a text do: shards and
intervals keep them so. As documents, chunks are rows like those of the file, so a motion can be read as text is; what
takes it for motion is ``codecs/``. Clips with fewer frames than a chunk are left out and counted; so are the
frames behind the last whole chunk, which ``left_out`` of that chunk says.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyharness.corpora.options import COMMON_OPTIONS, described
from pyharness.corpora.streaming import fits, keyed, never_empty
from pyharness.features.actions.motions import made as made_clips
from pyharness.features.actions.motions.clip_files import MOST_VALUES, Clip, check_clips, clips_of, one_width
from pyharness.features.actions.types import KIND
from pyharness.system.folders import home_folder
from pyharness.types import Corpus, CorpusFamily, InputError, Piece, Tally

MOST_FRAMES = 4096  # of a chunk
DEFAULT_CHUNK = 32
MADE = "made"


@dataclass(slots=True)
class Motions:
    """Clips read from ``read``, a stream that can be started again and again."""

    name: str
    read: Callable[[], Iterable[Clip]]
    chunk_frames: int
    skip: int
    dims: int | None
    language: str
    domain: str
    licence: str
    label: str
    max_bytes: int | None
    smoke_test: bool = False
    kind: str = KIND

    def shard(self, part: Corpus) -> Corpus:
        """Return some of the clips as such."""
        about = (part.language, part.domain, part.licence)
        return MotionShard(part, part.name, self.chunk_frames, self.skip, *about, part.smoke_test)

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream chunks as rows of JSON."""
        return (piece.text for piece in self.keyed_documents(tally))

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the same; the chunks of a clip have its frames as their key."""
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
            known = f"no clip has chunk={self.chunk_frames} frames, the longest has {longest}"
            raise InputError(f"corpus {self.name!r}: {known}; give a smaller chunk=")


@dataclass(slots=True)
class MotionShard:
    """Some clips of motion."""

    part: Corpus
    name: str
    chunk_frames: int
    skip: int
    language: str
    domain: str
    licence: str
    smoke_test: bool
    kind: str = KIND

    def documents(self, tally: Tally) -> Iterator[str]:
        """Stream chunks as rows of JSON."""
        return self.part.documents(tally)

    def keyed_documents(self, tally: Tally) -> Iterator[Piece]:
        """Stream the same; the chunks of a clip have its frames as their key."""
        return keyed(self.part, tally)


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
        made = lambda: (Clip(name, name, frames) for name, frames in made_clips.clips(clips, dims or 7))  # noqa: E731
        about = described(spec, options, domain="made motion", licence="CC0-1.0")
        return Motions(spec, made, chunk, 0, dims, **about, smoke_test=True)
    if "clips" in options:
        raise InputError(f"clips= is for motions:{MADE}; leave it out, or read less with max_bytes=")
    path = home_folder.expanded(argument)
    check_clips(path)
    field = options.get("field", "frames")
    return Motions(
        spec, lambda: clips_of(path, field, skip, dims), chunk, skip, dims, **described(spec, options, domain="motion")
    )


def number_of(option: str, text: str, least: int, most: int) -> int:
    """Read a whole number of an option."""
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise InputError(f"{option}={text} is not a whole number from {least:,} to {most:,}")
    return int(text)


CORPORA = (
    CorpusFamily(
        name="motions",
        open=_open,
        summary="clips of motion, JSON Lines with a list of equal-length frames, in chunks of some frames; "
        f"motions:{MADE} is made here",
        example="motions:clips.jsonl.xz?chunk=32",
        options={
            **COMMON_OPTIONS,
            "chunk": f"frames of a chunk (default {DEFAULT_CHUNK})",
            "dims": "clips whose frames have this many values, in the file; needed where clips differ",
            "skip": "leading values of each frame that are no action, such as its duration (default 0)",
            "field": "where the frames are (default frames)",
            "clips": f"motions:{MADE}: how many are made (default 64)",
        },
        known=lambda: (MADE,),
    ),
)
