"""Our encoder against the libraries that the vocabularies come from: the same ids for every text, and the text back.

usage: PYHARNESS_DATA=DIR python studies/check_parity.py [--tokenizer NAME ...] [--bytes N] [--seed N]
           [--threads N]

For every tokenizer: all corpora of PYHARNESS_DATA, then fuzzed text (fuzzed_text.py), then for tiktoken's vocabularies
bytes that are not UTF-8, against our own reference encoder: the library has its own way with them. The first
difference is made as short as it can be and ends the run with exit code 1. Memory does not grow with the text.

It takes hours on one core, as ``tokenizers`` encodes about 3 MB/s a thread: ``--tokenizer``, ``--bytes``, ``--seed``
and ``--no-corpora`` split the work.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from fuzzed_text import FuzzedText
from pyharness.bpe import BpeEncoder, TextSplitter
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.corpora.streaming import batches
from pyharness.vocabularies import encodings

BATCH = 1 << 20  # characters
REPORT_EVERY = 32 << 20  # bytes
BROKEN_SHARE = 20  # one in so many bytes of the fuzzed text is in a document that is not UTF-8
LINES = 64  # of a file of sentences, as one document
FILES = {  # by what a difference would cost: the vocabularies that most models use come first
    "cl100k": "tiktoken/cl100k_base.tiktoken",
    "o200k": "tiktoken/o200k_base.tiktoken",
    "r50k": "tiktoken/r50k_base.tiktoken",
    "p50k": "tiktoken/p50k_base.tiktoken",
    "gpt2": "gpt2/tokenizer.json",
    "qwen2_5": "qwen2_5/tokenizer.json",
    "deepseek_v3": "deepseek_v3/tokenizer.json",
    "mistral02_hf": "mistral/mistral02_tokenizer.json",
    "gpt_neox": "gpt_neox/tokenizer.json",
    "modernbert": "modernbert/tokenizer.json",
    "yi": "yi/tokenizer.json",
}
Theirs = Callable[[Sequence[str]], list[list[int]]]


@dataclass(frozen=True)
class Pair:
    """A vocabulary in our encoder and in its library."""

    name: str
    ours: BpeTokenizer
    theirs: Theirs
    bytes_too: bool


class Difference(Exception):
    """A text that comes out differently, and how."""

    def __init__(self, text: str | bytes, complaint: str) -> None:
        super().__init__(complaint)
        self.text = text


# ------------------------------------------------------------------------------------------ the two sides


def pair_of(name: str, data: Path, threads: int) -> Pair:
    path = data / "tokenizers" / FILES[name]
    ours = BpeTokenizer(import_model(path))
    if path.suffix == ".tiktoken":
        return Pair(name, ours, _tiktoken(path, threads), bytes_too=True)
    return Pair(name, ours, _tokenizers(path, threads), bytes_too=False)


def _tiktoken(path: Path, threads: int) -> Theirs:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    library = tiktoken.Encoding(
        path.stem,
        pat_str=encodings.PATTERNS[path.stem],
        mergeable_ranks=load_tiktoken_bpe(str(path)),
        special_tokens={},
    )
    if threads == 1:
        return lambda texts: list(map(library.encode_ordinary, texts))
    return lambda texts: library.encode_ordinary_batch(list(texts), num_threads=threads)


def _tokenizers(path: Path, threads: int) -> Theirs:
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import tokenizers

    library: Any = tokenizers.Tokenizer.from_file(str(path))
    library.no_padding()
    library.no_truncation()
    library.encode_special_tokens = True  # a special token's string in a text is text
    return lambda texts: [encoding.ids for encoding in library.encode_batch_fast(list(texts), add_special_tokens=False)]


# ------------------------------------------------------------------------------------------ comparing


def compare(pair: Pair, texts: Sequence[str], threads: int) -> None:
    """Encode with both and decode with ours; raises ``Difference``."""
    ours, theirs = pair.ours.encode_batch(texts, threads), pair.theirs(texts)
    for index, text in enumerate(texts):
        ids = ours.document(index)
        if not np.array_equal(ids, theirs[index]):
            raise Difference(text, f"ours {ids.tolist()[:40]}, the library {theirs[index][:40]}")
        back = pair.ours.decode(ids)
        if back != pair.ours.normalize(text).encode():
            raise Difference(text, f"decodes to {back[:200]!r}")


class Reference:
    """Pieces of the splitter, each encoded by the reference encoder; a piece that is a token is that token."""

    def __init__(self, tokenizer: BpeTokenizer) -> None:
        model = tokenizer.model
        assert model.byte_ids is not None
        assert isinstance(model.splitter, str)
        self._byte_ids, self._splitter = model.byte_ids, TextSplitter(model.splitter)
        self._encoder = BpeEncoder(model.merges)
        special = set(model.special.values())
        self._whole = {model.vocabulary[token]: token for token in range(model.id_limit) if token not in special}

    def encode(self, data: bytes) -> list[int]:
        """Ids of any bytes."""
        ids: list[int] = []
        for start, end in pairwise([0, *self._splitter.split_batch([data]).ends.tolist()]):
            piece = data[start:end]
            if piece in self._whole:
                ids.append(self._whole[piece])
            else:
                ids.extend(self._encoder.encode(self._byte_ids[np.frombuffer(piece, np.uint8)]).tolist())
        return ids


def compare_bytes(pair: Pair, reference: Reference, data: bytes) -> None:
    """Encode bytes that are not UTF-8 with ours and the reference."""
    ids = pair.ours.encode_batch([data]).ids
    expected = reference.encode(data)
    if not np.array_equal(ids, expected):
        raise Difference(data, f"ours {ids.tolist()[:40]}, the reference {expected[:40]}")
    if pair.ours.decode(ids) != data:
        raise Difference(data, "does not decode to itself")


def shrink(text: str | bytes, differs: Callable[[Any], Difference | None]) -> Difference:
    """Leave out parts, large ones first, as long as the text still comes out differently."""
    difference = differs(text)
    assert difference is not None, "the difference is not there again: encoding depends on what came before"
    size = len(text) // 2
    while size > 0:
        at = 0
        while at < len(difference.text):
            shorter = differs(difference.text[:at] + difference.text[at + size :])  # type: ignore[operator]
            if shorter is None:
                at += size
            else:
                difference = shorter
        size //= 2
    return difference


def caught(check: Callable[[], None]) -> Difference | None:
    try:
        check()
    except Difference as difference:
        return difference
    return None


# ------------------------------------------------------------------------------------------ texts


def strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value."""
    if isinstance(value, str):
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from strings(part)


