"""Codecs of actions at the command line: ``train fast``, and ``encode`` and ``decode`` of clips with its files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO

from pyharness.corpora import open_corpus
from pyharness.features.actions.codecs import codec_files, streams
from pyharness.features.actions.codecs.recipe import CodecRecipe, FittedCodec, refuse_others
from pyharness.features.actions.declarations import TRAINER, FastOptions
from pyharness.features.actions.motions import Clip, Motions, check_clips, clips_behind, clips_of
from pyharness.features.pipes.documents import Stream
from pyharness.features.training.commands import RECORD
from pyharness.system import folders
from pyharness.system.folders import check_new_folder, write_folder
from pyharness.types import InputError, Tally

FILE = "actions.json"
MOST_LINE_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Trained:
    """Result of the training of a codec."""

    fitted: FittedCodec
    tally: Tally
    file: Path


def train(
    corpora: Sequence[str],
    recipe: CodecRecipe,
    folder: Path,
    progress: Callable[[int], None] | None = None,
    *,
    force: bool,
) -> Trained:
    """Fit a codec and write its folder atomically.

    Raises:
        InputError: the folder cannot be made, a corpus has no clips, or the codec cannot be fitted to them.
    """
    check_new_folder(folder, RECORD, force)
    for corpus in corpora:
        clips_behind(open_corpus(corpus))
    tally = Tally()
    fitted = recipe.fit(corpora, tally, progress)
    record = {"trainer": TRAINER, "settings": dict(fitted.codec.settings), "text": dict(fitted.source),
            "notes": list(fitted.codec.notes)}  # fmt: skip
    files = {FILE: codec_files.content_of(fitted), RECORD: (json.dumps(record, indent=1) + "\n").encode()}
    check_new_folder(folder, RECORD, force)
    write_folder(folder, files, overwrite=force)
    return Trained(fitted, tally, folder / FILE)


def codec_file(specification: str) -> Path | None:
    """Return the codec file of a specification ``PATH`` or ``actions:PATH``; None for any other."""
    path = folders.expanded(specification.removeprefix("actions:"))
    return path if codec_files.is_one(path) else None


def encoded(codec: Path, clips: Sequence[str]) -> Iterator[bytes]:
    """Encode files of clips, or ``motions:`` with options, to the lines of a stream.

    Raises:
        InputError: no clip is named or found, a name is ``-``, or the codec does not fit the clips.
    """
    if not clips or "-" in clips:
        raise InputError("name the files of clips, such as clips.jsonl.xz: standard input has no suffix")
    fitted = codec_files.load(codec)
    read = (clip for one in clips for clip in _clips(fitted, one))
    if (first := next(read, None)) is None:
        raise InputError(f"{', '.join(clips)}: there is no clip to encode; check the file, and dims= if it is given")
    return streams.written(fitted, chain([first], read))


def _clips(fitted: FittedCodec, name: str) -> Iterable[Clip]:
    if not name.startswith("motions:"):
        check_clips(Path(name))
        return clips_of(Path(name), skip=fitted.codec.skip)
    corpus = open_corpus(name)
    if not isinstance(corpus, Motions):
        raise InputError(f"{name} is not a corpus of clips")
    refuse_others(fitted.codec, corpus)
    return corpus.read()


def _lines(name: str, source: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    number = 0
    while line := source.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) > MOST_LINE_BYTES:
            raise InputError(
                f"{name} line {number} has more than {MOST_LINE_BYTES:,} bytes: it is not a chunk of a stream"
            )
        yield f"{name} line {number}", line


def decoded(codec: Path, sources: Iterable[tuple[str, IO[bytes]]], said: Callable[[str], None]) -> Iterator[bytes]:
    """Decode a stream to rows of clips; ``said`` gets a message for chunks that the codec replaced by zeros."""
    fitted = codec_files.load(codec)
    lines = (line for name, source in sources for line in _lines(name, source))
    zeros = 0
    for clip in streams.read(fitted, lines):
        zeros += clip.zeros
        yield json.dumps({"id": clip.name, "frames": clip.frames}).encode() + b"\n"
    if zeros:
        said(f"{zeros:,} chunks could not be decoded and became zeros, as in the authors' processor")


def summary(corpora: Sequence[str], options: FastOptions, folder: Path, force: bool) -> list[tuple[str, str]]:
    """Train, and return the summary.

    Raises:
        InputError: as ``train``; or the request names no clips, or sizes that are out of range.
    """
    if not corpora:
        raise InputError("fast learns from clips of motion: name them, such as -c motions:clips.jsonl?chunk=32")
    recipe = CodecRecipe(vocab_size=options.vocab_size, scale=options.scale)
    trained = train(corpora, recipe, folder, force=force)
    codec, source = trained.fitted.codec, trained.fitted.source
    return [
        ("codec", ", ".join(f"{name} {value}" for name, value in codec.settings.items())),
        ("clips", f"{source['clips']:,} in {source['chunks']:,} chunks of {trained.fitted.chunk_frames} frames"),
        ("left out", f"{source['clips_left_out']:,} clips shorter than a chunk, {source['frames_left_out']:,} frames"),
        *(("note", note) for note in codec.notes),
        ("next", f"pyharness run -t {shlex.quote(f'actions:{trained.file}')} -c motions:OTHER.jsonl -b actions"),
        ("", f"pyharness encode {shlex.quote(str(trained.file))} OTHER.jsonl"),
    ]


STREAMS = (Stream("actions", "a codec of actions", codec_file, encoded, decoded),)
