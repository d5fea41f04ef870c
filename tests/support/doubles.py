"""Tokenizers that behave badly, for the tests of the runner: a plug-in like any other."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from pyharness.benchmarks import Benchmark, Findings, Work
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.tokenizers.timed_calls import Timed
from pyharness.types import Ids, Measurement, Metric, Tokenizer, TokenizerSpec, Tokens


class Wrong(RawBytes):
    """Gives one wrong id, far into a text of Python code."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        ids = tokens.ids.copy()
        for start, stop in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True):
            if stop - start > 40:
                ids[start + 40] = (ids[start + 40] + 1) % 256
        return Tokens(ids, tokens.offsets)

    def decode(self, ids: Ids) -> bytes:
        fixed = ids.copy()
        if len(fixed) > 40:
            fixed[40] = (int(fixed[40]) - 1) % 256
        return super().decode(fixed)


class Forgetful(RawBytes):
    """Claims to be exact and loses capital letters."""

    def decode(self, ids: Ids) -> bytes:
        return super().decode(ids).lower()


class Lying(RawBytes):
    """Right when it is verified, and fast and wrong when it is timed."""

    def timed_call(self, texts: Sequence[str], threads: int = 1) -> Timed:
        wrong = Tokens(np.zeros(len(texts), np.uint32), np.arange(len(texts) + 1, dtype=np.int64))
        return Timed(lambda: None, lambda _: wrong)

    def timed_single(self, text: str) -> Timed:
        return self.timed_call([text])


class Mute(RawBytes):
    """Decodes to nothing when it is timed."""

    def timed_decode(self, tokens: Tokens, threads: int = 1) -> Timed:
        return Timed(lambda: None, lambda _: b"")


class Undecodable(RawBytes):
    """A home library that does not survive decoding."""

    def decode(self, ids: Ids) -> bytes:
        os.abort()


class Permuted(RawBytes):
    """Other ids for everything, and still lossless."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        return Tokens(255 - tokens.ids, tokens.offsets)

    def decode(self, ids: Ids) -> bytes:
        return super().decode(255 - ids)


class WrongOnProse(RawBytes):
    """Gives a wrong id for some words of the sample's prose, and of nothing else."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        tokens = super().encode_batch(texts, threads)
        prose = any("def " not in text and "the" in text and len(text) > 300 for text in texts)
        ids = tokens.ids.copy()
        ids[0] = (ids[0] + prose) % 256
        return Tokens(ids, tokens.offsets)


class Aborting(RawBytes):
    """Takes the process down."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        os.abort()


class Hanging(RawBytes):
    """Never comes back."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        time.sleep(3600)
        raise AssertionError


class Stuck(RawBytes):
    """Hangs in native code that holds the interpreter lock."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if marker := os.environ.get("DOUBLES_MARKER"):
            Path(marker).touch()
        ctypes.PyDLL(None).sleep(600)
        raise AssertionError


class Panic(BaseException):
    """What a panic in Rust looks like from Python."""


class Panicking(RawBytes):
    """Raises what ``except Exception`` does not catch."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        raise Panic("index out of bounds")


class Listing(RawBytes):
    """Gives lists, not ``Tokens``."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return [list(text.encode()) for text in texts]  # type: ignore[return-value]


class Short(RawBytes):
    """Leaves the last text out."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return super().encode_batch(texts[:-1])


class Chatty(RawBytes):
    """Prints to standard output, which is the worker's protocol."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        print("hello from a library", flush=True)
        os.write(1, b"and from its C++ part\n")
        return super().encode_batch(texts, threads)


class Slow(RawBytes):
    """Slow enough to be interrupted; says in a file that it has begun."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if marker := os.environ.get("DOUBLES_MARKER"):
            Path(marker).touch()
        time.sleep(float(os.environ.get("DOUBLES_SECONDS", "0.2")))
        return super().encode_batch(texts, threads)


class Hungry(RawBytes):
    """Takes memory without end, a block at a time."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        held = []
        while True:
            held.append(b"x" * (16 << 20))


class Reading(RawBytes):
    """Waits for somebody to type something."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if input_ends := sys.stdin.read() + os.read(0, 1).decode():
            raise AssertionError(input_ends)
        return super().encode_batch(texts, threads)


class Daemonising(RawBytes):
    """Leaves a daemon behind, which holds every pipe, and dies."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                Path(os.environ["DOUBLES_MARKER"]).write_text(str(os.getpid()), encoding="ascii")
                time.sleep(600)
            os._exit(0)
        while not Path(os.environ["DOUBLES_MARKER"]).exists():
            time.sleep(0.01)
        os._exit(7)


class Wordy(RawBytes):
    """Fails with a message of 10 MB."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        raise ValueError("word " * 2_000_000)


class Lonely(RawBytes):
    """Takes a process down in which another double has been loaded."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return os.abort() if LOADED - {"lonely"} else super().encode_batch(texts, threads)


class Greedy(RawBytes):
    """Leaves its process room for few more files than are open, and needs none itself."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        return super().encode_batch(texts, threads)


