"""A tokenizer in a process of its own: ``python -m pyharness.features.serving.probe SPEC``.

One JSON text per line comes in, one JSON object per text goes out: seconds and peak memory of the library's single
call. Whatever the library prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from pyharness import tokenizers
from pyharness.benchmarks.load import MemoryMeter
from pyharness.system import lifeline
from pyharness.system.timing import quick_laps
from pyharness.types import InputError, Tokenizer, Tokens


def encoded(tokenizer: Tokenizer, text: str) -> dict[str, Any]:
    """Encode a text once; return ``seconds``, ``bytes`` (of memory) and ``tokens``, or ``error``."""
    meter = MemoryMeter()
    try:
        timed = tokenizers.timed_single(tokenizer, text)
        with meter:
            ((nanoseconds, result),) = quick_laps([timed.call])
        tokens = timed.result(result)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"}
    count = len(tokens.ids) if isinstance(tokens, Tokens) else 0
    return {"seconds": nanoseconds / 1e9, "bytes": meter.bytes, "tokens": count}


def main() -> None:
    """Serve until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tokenizer = tokenizers.load(sys.argv[1])
    for line in sys.stdin.buffer:
        answers.write(json.dumps(encoded(tokenizer, json.loads(line))) + "\n")
        answers.flush()


if __name__ == "__main__":
    lifeline.begin()
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
