"""Two thousand gates of forty benchmarks, in both databases, in any order and in halves."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gating.cluster import Cluster, cluster
from gating.histories import commit, entry, filled, line_of
from pyharness.features.history.collecting import KeptRecord
from pyharness.features.history.database import Added, Place, opened, place_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
GATES, BENCHMARKS, WRITERS = 2_000, 40, 8
HOUR = timedelta(hours=1)
LINE = line_of(GATES)


@pytest.fixture(scope="module")
def server() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture(scope="module")
def gates() -> list[KeptRecord]:
    draws = random.Random(3)
    names = [f"benchmark {number}" for number in range(BENCHMARKS)]
    start = datetime(2026, 1, 1, tzinfo=UTC)
    return [
        entry(commit(n), {name: draws.gauss(0, 0.01) for name in names}, seed=n, created=f"{start + n * HOUR:%FT%TZ}")
        for n in range(GATES)
    ]


@pytest.fixture(params=["a file", "a server"])
def fresh_place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "a file":
        return place_of(str(tmp_path / "history.db"))
    server: Cluster = request.getfixturevalue("server")
    return place_of(server.address(server.fresh()))


def digests(place: Place) -> dict[str, tuple[int, str]]:
    """Number and digest of the rows of each table, in an order of their own."""
    with opened(place) as database:
        return {table: _digest(database.rows(f"SELECT * FROM {table}"))  # noqa: S608 -- ours
                for table in ("about", "gaps", "points", "records", "revisions")}  # fmt: skip


def _digest(rows: Sequence[tuple[object, ...]]) -> tuple[int, str]:
    each = sorted(hashlib.sha256(repr(row).encode()).digest() for row in rows)
    return len(each), hashlib.sha256(b"".join(each)).hexdigest()


@pytest.fixture(scope="module")
def expected(gates: list[KeptRecord], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    return digests(filled(place_of(str(tmp_path_factory.mktemp("whole") / "whole.db")), gates, LINE))


def test_adding_twice_in_another_order_and_rebuilding(
    fresh_place: Place, gates: list[KeptRecord], expected: dict[str, tuple[int, str]]
) -> None:
    assert expected["points"][0] == GATES * BENCHMARKS
    filled(fresh_place, random.Random(4).sample(gates, GATES), LINE)
    with opened(fresh_place, create=True) as database:
        assert database.add(gates, LINE) == Added(0, GATES, 0)
    assert digests(fresh_place) == expected
    with opened(fresh_place, any_schema=True) as database:
        assert database.rebuild(LINE) == GATES
    assert digests(fresh_place) == expected


def test_two_halves_join(
    fresh_place: Place, gates: list[KeptRecord], expected: dict[str, tuple[int, str]], tmp_path: Path
) -> None:
    rest = filled(place_of(str(tmp_path / "rest.db")), gates[GATES // 2 - 100 :], LINE)
    filled(fresh_place, gates[: GATES // 2], LINE)
    with opened(fresh_place, create=True) as database, opened(rest) as other:
        assert database.add([], None, [other.contents()]).new == GATES // 2
    assert digests(fresh_place) == expected


def test_eight_writers_at_once(
    fresh_place: Place, gates: list[KeptRecord], expected: dict[str, tuple[int, str]]
) -> None:
    faults: list[BaseException] = []

    def write(part: Sequence[KeptRecord]) -> None:
        try:
            for first in range(0, len(part), 10):
                filled(fresh_place, part[first : first + 10], None)
        except BaseException as fault:
            faults.append(fault)

    threads = [threading.Thread(target=write, args=(gates[number::WRITERS],)) for number in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    filled(fresh_place, [], LINE)
    assert digests(fresh_place) == expected
