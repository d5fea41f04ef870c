"""The stress set: texts that any tokenizer has to bear, whatever the corpus is: code and odd Unicode, and long runs.

A library that takes quadratic time for a run, or has no room for it, fails on these and not in a user's service: a long
run of combining marks overflows a stack of tokie 0.1.4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyharness import corpora
from pyharness.types import InputError, Tally, Tokenizer, Tokens

SAMPLES = ("sample:code", "sample:unicode")
# Of 33 rows and engines none took over 0.2 s for the combining marks. 32,768 letters or digits took up to 1.3 s.
RUNS: Mapping[str, str] = {
    "'a' and 32,768 times U+0301": "a" + "\u0301" * 32768,
    "8,192 times 'a'": "a" * 8192,
    "8,192 times '1'": "1" * 8192,
    "8,192 spaces": " " * 8192,
}
LONGEST_MESSAGE = 300  # characters of what a library says


class NotEncoded(Exception):
    """A library raised for a text of the stress set: the message names both."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text of the stress set, and what messages call it."""

    name: str
    text: str


def samples() -> list[Document]:
    """Code and odd Unicode of the sample."""
    return [
        Document(f"{specification}, document {number}", text)
        for specification in SAMPLES
        for number, text in enumerate(corpora.open_corpus(specification).documents(Tally()))
    ]


def name(number: int) -> str:
    """What a text of the set is called: samples come first."""
    return [*(one.name for one in samples()), *RUNS][number]


def encoded_runs(tokenizer: Tokenizer, threads: int) -> Iterator[tuple[str, Tokens]]:
    """Encode one run after the other.

    Raises:
        NotEncoded: the library raised.
    """
    for called, text in RUNS.items():
        try:
            yield text, tokenizer.encode_batch([text], threads)
        except (KeyboardInterrupt, SystemExit, MemoryError, GeneratorExit):
            raise
        except BaseException as error:  # a panic in Rust is no Exception
            said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            line = " ".join(said.split())[:LONGEST_MESSAGE]
            raise NotEncoded(f"it cannot encode a text of the stress set ({called}): {line}") from error
