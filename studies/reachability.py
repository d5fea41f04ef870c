"""Whether tokens that reachability calls dead can be refuted: random contexts and all text there is, on every file.

    PYHARNESS_DATA=... python studies/reachability.py --output reachability.md

For every tokenizer file of the suite ``full`` each id gets its verdict, without a corpus. Then

- every token that needs something beside it is encoded again with the text that shows it;
- every verdict that says "dead" is tried ``--contexts`` times: a token of that verdict between two texts, which are
  characters of every kind, signs, spaces, line feeds, marks and contractions in disorder, slices of real text, or other
  tokens of the vocabulary;
- everything in the folder ``corpora`` is encoded, as it is, where there is a verdict to refute.

No encoding may hold any id that is called dead. The exit status is 1 where one does, and each such text is printed.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyharness import suite, tokenizers
from pyharness.corpora.streaming import batches
from pyharness.metrics import reachability
from pyharness.metrics.reachability import UNREACHABLE, PipelineTest, Verdict
from pyharness.types import HasVocabulary, InputError, Tokenizer

AT_ONCE = 4096  # texts of a batch of random contexts
BATCH_CHARACTERS = 1 << 20
LONGEST = 1 << 17  # characters of a document; longer ones are cut
EVERY, TAKEN = 5, 64  # contexts are cut from the first characters of every fifth document
EXTRA = ("file:${PYHARNESS_DATA}/tokenizers/tiktoken/whisper_gpt2.tiktoken",)  # not in the suite: r50k_base's content
DISORDER = " \n\r\t'\"sStTrRvVeElLdD/.,!?()[]{}<>-_=+*&^%#@~`|\\;:aAzZ019\u0301\u0e31\u200d\ufe0f\u00a0\u3000中あカ한ق"
COLUMNS = ("tokenizer", "alone", "beside", "no text", "open", *(v.name.split("_")[0].lower() for v in UNREACHABLE),
           "contexts", "corpora MB", "refuted")  # fmt: skip


@dataclass(slots=True)
class Row:
    """What became of one tokenizer file."""

    name: str
    verdicts: NDArray[np.int64]  # [len(Verdict)]
    arguments: Counter[str]
    contexts: int = 0
    corpora_bytes: int = 0
    refuted: list[tuple[int, str]] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Return the row of the table."""
        count = self.verdicts
        shown = [
            count[Verdict.REACHABLE],
            count[Verdict.CONTEXT_ONLY],
            count[Verdict.UNDECODABLE],
        ]
        shown += [count[Verdict.NO_WITNESS_FOUND], *count[list(UNREACHABLE)], self.contexts]
        cells = [f"{int(value):,}" for value in shown]
        return [self.name, *cells, f"{self.corpora_bytes / 1e6:.1f}", str(len(self.refuted))]


def documents(folder: Path) -> Iterator[str]:
    """Every text of every file, under any name of its field."""
    for path in sorted(folder.rglob("*.xz")):
        with lzma.open(path, "rt", encoding="utf-8", errors="replace", newline="") as lines:
            for line in lines:
                yield from _texts(json.loads(line)) if ".jsonl" in path.name else [line]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def cut(texts: Iterable[str]) -> Iterator[str]:
    """Documents, long ones cut."""
    for text in texts:
        for start in range(0, len(text), LONGEST):
            yield text[start : start + LONGEST]


class Contexts:
    """Random texts to stand beside a token."""

    def __init__(self, real: str, vocabulary: Sequence[str], draw: random.Random) -> None:
        self._real, self._vocabulary, self._draw = real, vocabulary, draw
        kinds: dict[str, list[str]] = defaultdict(list)
        for point in (*range(0x3000), *range(0x3000, 0x20000, 7), *range(0xE0000, 0xE01F0)):
            if (kind := unicodedata.category(chr(point))) != "Cs":
                kinds[kind].append(chr(point))
        self._kinds = list(kinds.values())
        self._ways: list[Callable[[], str]] = [self._any, self._disorder, self._slice, self._token, str]

    def around(self, text: str) -> str:
        """Put a random text on either side, now and then of a few kinds in a row."""
        return self._side() + text + self._side()

    def _side(self) -> str:
        return "".join(self._draw.choice(self._ways)() for _ in range(self._draw.randint(1, 2)))

    def _any(self) -> str:
        return "".join(self._draw.choice(self._draw.choice(self._kinds)) for _ in range(self._draw.randint(1, 4)))

    def _disorder(self) -> str:
        return "".join(self._draw.choice(DISORDER) for _ in range(self._draw.randint(1, 6)))

    def _slice(self) -> str:
        start = self._draw.randrange(len(self._real))
        return self._real[start : start + self._draw.randint(1, 12)]

    def _token(self) -> str:
        return self._draw.choice(self._vocabulary)


def emitted(tokenizer: Tokenizer, texts: list[str], dead: NDArray[np.bool_]) -> list[tuple[int, str]]:
    """Ids called dead that encoding some texts gives, each with its text."""
    tokens = tokenizer.encode_batch(texts, 1)
    wrong = np.flatnonzero(dead[tokens.ids])
    owners = np.searchsorted(tokens.offsets, wrong, side="right") - 1
    return [(int(tokens.ids[place]), texts[owner]) for place, owner in zip(wrong, owners.tolist(), strict=True)]


