"""The states of records that are compared, each opened and checked once: it may be large."""

from __future__ import annotations

import contextlib
from types import TracebackType

from pyharness.store import NoState, Record, StateReader
from pyharness.types import CaseResult, State


class States:
    """States by record, opened when they are asked for, and closed together."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._opened: dict[int, StateReader | NoState] = {}

    def __enter__(self) -> States:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def of(self, record: Record, result: CaseResult) -> State:
        """Arrays of a case; raises ``NoState`` where there are none."""
        state = self._of_record(record)
        if result.case.key not in state:
            raise NoState(f"state {str(state.path)!r} has no case {result.case.key[:200]!r}")
        return state.of(result.case.key)

    def _of_record(self, record: Record) -> StateReader:
        if id(record) not in self._opened:
            try:
                self._opened[id(record)] = self._stack.enter_context(record.state())
            except NoState as lack:
                self._opened[id(record)] = lack
        state = self._opened[id(record)]
        if isinstance(state, NoState):
            raise state
        return state
