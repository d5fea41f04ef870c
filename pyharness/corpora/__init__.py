"""Corpora: text that can be read repeatedly, named ``family[:argument][?key=value&key=value]``.

    >>> corpus = open_corpus("path:notes/?split=paragraph&max_bytes=2MB")
    >>> tally = Tally()
    >>> for text in corpus.documents(tally):
    ...     tally.add(text)

One module per kind of source, ending in ``CORPORA = (CorpusFamily(...),)``. Every family streams in bounded
memory and treats invalid UTF-8 and empty documents alike: see ``streaming``. Over-long documents are cut, but not
aligned text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pyharness.corpora.options import size
from pyharness.corpora.streaming import keyed, read, read_batches
from pyharness.plugins.registry import discover, suggest
from pyharness.plugins.specification import CORPUS
from pyharness.types import Corpus, CorpusFamily, InputError

__all__ = ["capped", "families", "is_remote", "keyed", "open_corpus", "read", "read_batches"]


def families() -> Mapping[str, CorpusFamily]:
    """Return the known kinds of corpora, ours and those of installed plug-ins, by name."""
    return discover(sys.modules[__name__], "CORPORA")


def names() -> list[str]:
    """Return names of corpora, with the arguments that can be listed."""
    return [name for one in families().values() for name in (one.name, *(f"{one.name}:{part}" for part in one.known()))]


def open_corpus(spec: str) -> Corpus:
    """Open the corpus that ``spec`` names, with all checks that do not need to read text.

    A ``?`` starts the options only if ``key=value`` or ``key=value&key=value`` follows; write ``%3F`` for a ``?`` of a
    path that would otherwise start options. Values of options are percent-decoded. ``path:`` may be left out.

    Raises:
        InputError: a name or an option is unknown, or a check fails.
    """
    wanted = CORPUS.parse(CORPUS.of_path(spec, families))
    family = families().get(wanted.name)
    if family is None:
        raise suggest("corpus", wanted.name, names())
    if not family.wraps:
        for option in wanted.options:
            if option not in family.options:
                raise suggest(f"{wanted.name} option", option, family.options)
    return family.open(spec, wanted.argument or "", wanted.options)


def capped(spec: str, max_bytes: str) -> str:
    """Return the specification of the same corpus with its option ``max_bytes`` lowered to ``max_bytes``.

    A smaller value of its own stays. A corpus around another passes its options on, so ``repeat:N:`` reads that much in
    each pass.

    >>> capped("sample", "20kB"), capped("path:a.txt?max_bytes=9kB&split=line", "20kB")
    ('sample?max_bytes=20kB', 'path:a.txt?max_bytes=9kB&split=line')

    Raises:
        InputError: ``max_bytes`` is no size, or the corpus has no such option.
    """
    wanted, most = CORPUS.parse(spec), size("max_bytes", max_bytes)
    family = families().get(wanted.name)
    if family is not None and not family.wraps and "max_bytes" not in family.options:
        raise InputError(f"corpus {spec!r} cannot be cut at {max_bytes}: {wanted.name!r} has no option max_bytes")
    if "max_bytes" in wanted.options and size("max_bytes", wanted.options["max_bytes"]) <= most:
        return spec
    return CORPUS.write(wanted.name, wanted.argument, {**wanted.options, "max_bytes": max_bytes})


def is_remote(spec: str) -> bool:
    """Return whether reading a corpus needs a network."""
    wanted = CORPUS.parse(spec)
    family, argument = families().get(wanted.name), wanted.argument or ""
    if family is None:
        return False
    return is_remote(argument.partition(":")[2]) if family.wraps else family.remote(argument)
