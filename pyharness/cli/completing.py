"""What a shell completes beside commands and options: names of suites and benchmarks.

No tokenizers or corpora: shells take the colon of ``mistral:v3`` for the end of a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from pyharness.types import InputError

Completing = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _completing(names: Callable[[], Iterable[str]], *, or_file: bool = False) -> Completing:
    def complete(context: click.Context, parameter: click.Parameter, beginning: str) -> list[CompletionItem]:
        del context, parameter
        try:
            found = [CompletionItem(name) for name in names() if name.startswith(beginning)]
        except InputError:  # of a plug-in; the command itself says so
            found = []
        return found or ([CompletionItem(beginning, type="file")] if or_file else [])

    return complete


def _suites() -> Iterable[str]:
    from pyharness import suite

    return suite.shipped()


def _benchmarks() -> Iterable[str]:
    from pyharness.benchmarks import benchmarks

    return benchmarks()


suites, benchmarks = _completing(_suites, or_file=True), _completing(_benchmarks)