def try_contexts(row: Row, test: PipelineTest, dead: NDArray[np.bool_], contexts: Contexts, times: int) -> None:
    """Try every verdict so often."""
    for verdict in UNREACHABLE:
        tokens = np.flatnonzero(test.verdicts == verdict).tolist()
        texts = [test.vocabulary[token].decode(errors="replace") for token in tokens]
        for start in range(0, times if texts else 0, AT_ONCE):
            # Every token in turn, so that each is tried.
            part = [contexts.around(texts[place % len(texts)]) for place in range(start, min(start + AT_ONCE, times))]
            row.refuted += emitted(test.tokenizer, part, dead)
            row.contexts += len(part)


def try_corpora(row: Row, tokenizer: Tokenizer, dead: NDArray[np.bool_], texts: Iterator[str]) -> None:
    """Encode running text."""
    for batch in batches(cut(texts), size=BATCH_CHARACTERS):
        row.refuted += [(token, text[:200]) for token, text in emitted(tokenizer, batch, dead)]
        row.corpora_bytes += sum(len(text.encode()) for text in batch)


def examine(name: str, spec: str, options: argparse.Namespace, real: str) -> Row | None:
    """Verdicts of one file, and attempts to refute them; None where its tokens are not known."""
    tokenizer = tokenizers.load(spec)
    if not isinstance(tokenizer, HasVocabulary):
        return None
    test = PipelineTest(tokenizer, tokenizer.vocabulary())
    test.run(reachability.examine_model(tokenizer, test.vocabulary), np.zeros(0, np.uint32))
    arguments = Counter(argument.kind for argument in test.arguments.values())
    row = Row(name, np.bincount(test.verdicts, minlength=len(Verdict)), Counter(arguments))
    witnesses = list(test.witnesses.items())
    tokens = tokenizer.encode_batch([text for _, text in witnesses])
    for place, (token, text) in enumerate(witnesses):
        if token not in tokens.document(place):
            row.refuted.append((token, f"its witness {text!r} does not show it"))
    dead = np.isin(test.verdicts, UNREACHABLE)
    known = [text for token in range(len(dead)) if (text := test.vocabulary[token].decode(errors="ignore"))]
    try_contexts(row, test, dead, Contexts(real, known, random.Random(options.seed)), options.contexts)
    if dead.any() and not options.no_corpora:
        texts = islice(documents(options.data / "corpora"), 0, None, options.every)
        try_corpora(row, fastest(spec, tokenizer), dead, texts)
    return row


def fastest(spec: str, home: Tokenizer) -> Tokenizer:
    """Return what encodes the same ids in the least time: our own encoder where it runs the file."""
    try:
        return tokenizers.load(f"native+{spec}")
    except InputError:
        return home


def table(rows: Sequence[Row]) -> str:
    """Return the table and what the verdicts rest on, as Markdown."""
    lines = [COLUMNS, ("---", *["---:"] * (len(COLUMNS) - 1)), *(row.cells() for row in rows)]
    kinds = sum((row.arguments for row in rows), Counter())
    total = ", ".join(f"{kind} {count:,}" for kind, count in kinds.most_common())
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + f"\n\nArguments: {total}.\n"


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("PYHARNESS_DATA")
    parser.add_argument(
        "--data", type=Path, default=data, required=data is None, help="folder of tokenizers and corpora"
    )
    parser.add_argument("--contexts", type=int, default=100_000, help="random contexts for each verdict of each file")
    parser.add_argument(
        "--only", nargs="*", default=[], metavar="NAME", help="names of the suite; all if none is given"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random contexts")
    parser.add_argument("--every", type=int, default=1, help="encode every N-th document only")
    parser.add_argument("--no-corpora", action="store_true", help="random contexts only")
    parser.add_argument("--output", type=Path, help="file for the table")
    return parser.parse_args()


def main() -> int:
    """Print a row for every file as it is done, then the table."""
    options = arguments()
    os.environ["PYHARNESS_DATA"] = str(options.data)
    real = "".join(text[:TAKEN] for text in islice(documents(options.data / "corpora"), 0, None, EVERY))
    listed = suite.read(Path(__file__).parents[1] / "bench" / "suites" / "full.toml").tokenizers
    rows = []
    for entry in (*listed, *suite.entries(EXTRA)):
        if options.only and entry.label not in options.only:
            continue
        started = time.monotonic()
        row = examine(entry.label.rpartition("/")[2], entry.spec, options, real)
        if row is not None:
            rows.append(row)
            show(row, time.monotonic() - started)
    sys.stdout.write(f"\n{table(rows)}")
    if options.output is not None:
        options.output.write_text(table(rows), encoding="utf-8")
    return int(any(row.refuted for row in rows))


def show(row: Row, seconds: float) -> None:
    """Print a row and what refutes it."""
    sys.stdout.write(f"{' | '.join(row.cells())} ({seconds:.0f} s) {dict(row.arguments)}\n")
    for token, text in row.refuted[:10]:
        sys.stdout.write(f"  refuted: {token} in {text!r}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
