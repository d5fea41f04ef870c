"""Encodes texts with one version of a library: a file that the interpreter of that version runs, without pyharness.

Lines of JSON come in and go out. The first one names library and file, and gets an empty answer. Each other one
has ``texts`` and gets ``ids``, or ``error`` if the library raises. Special tokens in a text are text.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def load(asked: dict[str, Any]) -> Callable[[list[str]], Sequence[Sequence[int]]]:
    """Load the file into the library, and return its batch call."""
    library: Any = importlib.import_module(asked["library"])
    path, threads = asked["path"], asked["threads"]
    if asked["library"] == "tokenizers":
        loaded = library.Tokenizer.from_file(path)
        loaded.no_padding()
        loaded.no_truncation()
        loaded.encode_special_tokens = True
        if asked["dropout"]:
            loaded.model.dropout = None
        return lambda texts: [one.ids for one in loaded.encode_batch(texts, add_special_tokens=False)]
    if asked["library"] == "sentencepiece":
        processor = library.SentencePieceProcessor()
        processor.LoadFromSerializedProto(Path(path).read_bytes())
        return lambda texts: processor.encode(texts, out_type=int)
    lines = (line.split() for line in Path(path).read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = library.Encoding("file", pat_str=asked["pattern"], mergeable_ranks=ranks, special_tokens={})
    return lambda texts: encoding.encode_ordinary_batch(texts, num_threads=threads)


def main() -> None:
    """Serve until standard input ends. What the library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)
    encode: Callable[[list[str]], Sequence[Sequence[int]]] | None = None
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        answer: dict[str, Any]
        try:
            if encode is None:
                encode, answer = load(asked), {}
            else:
                answer = {"ids": [[int(token) for token in ids] for ids in encode(asked["texts"])]}
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # a panic in Rust is no Exception
            answer = {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
