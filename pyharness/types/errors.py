"""Exceptions for input that cannot be used."""

from __future__ import annotations


class InputError(ValueError):
    """Input of the user that cannot be used.

    The message names the thing, what is known and the next step. The command line prints it and exits with 2.
    """


class Unsupported(InputError):
    """A library cannot do what a case asks of it: the case is skipped, with this reason."""


class Mismatch(Exception):
    """What is timed gives another result than was verified: there is no number of it."""
