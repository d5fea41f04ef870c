"""Examples of the help text: ``pyharness --help`` shows those of all commands that there are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A command line, what it does, and where it stands among the others."""

    name: str
    about: str
    place: int


EXAMPLES = (
    Example("pyharness run", "the default suite, offline", 0),
    Example("pyharness run -t deepseek -t mistral:v3 -c sample", "", 10),
    Example("pyharness run -t file:./tokenizer.json -c path:corpus.jsonl", "", 20),
    Example("pyharness list tokenizers", "what can be measured here", 30),
    Example("pyharness train bpe -c path:corpus.jsonl --vocab-size 8000 --out my-bpe", "", 40),
    Example("pyharness symbols train -c path:corpus.jsonl --order 5 --out corpus.symbols", "", 60),
    Example("pyharness show -t mistral:v3 -t deepseek strawberry", "", 70),
    Example("pyharness encode mistral:v3 < text.txt | pyharness decode mistral:v3", "", 80),
)
