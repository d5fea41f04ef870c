"""Help at a prompt: examples of the help text, and shell completion of values.

Completion covers names of suites and benchmarks. It excludes tokenizers and corpora, because shells treat the colon of
``mistral:v3`` as the end of a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import click
from click.shell_completion import CompletionItem

from pyharness.types import InputError

Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completing(names: Callable[[], Iterable[str]], *, or_file: bool = False) -> Completing:
    def complete(context: click.Context, parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
        del context, parameter
        try:
            candidates = [CompletionItem(name) for name in names() if name.startswith(beginning)]
        except InputError:  # of a plug-in; the command itself reports it
            candidates = []
        return candidates or ([CompletionItem(beginning, type="file")] if or_file else [])

    return complete


def _suites() -> Iterable[str]:
    from pyharness import suite

    return suite.shipped()


def _benchmarks() -> Iterable[str]:
    from pyharness.benchmarks import benchmarks

    return benchmarks()


suites, benchmarks = _completing(_suites, or_file=True), _completing(_benchmarks)


# ---------------------------------------------------------------------------------------------- examples


@dataclass(frozen=True, slots=True)
class Example:
    """A command line, its description, and its position among the examples."""

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
