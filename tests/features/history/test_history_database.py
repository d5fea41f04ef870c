"""A history is its records: adding twice, in another order, in halves or again gives equal tables."""

from __future__ import annotations

import os
import resource
import sqlite3
from contextlib import closing, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from gating.histories import commit, entries, entry, filled, line_of, tables, write_at_once
from pyharness.features.history.collecting import Nature, SeriesName, SeriesPoint
from pyharness.features.history.connections import FileConnection
from pyharness.features.history.database import Added, is_history, opened, place_of
from pyharness.features.history.lines import history_of
from pyharness.features.history.places import BranchLine, LineRevision, ancestors, newer_tip
from pyharness.types import InputError

ENTRIES = entries([0.0, 0.01, 0.02, 0.03, 0.02, 0.01])
LINE = line_of(6)


def test_adding_twice_adds_once_and_in_any_order(tmp_path: Path) -> None:
    first = filled(tmp_path / "first.db", ENTRIES, LINE)
    before = tables(first)
    with opened(first, create=True) as database:
        assert database.add(ENTRIES, LINE) == Added(0, 6, 0)
    assert tables(first) == before == tables(filled(tmp_path / "second.db", ENTRIES[::-1], LINE))
    assert len(before["records"]) == len(before["points"]) == 6


def test_two_halves_join_to_the_whole(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.db", ENTRIES, LINE)
    half, rest = filled(tmp_path / "half.db", ENTRIES[:4], LINE), filled(tmp_path / "rest.db", ENTRIES[2:], LINE)
    with opened(half, create=True) as database, opened(rest) as other:
        assert database.add([], None, [other.contents()]).new == 2
    assert tables(half) == tables(whole)


def test_rebuilding_gives_the_tables_again_and_mends_points(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES, LINE)
    before = tables(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM points")
        connection.execute("UPDATE about SET value = '0' WHERE name = 'schema'")
    with pytest.raises(InputError, match="rebuild"), opened(path):
        pass
    with opened(path, any_schema=True) as database:
        assert database.rebuild(None) == 6
    assert tables(path) == before


def test_revisions_have_the_order_of_the_branch_and_not_of_the_clock(tmp_path: Path) -> None:
    records = [
        entry(commit(number), {"encode": 0.0}, created=f"20{30 - number}-01-01T00:00:00+00:00") for number in range(6)
    ]
    filled(tmp_path / "history.db", records, LINE)
    with opened(tmp_path / "history.db") as database:
        places = dict(database.rows("SELECT id, place FROM revisions"))
    assert [places[commit(number)] for number in range(6)] == list(range(6))


def test_revisions_wait_for_a_deeper_clone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with opened(path, create=True) as database:
        assert database.add(ENTRIES, None).waiting == 6
        assert database.add([], line_of(6, first=3)).waiting == 2  # the parent of the oldest has its place, too
        assert database.waiting() == sorted(commit(number) for number in range(2))
        assert database.add([], LINE).waiting == 0
        assert database.add([], line_of(4)).waiting == 0  # an older checkout takes nothing away
    assert tables(path) == tables(filled(tmp_path / "whole.db", ENTRIES, LINE))


def test_a_force_push_is_told_and_its_points_stay(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES, LINE)
    revisions = [LineRevision(commit(number), commit(number - 1) if number else None) for number in range(4)]
    other = LineRevision("f" * 40, commit(3))
    with opened(path, create=True) as database:
        added = database.add([], BranchLine(other.id, (other, *revisions[::-1])))
        assert added.rewritten == tuple(sorted([commit(4), commit(5)]))
        assert database.waiting() == sorted([commit(4), commit(5)])
        assert len(database.rows("SELECT 1 FROM points")) == 6


def test_a_changed_record_is_refused_and_nothing_is_added(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES[:1], LINE)
    before = tables(path)
    changed = entry(commit(0), {"encode": 0.5})
    with opened(path, create=True) as database, pytest.raises(InputError, match="changed"):
        database.add([ENTRIES[1], changed], LINE)
    assert tables(path) == before


def test_a_record_that_disagrees_about_one_moment_is_refused_and_shown_times_are_not(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    for nature, refused in (("exact", True), ("shown", False)):
        name = SeriesName(cast(Nature, nature), "s", "case", "bytes/token", "t", "")
        one, other = (
            replace(ENTRIES[0], id=digest * 64, kind=nature, points=(SeriesPoint(name, value, None, None, 0),))
            for digest, value in (("1" if refused else "3", 3.0), ("2" if refused else "4", 4.0))
        )
        filled(path, [one], None)
        with pytest.raises(InputError, match="changed") if refused else nullcontext():
            filled(path, [other], None)
    assert len(tables(path)["records"]) == 3


def test_a_record_with_another_interval_has_changed(tmp_path: Path) -> None:
    path, (point,) = filled(tmp_path / "history.db", ENTRIES[:1], None), ENTRIES[0].points
    other = replace(ENTRIES[0], id="5" * 64, points=(replace(point, high=1.0),))
    with pytest.raises(InputError, match="changed"):
        filled(path, [other], None)


def test_rebuilding_refuses_no_record_that_an_older_version_took(tmp_path: Path) -> None:
    same = [entry(commit(1), {"encode": value}, created="2026-01-01T00:00:00+00:00") for value in (0.0, 0.1)]
    first, second = (filled(tmp_path / f"{number}.db", [one], LINE) for number, one in enumerate(same))
    with pytest.raises(InputError, match="changed"):
        filled(first, same[1:], LINE)
    with opened(second) as database:
        rows = database.rows("SELECT * FROM records")
    with closing(sqlite3.connect(first)) as connection, connection:
        connection.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("UPDATE about SET value = '2' WHERE name = 'schema'")
    with opened(first, any_schema=True) as database:
        assert database.rebuild(None) == 2
    assert len(tables(first)["points"]) == 2


def test_a_record_measures_one_revision(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES[:1], None)
    other = replace(ENTRIES[0], revision=commit(3))
    with pytest.raises(InputError, match=commit(0)[:10]):
        filled(path, [other], None)


def test_adding_is_as_cheap_among_many_records_of_one_moment(tmp_path: Path) -> None:
    def cost(count: int) -> int:
        path, calls = filled(tmp_path / f"{count}.db", entries([0.0] * count), None), list[None]()
        with opened(path, create=True) as database:
            connection = cast(FileConnection, database._connection)
            connection._connection.set_progress_handler(lambda: calls.append(None), 10)  # instructions of SQLite
            with connection.writing():
                database._add(entry(commit(count), {"encode": 0.0}))
        return len(calls)

    assert cost(200) < 2 * cost(20)


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    assert write_at_once(path, 16) == []
    assert len(tables(path)["records"]) == 16


@pytest.mark.parametrize(
    ("statements", "word"),
    [
        (["CREATE TABLE other (name TEXT)"], "another program"),
        (["UPDATE about SET value = 'photos' WHERE name = 'kind'"], "another program"),
        (["UPDATE about SET value = '99' WHERE name = 'schema'"], "newer"),
        (["UPDATE about SET value = replace(hex(zeroblob(2500)), '0', '9') WHERE name = 'schema'"], "newer"),
        (["CREATE TABLE about (other TEXT)", "CREATE TABLE records (y TEXT)"], "another program"),
        (["ALTER TABLE records RENAME COLUMN revision TO y"], "another program"),
        (["ALTER TABLE records RENAME TO y", "CREATE VIEW records AS SELECT * FROM y"], "another program"),
    ],
)
def test_a_database_of_others_is_refused_and_stays(tmp_path: Path, statements: list[str], word: str) -> None:
    path = tmp_path / "history.db"
    if "CREATE" not in statements[0]:
        filled(path, ENTRIES[:1], LINE)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
    content = path.read_bytes()
    for create in (False, True):
        with pytest.raises(InputError, match=word), opened(path, create=create):
            pass
    assert path.read_bytes() == content


def test_a_pipe_is_no_history_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to("circle")
    for name in ("pipe", "circle"):
        assert not is_history(tmp_path / name)
        with pytest.raises(InputError, match=name), opened(tmp_path / name, create=True):
            pass


def test_files_that_are_no_history_are_refused(tmp_path: Path) -> None:
    text, cut, folder = tmp_path / "text.db", tmp_path / "cut.db", tmp_path / "folder.db"
    text.write_text("no database, but long enough to have a header of one\n" * 20)
    cut.write_bytes(filled(tmp_path / "whole.db", ENTRIES, LINE).read_bytes()[:9000])
    folder.mkdir()
    for path, word in ((text, "no database"), (folder, "folder"), (tmp_path / "gone.db", "does not exist")):
        with pytest.raises(InputError, match=word), opened(path):
            pass
    with pytest.raises(InputError, match=r"cut\.db"), opened(cut) as database:
        list(database.entries())


def test_bytes_of_a_disk_that_were_lost_are_damage_and_not_fewer_points(tmp_path: Path) -> None:
    whole = filled(tmp_path / "whole.db", entries([0.0] * 30), line_of(30)).read_bytes()
    path, refused = tmp_path / "history.db", list[str]()
    for start in range(512, len(whole), 1024):
        path.write_bytes(whole[:start] + bytes(1024) + whole[start + 1024 :])
        try:
            with opened(path) as database:
                assert len(database.rows("SELECT 1 FROM points")) == 30, start
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all("history.db" in one for one in refused)


def test_damaged_names_of_tables_are_refused(tmp_path: Path) -> None:
    content = filled(tmp_path / "whole.db", ENTRIES, LINE).read_bytes()
    path = tmp_path / "history.db"
    path.write_bytes(content.replace(b"CREATE TABLE records", b"CR\x9dATE TABLE records"))  # SQLite quotes it
    with pytest.raises(InputError, match=r"history\.db.*damaged"), opened(path):
        pass


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES, LINE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE records SET content = X'00' WHERE id = ?", (ENTRIES[2].id,))
    with opened(path, any_schema=True) as database, pytest.raises(InputError, match=ENTRIES[2].id[:12]):
        database.rebuild(None)
    with opened(path) as database:
        assert len(database.rows("SELECT 1 FROM points")) == 6


def test_a_locked_history_is_given_up_and_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyharness.features.history.connections.PATIENCE", 0.1)
    path = filled(tmp_path / "history.db", ENTRIES[:1], LINE)
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="locked"), opened(path, create=True) as database:
        database.add(ENTRIES[1:], None)
    holder.execute("ROLLBACK")
    holder.close()
    with opened(path) as database:
        assert len(database.rows("SELECT 1 FROM records")) == 1


def test_a_history_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES[:1], LINE)
    before = tables(path)
    with pytest.raises(InputError, match="cannot be written"), opened(path) as database:  # as of a file that is closed
        database.add(ENTRIES[1:], None)
    assert tables(path) == before


def test_a_limit_of_file_sizes_is_named_and_nothing_is_added(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES[:1], LINE)
    before, (soft, hard) = tables(path), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size, hard))
    try:
        with pytest.raises(InputError, match="ulimit"), opened(path, create=True) as database:
            database.add(ENTRIES[1:], None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert tables(path) == before


def test_a_full_disk_is_named_and_nothing_is_added(tmp_path: Path) -> None:
    path = filled(tmp_path / "history.db", ENTRIES[:1], LINE)
    before = tables(path)
    with opened(path, create=True) as database:
        ((pages,),) = database.rows("PRAGMA page_count")
        database.rows(f"PRAGMA max_page_count = {pages + 1}")
        with pytest.raises(InputError, match="full"):
            database.add(ENTRIES[1:], None)
    assert tables(path) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE points SET value = 'much'",
        "UPDATE points SET value = 9e999",
        "UPDATE points SET low = X'00'",
        "UPDATE points SET series = '[]'",
        "UPDATE points SET series = replace(hex(zeroblob(50000)), '0', '[')",
        "UPDATE points SET value = 1e300",
        "UPDATE points SET high = 1e300",
        "UPDATE points SET low = -101.0",
        "UPDATE points SET samples = 'many'",
        "UPDATE revisions SET committed = 'then', place = 'first'",
        "UPDATE records SET machine = X'00'",
        "UPDATE revisions SET subject = X'00'",
        "UPDATE revisions SET committed = X'00'",
    ],
)
def test_points_of_a_stranger_are_refused(tmp_path: Path, change: str) -> None:
    path = filled(tmp_path / "history.db", ENTRIES, LINE)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(change)
    with pytest.raises(InputError, match=r"history\.db.*damaged.*rebuild"), opened(path) as database:
        history_of(database)
    with opened(path, any_schema=True) as database:
        database.rebuild(LINE)
        assert len(history_of(database).places) == len(ENTRIES)


