"""Compiled split patterns beside the engines they are written for: the same pieces, and how fast.

    python studies/split_patterns.py [--bytes N] [--seconds S] [--seed N]

First, every pattern cuts ``--bytes`` of fuzzed text, and the pieces are compared with those of its engine, until
``--seconds`` are over. Then a table: megabytes of English a second of processor time on one thread, the best of a few
rounds in which the engines take turns. It reads ``PYHARNESS_DATA``.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count, pairwise
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "tests" / "support")]

from fuzzed_text import FuzzedText  # noqa: E402
from oracles.split_engines import agrees  # noqa: E402
from published_patterns import EXPRESSIONS, PRE_TOKENIZERS  # noqa: E402
from pyharness import _core  # noqa: E402
from pyharness.bpe.model.text_splitter import TextSplitter  # noqa: E402
from pyharness.vocabularies.files.byte_alphabet import alphabet_bytes  # noqa: E402
from pyharness.vocabularies.huggingface.pre_tokenizer import tables_of  # noqa: E402
from pyharness.vocabularies.patterns.tables import compiled  # noqa: E402
from speed_fixtures import documents  # noqa: E402

ROUNDS = 3
CHARACTERS = 2_000_000  # of English

Call = Callable[[], Any]


def library_stage(name: str) -> Any:
    """Pre-tokenizer of `tokenizers`."""
    from tokenizers import Tokenizer

    stub = {"model": {"type": "BPE", "vocab": {}, "merges": []}, "pre_tokenizer": PRE_TOKENIZERS[name]}
    return Tokenizer.from_str(json.dumps(stub)).pre_tokenizer


def native_stage(name: str) -> _core.CompiledSplitter:
    """Tables of a pre-tokenizer."""
    return _core.CompiledSplitter(tables_of(PRE_TOKENIZERS[name], byte_level=True))


# ------------------------------------------------------------------------------------------ the same pieces


def same_expression(name: str) -> Callable[[str], bool]:
    """Return what tells whether an expression's table agrees with its engine."""
    expression, dialect = EXPRESSIONS[name]
    table, same = compiled(expression, dialect), agrees(expression, dialect)
    return lambda text: same(table, text)


def same_stage(name: str) -> Callable[[str], bool]:
    """Return what tells whether a pre-tokenizer's tables agree with `tokenizers`."""
    splitter, library = native_stage(name), library_stage(name)

    def same(text: str) -> bool:
        (data,), ends, _ = _core.split_and_remove(splitter, [text])
        theirs = [alphabet_bytes(piece) for piece, _ in library.pre_tokenize_str(text)]
        return theirs == [data[begin:end] for begin, end in pairwise([0, *ends.tolist()])]

    return same


def compare(seed: int, size: int, seconds: float) -> Iterator[str]:
    """One line for every pattern: how much was compared, and what differs."""
    checks = {f"{name} ({dialect})": same_expression(name) for name, (_, dialect) in EXPRESSIONS.items()}
    checks |= {f"{name} (pre-tokenizer)": same_stage(name) for name in PRE_TOKENIZERS}
    for name, same in checks.items():
        source, done, begin = FuzzedText(seed, [], [b"the", b" of", "漢字".encode(), "м".encode()]), 0, time.monotonic()
        different = 0
        for index in count():
            text = source.document(index)
            done += len(text.encode())
            different += not same(text)
            if done >= size or time.monotonic() - begin > seconds:
                break
        yield f"{name:<28} {done / 1e6:8.1f} MB  {different} texts differ"


# ------------------------------------------------------------------------------------------ speed


def tiktoken_call(expression: str, texts: list[str], pieces: set[bytes]) -> Call:
    """Return what runs tiktoken where every piece is one token: the expression and one look-up a piece."""
    import tiktoken

    vocabulary = {bytes([byte]): byte for byte in range(256)}
    for piece in sorted(pieces):
        vocabulary.setdefault(piece, len(vocabulary))
    encoding = tiktoken.Encoding("p", pat_str=expression, mergeable_ranks=vocabulary, special_tokens={})
    return lambda: [encoding.encode_ordinary(text) for text in texts]


def seconds_of(calls: dict[str, Call]) -> dict[str, float]:
    """Best processor time of each call; they take turns."""
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            gc.collect()
            begin = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - begin)
    return best


def speeds(texts: list[str]) -> Iterator[str]:
    """One line for every pattern."""
    size = sum(len(text.encode()) for text in texts)
    yield f"{'MB/s, one thread':<22}{'native':>10}{'compiled':>10}{'tiktoken':>10}{'tokenizers':>12}"
    for name, (expression, dialect) in EXPRESSIONS.items():
        calls = calls_of(expression, dialect, texts)
        yield row(name, {engine: size / second / 1e6 for engine, second in seconds_of(calls).items()})
    for name in PRE_TOKENIZERS:
        calls = calls_of_stage(name, texts)
        yield row(f"{name}, all steps", {key: size / second / 1e6 for key, second in seconds_of(calls).items()})


def calls_of_stage(name: str, texts: list[str]) -> dict[str, Call]:
    """Return what tables and `tokenizers` do with a pre-tokenizer."""
    splitter, library = native_stage(name), library_stage(name)
    run: Callable[..., Any] = _core.split_texts if splitter.keeps_all() else _core.split_and_remove
    return {
        "compiled": lambda: run(splitter, texts),
        "tokenizers": lambda: [library.pre_tokenize_str(text) for text in texts],
    }


def calls_of(expression: str, dialect: Any, texts: list[str]) -> dict[str, Call]:
    """Return what each engine does with an expression."""
    from tokenizers import Regex, pre_tokenizers

    splitter, table = TextSplitter(expression, dialect=dialect), _core.CompiledSplitter([compiled(expression, dialect)])
    pieces = {piece for text in texts for piece in splitter.split(text)}
    split: Any = pre_tokenizers.Split(Regex(expression), "isolated")
    calls: dict[str, Call] = {"native": lambda: splitter.split_batch(texts)} if splitter.engine == "native" else {}
    return calls | {
        "compiled": lambda: _core.split_texts(table, texts),
        "tiktoken": tiktoken_call(expression, texts, pieces),
        "tokenizers": lambda: [split.pre_tokenize_str(text) for text in texts],
    }


def row(name: str, rates: dict[str, float]) -> str:
    """Rates of one pattern."""
    cells = [f"{rates[engine]:.1f}" if engine in rates else "" for engine in ("native", "compiled", "tiktoken")]
    return f"{name:<22}" + "".join(f"{cell:>10}" for cell in cells) + f"{rates['tokenizers']:>12.1f}"


def main() -> None:
    """Run both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=200_000_000, help="of fuzzed text for each pattern")
    parser.add_argument("--seconds", type=float, default=3600, help="that comparing one pattern may take")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for line in compare(options.seed, options.bytes, options.seconds):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    for line in speeds(list(documents("english/books", CHARACTERS))):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
