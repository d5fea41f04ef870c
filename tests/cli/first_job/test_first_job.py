"""The first real job, "which of six tokenizers is best for my Estonian and Python?": what a new user gets to see.

Transcripts of a terminal, a pipe and a notebook lie beside this file. What differs from run to run stands in them as
``<time>``, ``<seconds>`` and ``<speeds>``. Where wording has been changed on purpose, write them anew, and read what
changes::

    PYHARNESS_RENEW_TRANSCRIPTS=1 python -m pytest -m process tests/cli/first_job
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from cases.command_line import RUN, program
from transcripts import first_job
from transcripts.terminal import COLUMNS, screen, typed

HERE = Path(__file__).parent
RENEW = "PYHARNESS_RENEW_TRANSCRIPTS"
ROWS = [part for row in first_job.ROWS for part in ("-t", row)]
TEXTS = [part for text in first_job.TEXTS for part in ("-c", text)]
BEST = ["file:code/tokenizer.json", "file:both/model.json"]
TIMED = "throughput?threads=1&corpora=estonian&tokenizers=small,raw_bytes"
_VARIES = (
    (r"(custom)-\d{8}-\d{6}(-\d+)?", r"\1-<time>"),
    (r"\d+\.\d s(?=  )", "<seconds> s"),
    (r"(cases? in) [\d,]+ s", r"\1 <seconds> s"),
    (r"(?m)^(Fastest \w+ ).*(?:\n {12,}.*)*", r"\1<speeds>"),
    (r"  \(about [^)]* left\)", ""),  # now and then
    (r"(?s)CV above.*?rounds=10'\.\n", ""),  # where the machine was not quiet
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    first_job.make(tmp_path)
    return tmp_path


def kept(text: str) -> str:
    """Text without what differs from run to run."""
    for pattern, instead in _VARIES:
        text = re.sub(pattern, instead, text)
    return re.sub(r"(?m)^Throughput.*\n(?:.+\n)*?(?=cold: )", _speeds, text)


def _speeds(table: re.Match[str]) -> str:
    """A table whose columns are as wide as its numbers are long."""
    title, *lines = table[0].splitlines()
    shown = [re.sub(r"(\S)  +", r"\1  ", line.strip()) for line in lines]
    return "\n".join([title, *(re.sub(r"(  ([\d.]+|-)){5,}$", "  <speeds>", line) for line in shown)]) + "\n"


def check(name: str, transcript: str) -> None:
    """Compare with the transcript that is kept, or keep this one."""
    path = HERE / name
    if os.environ.get(RENEW):
        path.write_text(transcript, encoding="utf-8")
    before = path.read_text(encoding="utf-8")
    advice = (
        f"if this is meant, run {RENEW}=1 python -m pytest -m process tests/cli/{HERE.name} and read what git diff says"
    )
    assert transcript.splitlines() == before.splitlines(), advice


def prompt(*arguments: str) -> str:
    return f"$ pyharness {shlex.join(arguments)}\n"


def test_in_a_terminal(folder: Path) -> None:
    told = ""

    def say(*arguments: str) -> str:
        nonlocal told
        status, written = typed([*RUN, *arguments], folder)
        shown = screen(written)
        assert status == 0, shown
        assert max(map(len, shown.splitlines())) <= COLUMNS
        told += prompt(*arguments) + shown + "\n"
        return written

    say("run", "-t", "raw_bytes", "-t", "small=file:small/model.json", "-c", "path:estonian.txt", "-b", "compression")
    written = say("run", *ROWS, *TEXTS, "-b", "compression", "-b", "reachability", "-b", TIMED)
    assert re.search(r"\d/\d\d\b.*throughput x1", written), "no bar"
    (record,) = re.findall(r"^record: (.*?)\r?$", written, re.MULTILINE)
    say("compare", record, *BEST)
    tables = screen(typed([*RUN, "report", record], folder)[1])
    assert tables in screen(written), "report shows what run has shown"
    check("terminal.txt", kept(told))


def test_in_a_pipe(folder: Path) -> None:
    told = ""
    for arguments in (
        ("run", *ROWS, *TEXTS, "-b", "compression", "-o", "job.json"),
        ("compare", "job.json", *BEST, "small"),
        ("run", *ROWS, *TEXTS, "-b", "compression", "-o", "job.json", "--resume"),
    ):
        done = subprocess.run(
            [*RUN, *arguments], cwd=folder, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env={name: value for name, value in os.environ.items() if name not in ("COLUMNS", "PYHARNESS_DATA")},
        )  # fmt: skip
        assert "\x1b" not in done.stdout
        told += prompt(*arguments) + done.stdout + "\n"
    tables = program("report", "job.json", cwd=folder).stdout
    assert tables in told
    check("pipe.txt", kept(told))


CELLS = [
    f"""import pyharness

rows = {list(first_job.ROWS)}
result = pyharness.run(rows, {list(first_job.TEXTS)}, ["compression"])""",
    "result",
    f"""frame = result.compare({BEST[0]!r}, {BEST[1]!r})
estonian = frame[frame.cases.str.endswith("estonian")]
estonian[estonian.metric == "bytes_per_token"][["a", "b", "p", "verdict"]]""",
]
EXECUTED = """
import json, sys, nbclient, nbformat
cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
notebook = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(notebook, timeout=250, kernel_name="python3").execute()
print(json.dumps(notebook.cells))
"""


def test_in_a_notebook(folder: Path) -> None:
    for library in ("nbclient", "ipykernel"):
        pytest.importorskip(library, reason=f"{library} is not installed: it runs a notebook")
    own = {"IPYTHONDIR": str(folder / "ipython"), "JUPYTER_RUNTIME_DIR": str(folder / "jupyter")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", EXECUTED], cwd=folder, check=True, input=json.dumps(CELLS), text=True,
        stdout=subprocess.PIPE, env=os.environ | own,
    )  # fmt: skip
    cells = json.loads(done.stdout)
    told = ""
    for number, cell in enumerate(cells, 1):
        told += f"In [{number}]: {cell['source']}\n\n"
        told += "".join(f"{kind}: {text}\n" for kind, text in map(_shown, cell["outputs"]))
    pages = [output["data"] for output in cells[1]["outputs"]]
    assert [sorted(page) for page in pages] == [["text/html", "text/plain"]]
    tables = _Tables(pages[0]["text/html"])
    titles = [table.splitlines()[0] for table in pages[0]["text/plain"].split("\n\n")]
    assert tables.captions == titles
    numbers = re.findall(r"\d\.\d+ ±\d\.\d+", pages[0]["text/plain"])
    assert set(tables.cells) > {*first_job.ROWS[:-1], "small", *numbers}
    check("notebook.txt", kept(told))


def _shown(output: dict[str, Any]) -> tuple[str, str]:
    if output["output_type"] == "stream":
        return output["name"], output["text"]
    return output["output_type"], output["data"]["text/plain"]


class _Tables(HTMLParser):
    """Captions and cells of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.captions: list[str] = []
        self.cells: list[str] = []
        self._open: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag in ("caption", "td"):
            self._open = self.captions if tag == "caption" else self.cells
            self._open.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("caption", "td"):
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data
