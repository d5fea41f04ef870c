"""The ``benchmark`` fixture of an arm: a standalone file that imports only the standard library and pytest."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import pytest

Timed = Callable[[int], tuple[int, int]]  # calls -> nanoseconds of wall time and of CPU time, all threads


class Serving(Protocol):
    """Server of the parent's requests while a test waits."""

    def serve(self, name: str, timed: Timed) -> None:
        """Answer the parent's requests until it finishes the test."""


class AlreadyUsed(Exception):
    """A test has called its fixture twice, so the measurement would mix two functions."""


class BenchmarkFixture:
    """Stand-in for pytest-benchmark's fixture under ``--benchmark-disable``; it times calls when the parent asks."""

    def __init__(self, node: Any, session: Serving) -> None:
        marker, callspec = node.get_closest_marker("benchmark"), getattr(node, "callspec", None)
        self.name: str = node.name
        self.fullname: str = node.nodeid
        self.group: str | None = marker.kwargs.get("group") if marker else None
        self.param = callspec.id if callspec else None
        self.params = callspec.params if callspec else None
        self.extra_info: dict[str, Any] = {}
        self.stats = None
        self.disabled, self.enabled = True, False
        self.has_error = self.skipped = False
        self._session = session
        self._used = False

    def __call__(self, function_to_benchmark: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function whenever the parent asks; return the result of a last call."""

        def timed(calls: int) -> tuple[int, int]:
            steps = range(calls)
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            for _ in steps:
                function_to_benchmark(*args, **kwargs)
            cpu = time.process_time_ns() - cpu
            return time.perf_counter_ns() - wall, cpu

        return self._measure(timed, lambda: function_to_benchmark(*args, **kwargs))

    def pedantic(
        self,
        target: Callable[..., Any],
        args: Any = (),
        kwargs: Any = None,
        setup: Callable[[], Any] | None = None,
        teardown: Callable[..., Any] | None = None,
        rounds: int = 1,  # the parent decides the number of calls
        warmup_rounds: int = 0,
        iterations: int = 1,
    ) -> Any:
        """Call ``target`` whenever the parent asks, each time after ``setup``, which is not timed."""
        if setup and iterations > 1:
            raise ValueError("more than one iteration cannot have a setup")

        def arguments() -> Any:
            made = setup() if setup else None
            if made and (args or kwargs):
                raise TypeError("args and kwargs cannot be used where setup returns the arguments")
            return made or (args, kwargs or {})

        def once(clock: list[int] | None = None) -> Any:
            positional, named = arguments()
            wall, cpu = time.perf_counter_ns(), time.process_time_ns()
            result = target(*positional, **named)
            cpu = time.process_time_ns() - cpu
            wall = time.perf_counter_ns() - wall
            if clock is not None:
                clock[0] += wall
                clock[1] += cpu
            if teardown:
                teardown(*positional, **named)
            return result

        def timed(calls: int) -> tuple[int, int]:
            clock = [0, 0]
            for _ in range(calls):
                once(clock)
            return clock[0], clock[1]

        return self._measure(timed, once)

    def weave(self, *_: Any, **__: Any) -> None:
        """Skip the test: other code calls a woven function, so the parent cannot decide when."""
        self.skipped = True
        pytest.skip("benchmark.weave cannot be measured in turns")

    patch = weave

    def _measure(self, timed: Timed, once: Callable[[], Any]) -> Any:
        if self._used:
            raise AlreadyUsed("a test calls its benchmark fixture once")
        self._used = True
        try:
            once()
            self._session.serve(self.fullname, timed)
            return once()  # a call after the clock gives the result to check: it shows if calls spoil later ones
        except Exception:
            self.has_error = True
            raise