def test_revisions_of_a_stranger_are_left_out(tmp_path: Path) -> None:
    other = filled(tmp_path / "other.db", ENTRIES, LINE)
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("UPDATE revisions SET subject = 5, parent = X'00'")
        connection.execute("INSERT INTO revisions VALUES ('no commit', NULL, NULL, NULL, NULL)")
        connection.execute("UPDATE about SET value = 'no commit' WHERE name = 'tip'")
    path = tmp_path / "history.db"
    with opened(path, create=True) as database, opened(other) as read:
        assert database.add([], None, [read.contents()]) == Added(6, 0, 6)
        assert database.add([], LINE, [read.contents()]) == Added(0, 6, 0)
    assert tables(path) == tables(filled(tmp_path / "whole.db", ENTRIES, LINE))


def test_a_history_lies_where_it_is_named_or_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_HISTORY", "mine.db")
    assert (place_of(None), place_of("other.db")) == (Path("mine.db"), Path("other.db"))
    monkeypatch.setenv("PYHARNESS_HISTORY", "mysql://me:secret@host/db")
    with pytest.raises(InputError, match="PYHARNESS_HISTORY") as refusal:
        place_of(None)
    assert "secret" not in str(refusal.value)


def test_a_line_may_have_no_circle_and_no_end() -> None:
    assert ancestors("c", {"c": "b", "b": "a", "a": "c"}) == ["a", "b", "c"]
    assert ancestors("x", {}) == []
    parents = {"c": "b", "b": "a", "a": None, "d": "b"}
    assert newer_tip("b", "c", parents) == newer_tip("c", "b", parents) == "c"
    assert newer_tip("c", "d", parents) == "d"
    assert newer_tip(None, "c", parents) == newer_tip("c", None, parents) == "c"
