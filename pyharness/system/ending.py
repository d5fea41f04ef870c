"""A request to end, as an exception: what is half-done is undone, children are ended, and a journal is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

REQUESTS = (signal.SIGTERM, signal.SIGHUP)


class Ended(SystemExit):
    """The process was asked to end; its exit status is 128 and the number of the signal, as of shells."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)
        self.signal = signal.Signals(number)


@contextmanager
def politely() -> Iterator[None]:
    """Raise ``Ended`` where the system would end the process, once: nothing disturbs the tidying up.

    What somebody ignores (``nohup``) or handles stays so. Outside the main thread nothing can be done, and is not.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in REQUESTS if signal.getsignal(number) is signal.SIG_DFL]
    for number in mine:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, frame: FrameType | None) -> None:
    del frame
    for other in REQUESTS:
        if signal.getsignal(other) is _end:
            signal.signal(other, signal.SIG_IGN)
    raise Ended(number)
