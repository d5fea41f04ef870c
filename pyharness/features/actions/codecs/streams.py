"""Streams of ids of motion: a header, a line for each chunk, and a last line that marks the end.

Each line is a JSON object. The header has the format and its version, the kind and parameters of the codec (``codec``),
the frames of a chunk and the digest of the codec. A chunk has its clip's name, its number in the clip, its number of
frames and its ids. The last line has the numbers of clips and chunks, and the digest of all lines before it. The frames
after the last whole chunk of a clip form a shorter chunk: nothing is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from pyharness.features.actions.codecs import codec_files
from pyharness.features.actions.codecs.quantiles import LONGEST
from pyharness.features.actions.codecs.recipe import FittedCodec
from pyharness.features.actions.motions import Clip
from pyharness.features.actions.types import Damaged
from pyharness.types import InputError
from pyharness.vocabularies.files.json_file import Members

FORMAT = "pyharness-action-ids"
VERSION = 1
LARGEST_ID = 1 << 32


def header_of(fitted: FittedCodec) -> dict[str, Any]:
    """Return the first line of a stream."""
    return {
        "format": FORMAT, "version": VERSION, "codec": dict(fitted.codec.header), "chunk_frames": fitted.chunk_frames,
        "digest": codec_files.meaning_of(fitted),
    }  # fmt: skip


def written(fitted: FittedCodec, clips: Iterable[Clip]) -> Iterator[bytes]:
    """Yield the lines of a stream.

    Raises:
        InputError: a clip has frames of another length than the codec, or values that cannot be encoded.
    """
    digest = hashlib.sha256()
    clip_count = chunk_count = 0
    for row in _rows(fitted, clips):
        line = json.dumps(row).encode() + b"\n"
        digest.update(line)
        clip_count += row.get("chunk") == 0
        chunk_count += "chunk" in row
        yield line
    yield json.dumps({"clips": clip_count, "chunks": chunk_count, "digest": digest.hexdigest()}).encode() + b"\n"


def _rows(fitted: FittedCodec, clips: Iterable[Clip]) -> Iterator[dict[str, Any]]:
    yield header_of(fitted)
    codec = fitted.codec
    for clip in clips:
        if len(clip.frames[0]) != codec.dimensions:
            raise InputError(
                f"{clip.where}: frames have {codec.skip + len(clip.frames[0])} values, and this codec takes "
                f"{codec.skip + codec.dimensions}, of which it skips {codec.skip}; choose clips with dims=: "
                f"motions:FILE?dims={codec.skip + codec.dimensions}&skip={codec.skip}"
            )
        for number, start in enumerate(range(0, len(clip.frames), fitted.chunk_frames)):
            frames = np.array(clip.frames[start : start + fitted.chunk_frames], np.float64)
            try:
                ids = codec.encode(codec.quantised(frames)).tolist()
            except (InputError, TypeError) as error:
                raise InputError(f"{clip.where}, frames from {start} on: {error}") from None
            yield {"clip": clip.name, "chunk": number, "frames": len(frames), "ids": ids}


class Decoded(NamedTuple):
    """A decoded clip, or a chunk of one, with the number of chunks that were replaced by zeros."""

    name: str
    frames: list[list[float]]
    zeros: int


def read(fitted: FittedCodec, lines: Iterable[tuple[str, bytes]]) -> Iterator[Decoded]:
    """Yield the clips of a stream; memory holds one clip.

    Args:
        fitted: the codec that wrote it.
        lines: name of each line for messages, and its bytes.

    Raises:
        InputError: the lines are no stream, of another codec, truncated, altered, or have ids of no chunk.
    """
    stream = _StreamReader(fitted)
    waiting = iter(lines)
    stream.open(*next(waiting, ("the stream", b"")))
    name, frames, zeros, where = "", list[list[float]](), 0, "the stream"
    for where, line in waiting:
        row = _object(where, line)
        if "chunk" not in row:
            if frames:
                yield Decoded(name, frames, zeros)
            stream.close(where, row, waiting)
            return
        chunk = stream.chunk(where, line, row)
        if row["chunk"] == 0:
            if frames:
                yield Decoded(name, frames, zeros)
            name, frames, zeros = chunk.name, [], 0
        frames += chunk.frames
        zeros += chunk.zeros
    raise InputError(f"{where} is the last line, but not an end of a stream: it was cut off; copy or encode it again")


class _StreamReader:
    """State of reading a stream."""

    def __init__(self, fitted: FittedCodec) -> None:
        self._fitted, self._digest = fitted, hashlib.sha256()
        self._clips = self._chunks = 0
        self._next, self._name = 0, ""

    def open(self, where: str, line: bytes) -> None:
        row = _object(where, line) if line.strip() else {}
        if row.get("format") != FORMAT or row.get("version") != VERSION:
            raise InputError(f"{where} is not the header of actions; write one with 'pyharness encode CODEC CLIPS'")
        wanted = header_of(self._fitted)
        fields = {**row, **(row["codec"] if isinstance(row.get("codec"), dict) else {})}
        for name, value in {**wanted, **wanted["codec"]}.items():
            if fields.get(name) != value:
                other = str(fields.get(name))[:80]
                raise InputError(f"{where}: the stream is of another codec: its {name} is {other}, not {value}")
        self._digest.update(line)

    def chunk(self, where: str, line: bytes, row: dict[str, Any]) -> Decoded:
        members = Members(row, where)
        name, number, frames = members.take("clip", str), members.take("chunk", int), members.take("frames", int)
        ids = members.integers("ids", 0, LARGEST_ID).astype(np.uint32)
        if number not in (0, self._next):
            raise InputError(
                f"{where}: chunk {number} where {self._next} belongs: lines are lost or moved; encode again"
            )
        if number and name != self._name:
            raise InputError(f"{where}: chunk {number} of {name[:40]!r} follows one of {self._name[:40]!r}")
        if not 1 <= frames <= LONGEST:
            raise InputError(f"{where}: a chunk of {frames} frames; there may be 1 to {LONGEST:,}")
        self._next, self._name = number + 1, name
        self._clips, self._chunks = self._clips + (number == 0), self._chunks + 1
        self._digest.update(line)
        motion, zeros = self._decode(where, ids, frames)
        return Decoded(name, motion, int(zeros))

    def _decode(self, where: str, ids: Any, frames: int) -> tuple[list[list[float]], bool]:
        codec = self._fitted.codec
        try:
            numbers, zeros = codec.decode(ids, frames), False
        except Damaged as error:
            if not codec.zeros_for_damaged:
                raise InputError(f"{where}: {error}") from None
            numbers, zeros = np.zeros(frames * codec.dimensions, np.int64), True
        with np.errstate(over="ignore", invalid="ignore"):
            values = codec.restored(numbers, frames)
        if not np.isfinite(values).all():
            raise InputError(f"{where}: the ids stand for values that no number holds")
        return values.tolist(), zeros

    def close(self, where: str, row: dict[str, Any], rest: Iterator[tuple[str, bytes]]) -> None:
        wanted = {"clips": self._clips, "chunks": self._chunks, "digest": self._digest.hexdigest()}
        if row != wanted:
            raise InputError(f"{where}: the stream was altered: its end does not fit its lines; encode it again")
        if (after := next(rest, None)) is not None:
            raise InputError(f"{after[0]} comes after the end of the stream; decode one stream at a time")


def _object(where: str, line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict):
        raise InputError(f"{where} is not a line of a stream of actions, or is cut off")
    return row
