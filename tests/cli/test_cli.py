"""The command line as a person or a script meets it: exit codes, messages, pipes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

from pyharness import suite
from pyharness.cli import progress, running
from pyharness.commands import session
from pyharness.types import Case, CaseResult, InputError, TrainingProgress

RUN = [sys.executable, "-P", "-m", "pyharness"]
QUICK = ("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression")


def call(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYHARNESS_DATA"} | variables
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=environment, encoding="utf-8"
    )


def refused(*arguments: str, cwd: Path | None = None, **variables: str) -> str:
    done = call(*arguments, cwd=cwd, **variables)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


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


def test_everything_unknown_is_named_at_once_before_anything_runs(tmp_path: Path) -> None:
    message = refused("run", "-t", "raw_byte", "-c", "sampel", "-b", "sped", "-b", "throughput?byts=1", cwd=tmp_path)
    for expected in ("'raw_byte'; did you mean 'raw_bytes'?", "'sampel'; did you mean 'sample'", "'sped'", "'byts'"):
        assert expected in message
    assert all(line.startswith("error: ") for line in message.splitlines())
    assert not list(tmp_path.iterdir())


def test_bad_text_is_exit_code_two_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"text": \n', encoding="utf-8")
    output = tmp_path / "r.json"
    done = call(*QUICK, "-c", f"path:{tmp_path / 'bad.jsonl'}", "-o", str(output))
    assert done.returncode == 2
    assert "bad.jsonl" in done.stderr.splitlines()[-1]
    assert "line 2" in done.stderr
    states = {(one["corpus"], one["status"]) for one in json.loads(output.read_text(encoding="utf-8"))["results"]}
    assert ("sample:prose", "ok") in states


def test_a_missing_extra_says_what_to_install() -> None:
    script = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'mistral_common' else real(name, *a)\n"
        "from pyharness.cli import main; main()\n"
    )
    command = [sys.executable, "-P", "-c", script, "run", "-t", "mistral:v3", "-c", "sample"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'pyharness[zoo]'" in done.stderr


def test_a_suite_that_needs_data_says_so() -> None:
    assert "PYHARNESS_DATA, which is not set" in refused("run", "full")


def test_unwritable_output_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "cannot write to" in refused(*QUICK, "-o", str(tmp_path / "file" / "r.json"))


def test_resume_without_a_run_to_resume(tmp_path: Path) -> None:
    assert "no unfinished run" in refused(*QUICK, "--resume", cwd=tmp_path)


def test_comparing(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    call(*QUICK, "-t", "mistral:v3", "-o", str(output))
    done = call("compare", str(output), "raw_bytes", "mistral:v3")
    assert done.returncode == 0, done.stderr
    assert "bytes_per_token" in done.stdout
    assert "better" in done.stdout
    assert "same" in call("compare", str(output), str(output)).stdout
    assert "| metric |" in call("compare", str(output), str(output), "--format", "markdown").stdout
    assert "unknown tokenizer in this record 'mistral:v2'" in refused("compare", str(output), "raw_bytes", "mistral:v2")


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


def test_an_output_is_never_overwritten_unasked(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    for folder in (str(tmp_path), f"{tmp_path}/", ".", ".."):
        assert "is a folder; name a file in it" in refused(*QUICK, "-o", folder, cwd=tmp_path)
    assert not list(tmp_path.iterdir())
    output.write_text("mine", encoding="utf-8")
    assert "exists already: replace it with --force" in refused(*QUICK, "-o", str(output))
    assert "no unfinished run to resume" in refused(*QUICK, "-o", str(output), "--resume")
    assert output.read_text(encoding="utf-8") == "mine"
    assert call(*QUICK, "-q", "-o", str(output), "--force").returncode == 0
    assert json.loads(output.read_text(encoding="utf-8"))["complete"] is True
    with pytest.raises(InputError, match="overwrite=True"):
        session.run(["raw_bytes"], ["sample:prose"], ["load"], output=output)
    session.run(["raw_bytes"], ["sample:prose"], ["load"], output=output, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]
    assert "--force" in call("run", "--help").stdout
    assert "is a folder" in refused("report", str(output), "--format", "parquet", "-o", ".", cwd=tmp_path)


def test_parameters_on_the_command_line(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    chosen = ("-b", "throughput?bytes=20kB&threads=1")
    done = call("run", "-t", "raw_bytes", "-c", "sample:prose", *chosen, "-q", "-o", str(output))
    assert done.returncode == 0, done.stderr
    results = json.loads(output.read_text(encoding="utf-8"))["results"]
    assert {"bytes": 20_000, "threads": 1} in [one["parameters"] for one in results]
    assert running._benchmark("throughput?threads=1,2&bytes=2MB") == {
        "name": "throughput",
        "threads": [1, 2],
        "bytes": "2MB",
    }
    assert running._benchmark("x?corpora=a,1&tokenizers=b&u=\u00b2") == {
        "name": "x",
        "corpora": ["a", "1"],
        "tokenizers": ["b"],
        "u": "\u00b2",
    }


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("throughput?threads=1,9999", "benchmark 'throughput': threads = 9999"),
        ("throughput?threads=0", "threads = 0 is out of range"),
        ("throughput?bytes=", "bytes= is not a size"),
        ("throughput?bytes", "option 'bytes' is not key=value"),
        ("throughput?bytes=\u00b2", "is not a size"),
        ("throughput?bytes=" + "9" * 5000, "benchmark 'throughput': bytes"),
        ("throughput?bytes=1&bytes=2", "gives bytes= twice"),
        ("throughput?name=load", "'name' is no parameter"),
        ("throughput?tokenizers=nobody", "unknown tokenizer 'nobody'"),
        ("compression?list_unused=1", "list_unused = 1 is not true or false"),
    ],
)
def test_bad_parameters_on_the_command_line(tmp_path: Path, chosen: str, message: str) -> None:
    said = refused("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", chosen, cwd=tmp_path)
    assert message in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("columns", ["", "wide", "-1", "0", "\u00b2", "1" * 30])
def test_columns_that_are_no_number(columns: str) -> None:
    done = call("list", "suites", COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_folder_named_like_a_suite_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    assert "PYHARNESS_DATA" in refused("run", "full", cwd=tmp_path)


def test_resuming_finds_the_journals_of_its_own_suite_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / running.RESULTS
    folder.mkdir()
    latest = ("a-20260102-000000", "a-20260102-000000-9", "a-20260102-000000-10")
    for name in (*latest, "a-20260101-000000", "a-b-20270101-000000", "a-notes"):
        (folder / f"{name}.json.journal").touch()
    assert running._unfinished("a") == Path(running.RESULTS) / "a-20260102-000000-10.json"
    with pytest.raises(InputError, match="no unfinished run"):
        running._unfinished("[ab]")


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


PLUGINS = {
    "raises": ("raise RuntimeError('no luck\\ntoday')", "cannot be imported: RuntimeError: no luck today"),
    "leaves": ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
    "typo": ("def", "cannot be imported: SyntaxError"),
    "lacks": ("import no_such_library", "cannot be imported: No module named 'no_such_library'"),
    "shapeless": ("TOKENIZERS = 5", "TOKENIZERS is not a tuple"),
    "nameless": ("TOKENIZERS = (object(),)", "TOKENIZERS is not a tuple"),
    "doubled": ("from pyharness.tokenizers.families.raw_bytes import TOKENIZERS", "defines 'raw_bytes'"),
}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_broken_plug_in_names_itself(tmp_path: Path, name: str) -> None:
    code, message = PLUGINS[name]
    (tmp_path / f"plug_{name}.py").write_text(code, encoding="utf-8")
    said = refused("list", "tokenizers", PYTHONPATH=str(tmp_path), PYHARNESS_PLUGINS=f"plug_{name}")
    assert f"'plug_{name}'" in said
    assert message in said
    assert len(said.splitlines()) == 1
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[pyharness.tokenizers]\nodd = plug_{name}\n", encoding="utf-8")
    said = refused("list", "tokenizers", PYTHONPATH=str(tmp_path))
    assert "plug-in 'odd' of package stranger" in said
    assert message in said


def test_a_run_that_measured_nothing_says_so(tmp_path: Path) -> None:
    text = tmp_path / "one.txt"
    text.write_text("one document\n", encoding="utf-8")
    options = ("-t", "raw_bytes", "-c", f"path:{text}", "-b", "throughput?threads=1", "-q")
    done = call("run", *options, "-o", str(tmp_path / "r.json"))
    assert done.returncode == 1
    assert "error: nothing was measured: fewer than three documents" in done.stderr
    done = call("run", *options, "-b", "compression", "-o", str(tmp_path / "s.json"))
    assert done.returncode == 0, "one number is enough"


@pytest.mark.parametrize("kilobytes", [100_000, 200_000])
def test_too_small_an_address_space_is_said_at_once(kilobytes: int, tmp_path: Path) -> None:
    run = " ".join([*RUN, "run", "-t", "raw_bytes", "-c", "sample", "-o", str(tmp_path / "r.json")])
    command = f"ulimit -v {kilobytes} || exit 9; exec {run}"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 9:
        pytest.skip("the limit cannot be set here")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"error: an address space of 0\.[12]0 GB is too small: .*", line)
