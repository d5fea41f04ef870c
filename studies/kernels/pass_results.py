"""Whether two versions count the same: ``python studies/kernels/pass_results.py FILE --row ROW... --text TEXT...``.

The file gets a line for each row and text: digests of every array that a pass keeps with a record and with a part, and,
of the first text, of every measurement with its replicates. Run it with each version, and compare the files (``cmp``).
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyharness import corpora, tokenizers
from pyharness.benchmarks.compression import CorpusPass
from pyharness.types import InputError, Tokenizer

THREADS = (1, 3)


def digests(arrays: Mapping[str, Any]) -> dict[str, str]:
    """Digest the type, shape and bytes of every array."""
    return {
        name: hashlib.blake2b(repr((array.dtype, array.shape)).encode() + array.tobytes(), digest_size=8).hexdigest()
        for name, array in sorted(arrays.items())
    }


def results(tokenizer: Tokenizer, text: str, measured: bool) -> Iterator[dict[str, Any]]:
    """Yield what a pass with each number of threads finds, or why it fails."""
    for threads in THREADS:
        try:
            finished = CorpusPass.start(tokenizer).read(corpora.open_corpus(text), threads)
        except InputError as error:
            yield {"error": str(error)}
            continue
        counted = finished.counted()
        numbers = [repr(one) for one in counted.measurements()] if measured else []
        kept = {**counted.arrays(), **finished.ids.arrays()}
        yield {"record": digests(kept), "part": digests(finished.arrays()), "numbers": numbers}


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--row", action="append", dest="rows", required=True)
    parser.add_argument("--text", action="append", dest="texts", required=True)
    options = parser.parse_args()
    with options.file.open("w", encoding="utf-8") as file:
        for row in options.rows:
            tokenizer = tokenizers.load(row)
            for text in options.texts:
                for threads, found in zip(THREADS, results(tokenizer, text, text == options.texts[0]), strict=True):
                    file.write(json.dumps({"row": row, "text": text, "threads": threads, **found}) + "\n")


if __name__ == "__main__":
    main()