def documents(path: Path) -> Iterator[str]:
    """Documents of a corpus file: the strings of each line of JSON, or some lines of text together."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8", newline="") as lines:
        if ".jsonl" in path.suffixes:
            for line in lines:
                yield from (text for text in strings(json.loads(line)) if text)
                yield line
        else:
            while block := "".join(islice(lines, LINES)):
                yield block


class Run:
    """One tokenizer's pass over the texts."""

    def __init__(self, pair: Pair, threads: int) -> None:
        self.pair, self.threads = pair, threads
        self.bytes = self.documents = self._reported = 0
        self._started = time.monotonic()

    def corpora(self, folder: Path) -> None:
        for path in sorted(folder.rglob("*.*")):
            if path.suffix in (".xz", ".tsv"):
                for batch in batches(documents(path), size=BATCH):
                    self._check(batch, path.name)

    def fuzzed(self, size: int, seed: int) -> None:
        tokens = [self.pair.ours.model.vocabulary[token] for token in range(self.pair.ours.id_limit)]
        added = [token.content for token in self.pair.ours.model.added]
        source = FuzzedText(seed, added, [token for token in tokens if token])
        end = self.bytes + size
        reference = Reference(self.pair.ours) if self.pair.bytes_too else None
        for batch in batches(map(source.document, count()), size=BATCH):
            if self.bytes >= end:
                return
            self._check(batch, f"fuzzed, seed {seed}")
            for index in range(self.documents, self.documents + len(batch) // BROKEN_SHARE if reference else 0):
                self._check_bytes(reference, source.broken_bytes(index))

    def _check(self, batch: list[str], what: str) -> None:
        difference = caught(lambda: compare(self.pair, batch, self.threads))
        if difference is not None:
            raise shrink(difference.text, lambda text: caught(lambda: compare(self.pair, [text], 1)))
        self._count(batch, what)

    def _check_bytes(self, reference: Any, data: bytes) -> None:
        def differs(part: bytes) -> Difference | None:
            return caught(lambda: compare_bytes(self.pair, reference, part))

        if differs(data) is not None:
            raise shrink(data, differs)
        self._count([data], "not UTF-8")

    def _count(self, batch: Sequence[str | bytes], what: str) -> None:
        self.documents += len(batch)
        self.bytes += sum(len(text.encode() if isinstance(text, str) else text) for text in batch)
        if self.bytes - self._reported >= REPORT_EVERY:
            self._reported = self.bytes
            say(f"{self}, in {what}")

    def __str__(self) -> str:
        seconds = time.monotonic() - self._started
        return f"{self.pair.name:<13} {self.bytes / 1e6:8.1f} MB  {self.documents:9,} documents  {seconds:7.0f} s"


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokenizer", action="append", choices=list(FILES), help="may be repeated; all, if left out")
    parser.add_argument("--bytes", type=int, default=200_000_000, help="of fuzzed text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-corpora", action="store_true")
    options = parser.parse_args()
    if not (root := os.environ.get("PYHARNESS_DATA")):
        parser.error("PYHARNESS_DATA names no folder with tokenizers/ and corpora/")
    done: list[str] = []
    for name in options.tokenizer or FILES:
        run = Run(pair_of(name, Path(root), options.threads), options.threads)
        try:
            if not options.no_corpora:
                run.corpora(Path(root) / "corpora")
            run.fuzzed(options.bytes, options.seed)
        except Difference as difference:
            say(f"{run}\nDIFFERENT: {name}: {difference.text!r}\n{difference}")
            return 1
        done.append(str(run))
        say(f"{run}, all equal")
    say("\n".join(["", "No difference:", *done]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
