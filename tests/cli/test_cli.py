"""The command line: runs, records, comparisons, lists."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from cases.command_line import QUICK, RUN, call, refused
from pyharness import suite
from pyharness.cli import progress, run
from pyharness.types import Case, CaseResult, InputError, TrainingProgress


def test_a_run_prints_tables_and_keeps_a_record(tmp_path: Path) -> None:
    done = call(*QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bytes/token" in done.stdout
    assert "[  1/2]" in done.stderr
    (record,) = (tmp_path / "pyharness-results").glob("custom-*.json")
    shown = call("report", str(record))
    assert shown.stdout == done.stdout
    for form in ("markdown", "html", "csv", "json"):
        assert "raw_bytes" in call("report", str(record), "--format", form).stdout
    assert call("report", str(record), "--format", "parquet", "-o", str(tmp_path / "x.parquet")).returncode == 0
    assert (tmp_path / "x.parquet").stat().st_size > 1000
    assert "--output" in refused("report", str(record), "--format", "parquet")


def test_quiet_says_only_where_the_record_is(tmp_path: Path) -> None:
    done = call(*QUICK, "-q", "-o", str(tmp_path / "r.json"))
    assert (done.stdout, done.stderr) == ("", f"record: {tmp_path / 'r.json'}\n")


def test_lengths_are_relative_to_the_reference_that_is_named(tmp_path: Path) -> None:
    done = call(*QUICK, "-t", "mistral:v3", "--reference", "raw_bytes", "-o", str(tmp_path / "r.json"))
    assert re.search(r"NSL .* raw_bytes\.", done.stdout)
    assert done.stderr.endswith(
        f"next: pyharness report {tmp_path / 'r.json'} \\\n  --format html -o {tmp_path / 'r.html'}\n"
    )
    assert "raw_byte" in refused(*QUICK, "--reference", "raw_byte", "-o", str(tmp_path / "s.json"))


def test_comparing(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    call(*QUICK, "-t", "mistral:v3", "-o", str(output))
    done = call("compare", str(output), "raw_bytes", "mistral:v3")
    assert done.returncode == 0, done.stderr
    assert "bytes_per_token" in done.stdout
    assert "better" in done.stdout
    assert "same" in call("compare", str(output), str(output)).stdout
    assert "| pair | same |" in call("compare", str(output), str(output), "--format", "markdown").stdout
    assert re.search("unknown tokenizer.*'mistral:v2'", refused("compare", str(output), "raw_bytes", "mistral:v2"))


@pytest.mark.parametrize("kind", ["tokenizers", "corpora", "metrics", "benchmarks", "suites"])
def test_lists(kind: str) -> None:
    done = call("list", kind)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = json.loads(call("list", kind, "--json").stdout)
    assert len(rows) >= 3
    assert all(row["name"] for row in rows)


def test_env_and_help() -> None:
    assert "cpu" in call("env").stdout
    assert json.loads(call("env", "--json").stdout)["cores"] >= 1
    for arguments in ((), ("run",), ("report",), ("compare",), ("list",), ("env",)):
        assert "Usage" in call(*arguments, "--help").stdout
    assert "pyharness" in call("--version").stdout


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    call(*QUICK, "-q", "-o", str(output))
    process = subprocess.Popen(
        [*RUN, "report", str(output), "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait()
    process.stderr.close()


def test_suites_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'tokenizers = [{ name = "bytes", spec = "raw_bytes" }]\n'
        'corpora = ["sample:code"]\nbenchmarks = ["integrity"]\n',
        encoding="utf-8",
    )
    done = call("run", str(path), "-o", str(tmp_path / "r.json"))
    assert done.returncode == 0, done.stderr
    assert "bytes" in done.stdout
    with pytest.raises(InputError):
        suite.find(str(tmp_path / "other.toml"))


def test_parameters_on_the_command_line(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    chosen = ("-b", "throughput?bytes=20kB&threads=1")
    done = call("run", "-t", "raw_bytes", "-c", "sample:prose", *chosen, "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    results = json.loads(output.read_text(encoding="utf-8"))["results"]
    assert {"bytes": 20_000, "threads": 1} in [one["parameters"] for one in results]
    assert suite.benchmark("throughput?threads=1,2&bytes=2MB") == {
        "name": "throughput",
        "threads": [1, 2],
        "bytes": "2MB",
    }
    assert suite.benchmark("x?corpora=a,1&tokenizers=b&u=\u00b2") == {
        "name": "x",
        "corpora": ["a", "1"],
        "tokenizers": ["b"],
        "u": "\u00b2",
    }


def test_a_folder_named_like_a_suite_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    assert "PYHARNESS_DATA" in refused("run", "full", cwd=tmp_path)


def test_resuming_finds_the_journals_of_its_own_suite_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / run.RESULTS
    folder.mkdir()
    latest = ("a-20260102-000000", "a-20260102-000000-9", "a-20260102-000000-10")
    for name in (*latest, "a-20260101-000000", "a-b-20270101-000000", "a-notes"):
        (folder / f"{name}.json.journal").touch()
    assert run._find_unfinished("a") == Path(run.RESULTS) / "a-20260102-000000-10.json"
    with pytest.raises(InputError, match="no unfinished run"):
        run._find_unfinished("[ab]")


def test_what_is_printed_cannot_drive_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    nasty = "\x1b[31m[red]\u202egnp"
    case = Case("compression", nasty, nasty)
    lines = progress.Lines()
    lines.preparing(nasty, TrainingProgress("reading", 5, "bytes"))
    lines.begin(1)
    lines.started(case)
    lines.finished(CaseResult(case, "failed", f"because {nasty}"))
    out = io.StringIO()
    bar = Progress(
        TextColumn("{task.description}", markup=False), console=Console(file=out, width=200, force_terminal=False)
    )
    with bar:
        shown = progress.Bar(bar)
        shown.preparing(nasty, TrainingProgress("merging", 5, "tokens", 20))
        bar.refresh()
        shown.begin(1)
        shown.started(case)
        shown.progress(case, 5)
        shown.finished(CaseResult(case, "failed", f"because {nasty}"))
    message = refused("run", "-t", nasty, "-c", "sample", cwd=tmp_path)
    for text in (capsys.readouterr().err, out.getvalue(), message):
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "x1b[31m[red]" in text
        assert "because" in text or "unknown tokenizer" in text


def test_the_bar_of_a_terminal_takes_brackets_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with progress.listener(quiet=False) as watching:
        watching.begin(1)
        watching.started(Case("compression", "path:[/a]", "[bold]"))
        assert isinstance(watching, progress.Bar)
        (column,) = (one for one in watching.bar.columns if isinstance(one, TextColumn))
        assert column.render(watching.bar.tasks[0]).plain == "compression  path:[/a]  [bold]"
