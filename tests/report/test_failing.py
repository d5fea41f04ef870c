"""The deterministic gate: what became worse, or is another, is named and has its exit status."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compared_records import ROW, case_of, dead_tokens, edited, gated, number_of, reasons
from compared_records import made as made  # fixtures
from compared_records import pair as pair

Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize("fail_on", ["worse", "any"])
def test_what_is_the_same_passes(pair: tuple[Path, Path], fail_on: str) -> None:
    done = gated(*pair, fail_on=fail_on)
    assert done.exit_code == 0
    assert f"--fail-on {fail_on} passes" in done.output
    assert not any(reasons(done.output, kind) for kind in ("worse", "differs", "not", "note"))


def scaled(metric: str, factor: float, noise: float = 0.0) -> Change:
    """Multiply a number and what it is without each group; with noise its difference has a wide interval."""

    def change(data: dict[str, Any]) -> None:
        number = number_of(data, "compression", metric)
        number["value"] *= factor
        number["replicates"] = [
            one if one is None else one * factor + noise * (-1) ** place
            for place, one in enumerate(number["replicates"])
        ]

    return change


def value(benchmark: str, metric: str, to: float) -> Change:
    return lambda data: number_of(data, benchmark, metric).update(value=to)


def status(to: str) -> Change:
    return lambda data: case_of(data, "integrity").update(status=to, reason="because", measurements=[])


@pytest.mark.parametrize(
    ("change", "worse", "other", "said"),
    [
        (scaled("bytes_per_token", 0.9, 0.001), 1, 1, "worse bytes_per_token 1 -> 0.9"),
        (scaled("bytes_per_token", 1.1, 0.001), 0, 1, "differs bytes_per_token 1 -> 1.1 (better)"),
        (scaled("bytes_per_token", 0.999999, 0.1), 0, 1, "differs bytes_per_token 1 -> 0.999999 (not significant)"),
        (scaled("tokens_per_word", 1.1, 0.02), 1, 1, "worse tokens_per_word"),
        (scaled("shannon_entropy", 0.9), 0, 1, "differs shannon_entropy"),
        (value("compression", "continued_word_share", 0.9), 0, 1, "differs continued_word_share"),
        (value("reachability", "unreachable_pipeline", 4), 1, 1, "worse unreachable_pipeline 3 -> 4"),
        (value("reachability", "unreachable_pipeline", 2), 0, 1, "differs unreachable_pipeline 3 -> 2 (better)"),
        (value("integrity", "round_trip_share", 0.995), 1, 1, "worse round_trip_share 1 -> 0.995"),
        (value("integrity", "idempotent_share", 1 - 1e-12), 1, 1, "worse idempotent_share 1 -> 0.999999999999"),
        (value("integrity", "checked_documents", 213), 0, 1, "differs checked_documents"),
        (status("failed"), 1, 1, "worse fails in B: because"),
        (status("skipped"), 2, 2, "not skipped in B: because"),
        (lambda data: data["results"].pop(1), 2, 2, "not B does not"),
        (lambda data: case_of(data, "integrity")["measurements"].pop(0), 2, 2, "not round_trip_share has no number"),
        (
            lambda data: number_of(data, "compression", "bytes_per_token").update(value=None, reason="none"),
            2,
            2,
            "not bytes_per_token has no number",
        ),
        (
            lambda data: number_of(data, "compression", "shannon_entropy").update(value=None, reason="none"),
            0,
            2,
            " shannon_entropy has no number",
        ),
        (lambda data: data["results"].append(dead_tokens(1) | {"corpus": "new", "key": "new"}), 0, 0, "note not in A"),
    ],
)
def test_a_planted_change_has_its_exit_status(
    pair: tuple[Path, Path], change: Change, worse: int, other: int, said: str
) -> None:
    edited(pair[1], change)
    kind, _, words = said.partition(" ")
    for fail_on, code in (("worse", worse), ("any", other)):
        done = gated(*pair, fail_on=fail_on)
        assert done.exit_code == code, done.output
        if code or kind == "note":
            assert any(words in line for line in (reasons(done.output, kind) if kind else done.output.splitlines()))
        else:
            assert "reason" in done.output.splitlines()[-1], "no reason at all"


def test_what_only_the_second_has_is_a_difference(pair: tuple[Path, Path], tmp_path: Path) -> None:
    for change in (
        status("skipped"),
        lambda data: number_of(data, "compression", "bytes_per_token").update(value=None, reason="none"),
    ):
        a = tmp_path / "a.json"
        shutil.copy(pair[0], a)
        edited(a, change)
        for fail_on, code in (("worse", 0), ("any", 1)):
            assert gated(a, pair[1], fail_on=fail_on).exit_code == code


def test_machines_may_differ_by_a_tolerance(pair: tuple[Path, Path]) -> None:
    def tolerant(data: dict[str, Any]) -> None:
        data["metrics"]["bytes_per_token"]["tolerance"] = 1e-3
        scaled("bytes_per_token", 0.9995)(data)

    edited(pair[1], tolerant)
    assert gated(*pair, fail_on="any").exit_code == 0
    edited(pair[1], lambda data: data["metrics"]["bytes_per_token"].update(tolerance=1e-4))
    assert gated(*pair, fail_on="any").exit_code == 1


def test_times_have_no_part_in_it(pair: tuple[Path, Path]) -> None:
    for seconds, path in enumerate(pair, 1):

        def timed(data: dict[str, Any], seconds: int = seconds) -> None:
            about = data["metrics"]["bytes_per_token"] | {"deterministic": False, "direction": "lower", "in_turn": True}
            data["metrics"]["load_seconds"] = about
            time = {"metric": "load_seconds", "value": seconds, "samples": [seconds] * 9}
            case_of(data, "compression")["measurements"].append(time)

        edited(path, timed)
    assert gated(*pair, fail_on="any").exit_code == 0


def test_what_is_worse_comes_first_and_decides(pair: tuple[Path, Path]) -> None:
    edited(pair[1], lambda data: data["results"].pop(1))
    edited(pair[1], scaled("shannon_entropy", 0.9))
    edited(pair[1], value("reachability", "unreachable_pipeline", 4))
    done = gated(*pair, fail_on="any")
    assert done.exit_code == 1
    lines = done.output.splitlines()
    kinds = [line.split()[0] for line in lines[lines.index(reasons(done.output, "worse")[0]) :]]
    assert kinds == ["worse", "differs", "not"]


def test_nothing_compared_is_no_pass(pair: tuple[Path, Path]) -> None:
    for path in pair:
        copy = pair[1].with_name(f"nothing-{path.name}")
        shutil.copy(path, copy)
        edited(
            copy, lambda data: [one.update(status="skipped", reason="so", measurements=[]) for one in data["results"]]
        )
    done = gated(pair[1].with_name("nothing-a.json"), pair[1].with_name("nothing-b.json"))
    assert done.exit_code == 2
    assert "no number" in done.output
    edited(pair[1], lambda data: data["results"].clear())
    assert gated(*pair).exit_code == 2, "no case is shared"


def test_other_text_cannot_be_compared(pair: tuple[Path, Path]) -> None:
    edited(pair[1], lambda data: case_of(data, "compression")["details"]["tally"].update(digest="0" * 32))
    done = gated(*pair)
    assert done.exit_code == 2
    assert "0" * 12 in done.output


# ---------------------------------------------------------------------------------------------- two rows, formats


def two_rows(data: dict[str, Any]) -> None:
    data["tokenizers"]["other"] = {"vocabulary": "sha256:twins"}
    for result in list(data["results"]):
        again = json.loads(json.dumps(result)) | {"tokenizer": "other"}
        again["key"] = again["key"].replace(ROW, "other")
        data["results"].append(again)


def rows(path: Path, *arguments: str) -> Any:
    from click.testing import CliRunner

    from pyharness.cli import main

    return CliRunner().invoke(main, ["compare", str(path), ROW, "other", "--fail-on", *arguments])


def test_two_rows_of_one_record(pair: tuple[Path, Path]) -> None:
    edited(pair[1], two_rows)
    assert rows(pair[1], "any").exit_code == 0
    edited(pair[1], lambda data: data["results"][3]["details"].update(ids="0" * 16))
    for fail_on, code in (("worse", 0), ("any", 1)):
        done = rows(pair[1], fail_on)
        assert done.exit_code == code, "two rows may have different ids"
        assert f"compression | {ROW} -> other | text: different ids, " in done.output
    edited(pair[1], lambda data: data["results"].pop(4))
    assert rows(pair[1], "worse").exit_code == 2


NASTY = "<script>x</script>\x1b[31m|@someone\u202e=cmd()"


@pytest.mark.parametrize("form", ["text", "markdown", "html", "csv", "json", "parquet"])
def test_every_format_holds_and_names_from_strangers_do_nothing(
    pair: tuple[Path, Path], tmp_path: Path, form: str
) -> None:
    def named(data: dict[str, Any]) -> None:
        for result in data["results"]:
            result["corpus"] = f"{NASTY}{result['corpus']}"
            result["key"] = f"{result['key']}{NASTY}"

    a = tmp_path / "a.json"
    shutil.copy(pair[0], a)
    for path in (a, pair[1]):
        edited(path, named)
    edited(pair[1], value("reachability", "unreachable_pipeline", 4))
    out = tmp_path / "out"
    done = gated(a, pair[1], "--format", form, "-o", str(out))
    assert done.exit_code == 1
    assert "worse: reachability" in done.output, "on standard error"
    written = out.read_bytes()
    if form in ("text", "markdown", "html"):
        assert b"unreachable_pipeline 3 -" in written
        assert written.rstrip().decode().count("\x1b") + written.decode().count("\u202e") == 0
    if form in ("markdown", "html"):
        assert b"<script>x" not in re.sub(rb"`[^`\n]*`", b"", written), "but as code"
    if form == "json":
        assert {row["verdict"] for row in json.loads(written)} == {"", "same", "worse"}
    assert "\x1b" not in done.output


def test_a_reader_that_leaves_changes_no_exit_status(pair: tuple[Path, Path]) -> None:
    edited(pair[1], value("reachability", "unreachable_pipeline", 4))
    command = [sys.executable, "-m", "pyharness", "compare", *map(str, pair), "--fail-on", "worse", "--format", "json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait() == 1
    assert process.stderr is not None
    assert b"Traceback" not in (said := process.stderr.read())
    assert b"worse: reachability" in said
    process.stderr.close()
