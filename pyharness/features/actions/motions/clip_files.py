"""Files of clips: JSON Lines, of each row a list of frames, of each frame as many numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pyharness.corpora.files import formats, jsonl
from pyharness.corpora.path import check_file
from pyharness.types import InputError

MOST_VALUES = 1 << 16  # of a frame

Frames = list[list[float]]


class Clip(NamedTuple):
    """A clip of a file: its name, where it stands, and its frames."""

    name: str
    where: str
    frames: Frames


def check_clips(path: Path) -> None:
    """Check what a name and the file system tell about a file of clips."""
    if not path.exists():
        raise InputError(f"there is no file {str(path)!r} in {Path.cwd()}; check the spelling")
    check_file(path)
    if formats.kind(path.name) != "jsonl":
        raise InputError(f"{path} is not JSON Lines by its name; clips are rows with frames, in clips.jsonl.xz say")


def clips_of(file: Path, field: str = "frames", skip: int = 0, dims: int | None = None) -> Iterator[Clip]:
    """Stream the clips of a file, without the first ``skip`` values of each frame; only those of ``dims``, if given.

    Raises:
        InputError: a row is no clip: its frames differ in length, or have what is no finite number.
    """
    for number, row in jsonl.rows(file):
        where = f"{file} line {number}"
        given = jsonl.value(file, number, row, field)
        width = _width(where, field, given)
        if dims not in (None, width):
            continue
        if skip >= width:
            raise InputError(f"{where}: frames have {width} values, so skip={skip} leaves none")
        frames = [_frame(where, at, frame, width)[skip:] for at, frame in enumerate(given)]
        yield Clip(_name(where, number, row.get("id")), where, frames)


def _name(where: str, number: int, given: Any) -> str:
    """Name a clip by its row, or by its line where the row has no name, or null."""
    if given is None:
        return f"line {number}"
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InputError(f"{where}: 'id' is {jsonl.kind_of(given)}; a clip is named by text or by a whole number")
    return str(given)


def _width(where: str, field: str, frames: Any) -> int:
    if not isinstance(frames, list) or not frames or not isinstance(frames[0], list):
        raise InputError(f"{where}: {field!r} is {jsonl.kind_of(frames)}, and no list of frames, lists of numbers")
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
        raise InputError(f"{where}: frame {at} has a value that is no finite number (NaN, infinite, or too large)")
    return values


def one_width(clips: Iterable[Clip], dims: int | None, name: str) -> Iterator[Clip]:
    """Pass clips on; those of several numbers of dimensions are refused, for no codec takes both."""
    first: Clip | None = None
    for clip in clips:
        first = clip if first is None else first
        if len(clip.frames[0]) != len(first.frames[0]):
            raise InputError(
                f"{name}: frames of {first.where} have {len(first.frames[0])} values, those of {clip.where} "
                f"{len(clip.frames[0])}: choose clips with ?dims=, the values of a frame in the file"
            )
        yield clip
    if first is None and dims is not None:
        raise InputError(f"{name}: no clip has frames of {dims} values; leave dims= out to see which there are")
