"""Other libraries that train byte-level BPE, for comparison: rustbpe, ffbpe and gigatoken."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any

from pyharness.bpe.model.text_splitter import TextSplitter
from pyharness.features.training.trainers import TrainedTokenizer, TrainingRequest
from pyharness.features.training.trainers.declarations import EXTRA, OnePatternOptions, RustBpeOptions
from pyharness.features.training.trainers.feeding import Feed
from pyharness.features.training.trainers.options import Sized
from pyharness.plugins import libraries
from pyharness.types import InputError

FILE = "ranks.tiktoken"


def train_rustbpe(request: TrainingRequest[RustBpeOptions]) -> TrainedTokenizer:
    """Train with rustbpe, which splits by one expression: that of the pattern."""
    rustbpe, feed = _begin("rustbpe", request)
    pattern = request.options.pattern
    expressions = TextSplitter(pattern or "gpt2").expressions
    if len(expressions) != 1:
        raise InputError(f"rustbpe splits by one expression; the pattern {pattern!r} has {len(expressions)}")
    tokenizer = rustbpe.Tokenizer()
    with feed.training("rustbpe"):
        tokenizer.train_from_iterator(iter(feed), request.options.vocab_size, pattern=expressions[0])
    return _result(feed, {bytes(data): rank for data, rank in tokenizer.get_mergeable_ranks()})


def train_ffbpe(request: TrainingRequest[OnePatternOptions]) -> TrainedTokenizer:
    """Train with ffbpe, which splits by GPT-2's expression."""
    ffbpe, feed = _begin("ffbpe", request)
    with feed.training("ffbpe"):
        model = ffbpe.train_bpe(iter(feed), vocab_size=request.options.vocab_size)
    return _result(feed, model.vocab)


def train_gigatoken(request: TrainingRequest[OnePatternOptions]) -> TrainedTokenizer:
    """Train with gigatoken, which reads a file and splits by GPT-2's expression."""
    gigatoken, feed = _begin("gigatoken", request)
    with tempfile.TemporaryFile() as file:  # without a name: a killed training leaves no copy of the text
        with feed.phases.timed("writing the text"):
            for text in feed:
                _append(file, text.encode() + b"\0")
            file.seek(0)
        feed.check()
        path = f"/dev/fd/{file.fileno()}"
        with feed.training("gigatoken"), silenced():
            tokens, _ = gigatoken.train_bpe(path, request.options.vocab_size, [], separator=b"\0")
    note = "documents were first written to a file, timed apart"
    return _result(feed, {data: token for token, data in tokens.items()}, [note])


def _append(file: IO[bytes], data: bytes) -> None:
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        place = tempfile.gettempdir()
        raise InputError(
            f"cannot write the text to {place!r}: {error.strerror or error}; name another folder with TMPDIR"
        ) from None


def _begin(module: str, request: TrainingRequest[Sized]) -> tuple[Any, Feed]:
    libraries.require(f"trainer {module!r}", module, EXTRA)
    if request.options.vocab_size < 256:
        raise InputError(f"a vocabulary of {request.options.vocab_size} has no room for the alphabet of 256 bytes")
    os.environ.setdefault("RAYON_NUM_THREADS", str(request.threads))  # read once, when a pool starts
    return libraries.load(f"trainer {module!r}", module, EXTRA), Feed(request)


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Silence a library that writes to standard output or error."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        yield
    finally:
        for number, handle in zip((1, 2), kept, strict=True):
            os.dup2(handle, number)
            os.close(handle)
        os.close(nowhere)


def _result(feed: Feed, ranks: Mapping[bytes, int], notes: Iterable[str] = ()) -> TrainedTokenizer:
    ordered = sorted(ranks.items(), key=lambda entry: entry[1])
    lines = (base64.b64encode(data) + b" %d\n" % rank for data, rank in ordered)
    result = feed.result({FILE: b"".join(lines)}, len(ranks), len(ranks) - 256, notes)
    return dataclasses.replace(result, loading={"pattern": feed.request.options.pattern or "gpt2"})
