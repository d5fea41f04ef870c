"""Native libraries that size their thread pool once, at first use, from an environment variable.

A process can therefore measure such a library on one thread, and on one other number of threads: the first that it
asks for. Several numbers of threads take a process each.
"""

from __future__ import annotations

import os
from functools import cache

from pyharness.types import Unsupported


class ThreadPool:
    """The pool of one library in this process."""

    def __init__(self, library: str, variable: str, *, even_one: bool = False) -> None:
        self.library = library
        self.variable = variable
        self.smallest = 1 if even_one else 2  # a library with a separate call for one thread needs no pool for it
        self.size: int | None = None

    def start(self, threads: int) -> None:
        """Let the pool start with this many threads, if it has not started."""
        if threads >= self.smallest and self.size is None:
            self.size = threads
            os.environ[self.variable] = str(threads)

    def require(self, threads: int) -> None:
        """Raise unless the pool can run on this many threads."""
        if threads >= self.smallest and self.size not in (None, threads):
            raise Unsupported(
                f"{self.library} started its pool with {self.size} threads in this process and cannot be timed on "
                f"{threads}; time each number of threads in a process of its own"
            )


@cache
def pool_of(library: str, variable: str) -> ThreadPool:
    """Return the pool of a library that several modules run: there is one in a process."""
    return ThreadPool(library, variable)


def require_one(library: str, action: str, threads: int) -> None:
    """Raise for a call of a library that has no threads."""
    if threads > 1:
        raise Unsupported(f"{library} has no threads for {action}: it cannot be timed on {threads}")
