"""Corpora: text that can be read again and again, named ``family[:argument][?key=value&key=value]``.

    >>> corpus = open_corpus("path:notes/?split=paragraph&max_bytes=2MB")
    >>> tally = Tally()
    >>> for text in corpus.documents(tally):
    ...     tally.add(text)

One module per kind of source, ending in ``CORPORA = (CorpusFamily(...),)``. Every family streams in bounded
memory and treats invalid UTF-8, empty and over-long documents alike: see ``streaming``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyharness.corpora.streaming import keyed, read
from pyharness.plugins.registry import discover, suggest
from pyharness.plugins.specification import CORPUS
from pyharness.types import Corpus, CorpusFamily, InputError

__all__ = ["families", "keyed", "open_corpus", "read"]


def families() -> Mapping[str, CorpusFamily]:
    """Return the known kinds of corpora, ours and those of installed plug-ins, by name."""
    return discover(sys.modules[__name__], "CORPORA")


def open_corpus(spec: str) -> Corpus:
    """Open the corpus that ``spec`` names; all that can be checked without reading text is checked here.

    A ``?`` starts the options only when what follows reads ``key=value`` or ``key=value&key=value``; write
    ``%3F`` for a ``?`` of a path that would be mistaken for it. Values of options are percent-decoded.
    """
    wanted = CORPUS.parse(spec)
    family = families().get(wanted.name)
    if family is None:
        raise _unknown(spec, wanted.name)
    if not family.wraps:
        for option in wanted.options:
            if option not in family.options:
                raise suggest(f"{wanted.name} option", option, family.options)
    return family.open(spec, wanted.argument or "", wanted.options)


def _unknown(spec: str, name: str) -> InputError:
    if os.path.exists(spec) or os.path.exists(spec.rpartition("?")[0]):  # noqa: PTH110 - never raises
        return InputError(f"unknown corpus {spec!r}; did you mean {'path:' + spec!r}?")
    error = suggest("corpus", name, families())
    return InputError(f"{error}; a corpus is written FAMILY[:ARGUMENT][?key=value], like 'sample:prose'")
