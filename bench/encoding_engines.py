"""One engine in a process of its own, for ``bench/encoding_table.py``: reads a job from its arguments, prints JSON."""

from __future__ import annotations

import ctypes
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pyharness.bpe import TextEncoder
from pyharness.tokenizers import Timed, load, timed_call, timed_single
from pyharness.tokenizers.engines.fastokens import FastokensTokenizer
from pyharness.types import Ids, MergeModel, Tokens
from pyharness.vocabularies.ranks import encodings, rank_file

OURS = "pyharness"
PATTERNS = {"r50k_base": "gpt2", "cl100k_base": "cl100k", "o200k_base": "o200k"}
# fastokens has code for this spelling of cl100k, and gives others to PCRE2, with which it is 5 times as slow. Pieces
# differ where a text ends in a newline and other white space: ids are compared.
FAST_SPELLING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"  # noqa: E501

# What a process itself used is what a machine shared with others can still measure; on one thread only.
CLOCKS: Mapping[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


class OurRow:
    """Our encoder, as the rows of the peers are."""

    def __init__(self, path: Path) -> None:
        self._encoder = TextEncoder(read_model(path), PATTERNS[path.stem], whole_pieces=True)

    def timed_call(self, texts: list[str], threads: int = 1) -> Timed:
        """Return the batch call."""
        return Timed(lambda: self._encoder.encode_batch(texts, threads), lambda tokens: tokens)

    def timed_single(self, text: str) -> Timed:
        """Return the single call."""
        encode = self._encoder.encode
        return Timed(lambda: encode(text), lambda ids: Tokens.from_lists([ids]))


def read_model(path: Path) -> MergeModel:
    """Read a rank file."""
    ranks = rank_file.read_ranks(path.read_bytes(), path.name)
    return rank_file.merge_model(rank_file.RankVocabulary(ranks, {}, encodings.GPT2))


def open_engine(engine: str, path: str) -> Any:
    """Load a vocabulary into an engine; seconds are the engine's own, with the file read once before."""
    if engine == OURS:
        return OurRow(Path(path))
    name = Path(path).stem
    if engine == "quicktok":
        return load(f"quicktok:{name}")
    if engine == "fastokens" and name == "cl100k_base":
        return fastokens_cl100k(Path(path))
    if engine == "fastokens" and name == "r50k_base":  # as fast as from this file it is from no rank file
        return load(f"fastokens+file:{Path(path).parent.parent / 'gpt2' / 'tokenizer.json'}")
    prefix = "" if engine == "tiktoken" else f"{engine}+"
    return load(f"{prefix}file:{path}")


def fastokens_cl100k(path: Path) -> FastokensTokenizer:
    """Load cl100k_base as fastokens is fastest at it."""
    from fastokens import Tokenizer

    library = Tokenizer.from_tiktoken(str(path), pattern=FAST_SPELLING, special_tokens={})
    home = load(f"fastokens+file:{path}")
    assert isinstance(home, FastokensTokenizer)
    home._library = library
    return home


def digest(tokens: Tokens) -> str:
    """Digest of ids and document borders."""
    state = hashlib.blake2b(np.ascontiguousarray(tokens.ids, np.uint32).tobytes(), digest_size=16)
    state.update(np.ascontiguousarray(tokens.offsets, np.int64).tobytes())
    return state.hexdigest()


def timed(prepared: Timed, clock: str) -> tuple[float, Any]:
    """Seconds and tokens of one call."""
    now = CLOCKS[clock]
    start = now()
    result = prepared.call()
    seconds = now() - start
    return seconds, prepared.result(result)


def make_utf8(texts: list[str]) -> None:
    """Have every str keep its UTF-8 form, as it does after its first use: some rows get bytes, others make them."""
    as_utf8 = ctypes.pythonapi.PyUnicode_AsUTF8AndSize
    as_utf8.argtypes, as_utf8.restype = (ctypes.py_object, ctypes.c_void_p), ctypes.c_void_p
    for text in texts:
        as_utf8(text, None)


def speed(job: dict[str, Any]) -> dict[str, Any]:
    """Cold: the first half in this fresh process. Steady: the second half, never seen. Hot: the same again."""
    row = open_engine(job["engine"], job["vocabulary"])
    halves: list[list[str]] = json.loads(Path(job["texts"]).read_bytes())
    for half in halves:
        make_utf8(half)
    # What only the first call does is not encoding: gigatoken builds tables for about half a second, pools start.
    timed_call(row, ["warm", "up"] * 32, job["threads"]).call()
    calls = [timed_call(row, half, job["threads"]) for half in halves]
    found: dict[str, Any] = {}
    digests = []
    for phase, call in zip(("cold", "steady", "hot"), (*calls, calls[1]), strict=True):
        found[phase], tokens = timed(call, job["clock"])
        digests.append(digest(tokens))
        del tokens
    return found | {"digest": " ".join(digests)}


def single_pieces(job: dict[str, Any]) -> dict[str, Any]:
    """Texts that are one piece, each in its own call, once: some engines keep even such pieces in a cache."""
    row = open_engine(job["engine"], job["vocabulary"])
    found: dict[str, Any] = {}
    digests = []
    for name, text in json.loads(Path(job["texts"]).read_bytes()).items():
        call = timed_call(row, [text], 1)
        found[name], tokens = timed(call, job["clock"])
        digests.append(digest(tokens))
    return found | {"digest": " ".join(digests)}


def latency(job: dict[str, Any]) -> dict[str, Any]:
    """Median seconds of a call on each of many short texts of one length, after one pass over all of them."""
    row = open_engine(job["engine"], job["vocabulary"])
    found: dict[str, Any] = {}
    digests = []
    for name, texts in json.loads(Path(job["texts"]).read_bytes()).items():
        calls = [timed_single(row, text) for text in texts]
        digests.append(digest(Tokens.from_lists([_ids(call) for call in calls])))
        found[name] = statistics.median(seconds_of(call.call) for _ in range(5) for call in calls)
    return found | {"digest": " ".join(digests)}


def _ids(call: Timed) -> Ids:
    found = call.result(call.call())
    assert isinstance(found, Tokens)
    return found.ids


def seconds_of(call: Callable[[], object]) -> float:
    start = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - start) / 1e9


def encode_halves(job: dict[str, Any]) -> dict[str, Any]:
    """Encode the first ``halves`` halves, to count instructions from outside."""
    row = open_engine(job["engine"], job["vocabulary"])
    halves = json.loads(Path(job["texts"]).read_bytes())
    calls = [timed_call(row, half, 1) for half in halves]
    for call in calls[: job["halves"]]:
        call.call()
    return {}


MODES = {"speed": speed, "single_pieces": single_pieces, "latency": latency, "encode_halves": encode_halves}

if __name__ == "__main__":
    request = json.loads(sys.argv[1])
    print(json.dumps(MODES[request["mode"]](request)))  # noqa: T201