class Opening(RawBytes):
    """Opens some files at once, as a library does that reads a model in parts."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        with ExitStack() as opened:
            for _ in range(32):
                opened.enter_context(Path(os.devnull).open("rb"))
            return super().encode_batch(texts, threads)


LOADED: set[str] = set()  # in this process


def _spec(name: str, kind: type[RawBytes], vocabulary: str | None = None, reference: bool = False) -> TokenizerSpec:
    def load(_: TokenizerSpec) -> Tokenizer:
        LOADED.add(name)
        return kind()

    return TokenizerSpec(name, load, library="pyharness", vocabulary=vocabulary, reference=reference)


class WrongFacts(RawBytes):
    """Says one thing of itself that has no place in a record."""

    def __init__(self, name: str, value: object) -> None:
        super().__init__()
        setattr(self, name, value)


WRONG_FACTS: dict[str, tuple[str, object]] = {
    "vocab-text": ("vocab_size", "x"),
    "vocab-huge": ("vocab_size", 10**400),
    "vocab-minus": ("vocab_size", -1),
    "limit-none": ("id_limit", None),
    "class-own": ("round_trip", "mostly"),
    "notes-text": ("notes", "one note"),
    "notes-bytes": ("notes", (b"note",)),
}


def _wrong_facts(name: str, attribute: str, value: object) -> TokenizerSpec:
    return TokenizerSpec(name, lambda _: WrongFacts(attribute, value), library="pyharness")


def _deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def _measured(value: object, **more: object) -> Findings:
    return Findings((Measurement("doubled", value, **more),))  # type: ignore[arg-type]


WRONG_FINDINGS: dict[str, Callable[[], object]] = {
    "nothing": lambda: None,
    "value-text": lambda: _measured("x"),
    "value-huge": lambda: _measured(10**400),
    "value-nan": lambda: _measured(float("nan")),
    "value-true": lambda: _measured(True),
    "value-none": lambda: _measured(None),
    "reason-bytes": lambda: _measured(None, reason=b"why"),
    "samples-text": lambda: _measured(1, samples="123"),
    "samples-inf": lambda: _measured(1, samples=(1.0, float("inf"))),
    "replicates-text": lambda: _measured(1, replicates=("1",)),
    "metric-unknown": lambda: Findings((Measurement("no_such_metric", 1),)),
    "metric-twice": lambda: Findings((Measurement("doubled", 1), Measurement("doubled", 2))),
    "metric-number": lambda: Findings((Measurement(3, 1),)),  # type: ignore[arg-type]
    "measurements-text": lambda: Findings(("x",)),  # type: ignore[arg-type]
    "status-own": lambda: Findings(status="great"),  # type: ignore[arg-type]
    "status-without-reason": lambda: Findings(status="failed"),
    "failed-with-numbers": lambda: Findings((Measurement("doubled", 1),), status="failed", reason="no"),
    "details-bytes": lambda: Findings(details={"a": [{"b": b"bytes"}]}),
    "details-keys": lambda: Findings(details={"a": {1: 2}}),
    "details-list": lambda: Findings(details=["a"]),  # type: ignore[arg-type]
    "details-huge": lambda: Findings(details={"a": "x" * 100_000_000}),
    "details-many": lambda: Findings(details={"a": [0] * 10_000_000}),
    "details-deep": lambda: Findings(details={"a": _deep(100)}),
    "details-number": lambda: Findings(details={"a": 10**400}),
    "details-tally": lambda: Findings(details={"tally": {"documents": "many"}}),
    "tally-mapping": lambda: Findings(tally={"documents": 1}),  # type: ignore[arg-type]
}


def _benchmark(name: str, make: Callable[[], object]) -> Benchmark:
    def run(work: Work) -> Findings:
        return make()  # type: ignore[return-value]

    return Benchmark(name, "gives what has no place in a record", run, corpus="none", metrics=("doubled",))


REPORTED = (Metric("doubled", "", "none", "a number of a stranger"),)
BENCHMARKS = tuple(_benchmark(name, make) for name, make in WRONG_FINDINGS.items())
TOKENIZERS = (
    *(_wrong_facts(name, *wrong) for name, wrong in WRONG_FACTS.items()),
    _spec("home", RawBytes, "bytes-of-doubles", reference=True),
    _spec("same", RawBytes, "bytes-of-doubles"),
    _spec("wrong", Wrong, "bytes-of-doubles"),
    _spec("forgetful", Forgetful),
    _spec("wrong-on-prose", WrongOnProse, "bytes-of-doubles"),
    _spec("lying", Lying),
    _spec("mute", Mute),
    _spec("undecodable", Undecodable, "other-bytes", reference=True),
    _spec("permuted", Permuted, "other-bytes"),
    _spec("aborting", Aborting),
    _spec("hanging", Hanging),
    _spec("stuck", Stuck),
    _spec("panicking", Panicking),
    _spec("chatty", Chatty),
    _spec("listing", Listing),
    _spec("short", Short),
    _spec("slow", Slow),
    _spec("hungry", Hungry),
    _spec("reading", Reading),
    _spec("daemonising", Daemonising),
    _spec("wordy", Wordy),
    _spec("lonely", Lonely),
    _spec("greedy", Greedy),
    _spec("opening", Opening),
)
