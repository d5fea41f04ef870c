"""The step that comments, alone in an empty folder: it reads the artifact and nothing else, and believes none of it."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from gating.gates import gate, judgement
from pyharness import report
from pyharness.features.gate import report as gate_report
from workflows.github import BOT, GitHub, served
from workflows.rendered import read

SCRIPT = Path(__file__).parents[3] / ".github" / "scripts" / "post_comment.py"
NAMES: dict[str, Any] = runpy.run_path(str(SCRIPT))
MARK = "<!-- pyharness-gate run 4.2 -->"
SHA, OTHER_SHA, RUN = "a" * 40, "b" * 40, 31
# Says which files are opened for it once it runs, which programs are started and which hosts it talks to.
WATCHED = """
import os, runpy, sys
def say(event, arguments):
    if event in ("open", "os.listdir", "os.scandir", "subprocess.Popen", "os.system", "os.exec", "socket.connect"):
        os.write(2, f"saw {event} {arguments[0] if event != 'socket.connect' else arguments[1]}\\n".encode())
sys.addaudithook(say)
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.fixture
def github() -> Iterator[GitHub]:
    with served(GitHub()) as github:
        github.add_pull(7, SHA, "stranger/pyharness")
        github.add_pull(8, OTHER_SHA, "owner/pyharness")
        yield github


def packed(*members: tuple[str | zipfile.ZipInfo, str | bytes], how: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", how) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def post(github: GitHub, folder: Path, *, watched: bool = False, **changes: Any) -> subprocess.CompletedProcess[str]:
    """Run the script in an empty folder, as the workflow does."""
    work = folder / "empty"
    work.mkdir(exist_ok=True)
    run = {
        "id": RUN, "head_sha": SHA, "head_repository": {"full_name": "stranger/pyharness"}, "html_url": "https://run",
        "event": "pull_request", "pull_requests": [], "run_number": 4, "run_attempt": 2,
    }  # fmt: skip
    event = {"workflow_run": run | changes, "repository": {"full_name": github.repository}}
    (folder / "event.json").write_text(json.dumps(event), encoding="utf-8")
    token = github.token({"actions": "read", "contents": "read", "pull-requests": "write"})
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = subprocess.run(
        [sys.executable, "-I", *(["-c", WATCHED] if watched else []), str(SCRIPT)],
        cwd=work, capture_output=True, text=True, check=False, timeout=60,
        env={"GITHUB_EVENT_PATH": str(folder / "event.json"), "GITHUB_API_URL": github.address, "GITHUB_TOKEN": token},
    )  # fmt: skip
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before, "nothing is unpacked"
    assert "Traceback" not in done.stderr
    return done


def test_it_reads_the_artifact_alone(github: GitHub, tmp_path: Path) -> None:
    github.keep(RUN, packed(("number", "7\n"), ("comment.md", "**Pass: 1 passed.**"), ("gate.json", "{}")))
    done = post(github, tmp_path, watched=True)
    assert (done.returncode, done.stdout) == (0, "posted: pull request 7\n"), done.stderr
    seen = [line.split(" ", 2)[1:] for line in done.stderr.splitlines() if line.startswith("saw ")]
    library = (sys.base_prefix, sys.prefix, "/etc/", "/usr/lib", str(SCRIPT), "/dev/null")
    opened = {name for event, name in seen if event == "open" and not name.startswith(library) and not name.isdecimal()}
    assert opened == {str(tmp_path / "event.json")}
    assert {name for event, name in seen if event == "socket.connect"} == {str(("127.0.0.1", int(github.address[17:])))}
    assert not [name for event, name in seen if event in ("subprocess.Popen", "os.system", "os.exec")]
    paths = [(method, path.partition("?")[0], status) for method, path, status in github.log]
    assert paths == [
        ("GET", f"/repos/owner/pyharness/actions/runs/{RUN}/artifacts", 200),
        ("GET", "/repos/owner/pyharness/actions/artifacts/1/zip", 302),
        ("GET", "/blob/1", 200),
        ("GET", "/repos/owner/pyharness/pulls/7", 200),
        ("GET", "/repos/owner/pyharness/issues/7/comments", 200),
        ("POST", "/repos/owner/pyharness/issues/7/comments", 201),
    ]


GOOD = ("comment.md", "text")
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "number of another pull request": (lambda: packed(("number", "8"), GOOD), "pull request 8 is not open with"),
    "number of none": (lambda: packed(("number", "9"), GOOD), "pulls/9: 404"),
    "number that is a path": (lambda: packed(("number", "8/../7"), GOOD), "its number is not that"),
    "number with another line": (lambda: packed(("number", "7\n8"), GOOD), "its number is not that"),
    "number in other digits": (lambda: packed(("number", "٧"), GOOD), "its number is not that"),
    "no number": (lambda: packed(GOOD), "no file number"),
    "endless number": (lambda: packed(("number", "7" * 99), GOOD), "its file number has more than 20 bytes"),
    "bomb": (lambda: packed(("number", "7"), ("comment.md", bytes(1 << 28))), "more than 262,144 bytes"),
    "link": (lambda: packed((link("number"), "/proc/self/environ"), GOOD), "its number is not that"),
    "paths upwards": (lambda: packed(("../number", "7"), ("/number", "7"), GOOD), "no file number"),
    "compressed as nobody does": (lambda: packed(("number", "7"), GOOD, how=zipfile.ZIP_LZMA), "as GitHub does not"),
    "no archive": (lambda: b"number 7", "read: BadZipFile"),
    "cut archive": (lambda: packed(("number", "7"), GOOD)[:-30], "read: BadZipFile"),
    "other bytes": (lambda: packed(("number", "7"), GOOD, how=0).replace(b"text", b"taxt"), "BadZipFile"),
    "secret": (lambda: packed(("number", "7"), GOOD).replace(b"\x14\0\0\0\x08", b"\x14\0\x01\0\x08"), "RuntimeError"),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_what_a_stranger_may_plant_is_refused(github: GitHub, tmp_path: Path, case: str) -> None:
    make, message = HOSTILE[case]
    (tmp_path / "elsewhere").write_text("as it was", encoding="utf-8")
    github.keep(RUN, make())
    done = post(github, tmp_path)
    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert github.comments == {7: [], 8: []}
    assert {method for method, *_ in github.log} == {"GET"}


def test_a_link_in_place_of_the_comment_is_its_text_and_leads_nowhere(github: GitHub, tmp_path: Path) -> None:
    github.keep(RUN, packed(("number", "7"), (link("comment.md"), "/etc/passwd")))
    assert post(github, tmp_path).returncode == 0
    assert "/etc/passwd\n" in github.comments[7][0]["body"]
    assert "root:" not in github.comments[7][0]["body"]


@pytest.mark.parametrize(
    "changes",
    [{"head_sha": OTHER_SHA}, {"head_repository": {"full_name": "owner/pyharness"}}, {"head_repository": None}],
)
def test_a_run_of_something_else_is_no_proof(github: GitHub, tmp_path: Path, changes: dict[str, Any]) -> None:
    github.keep(RUN, packed(("number", "7"), GOOD))
    done = post(github, tmp_path, **changes)
    assert "is not open with the commit" in done.stderr
    assert github.comments[7] == []


def test_sizes_are_checked_before_anything_is_fetched_and_while_it_is(github: GitHub, tmp_path: Path) -> None:
    github.keep(RUN, bytes((32 << 20) + 2))
    assert "it has more than 33,554,432 bytes" in post(github, tmp_path).stderr
    assert len(github.log) == 1
    github.sizes[1] = 10
    assert "more than 33,554,432 bytes" in post(github, tmp_path).stderr
    assert github.comments[7] == []


def test_several_gates_of_a_run_share_one_comment(github: GitHub, tmp_path: Path) -> None:
    for name, text in (("-b", "@b"), ("", "<details>\n" + "a\n" * 40_000), ("-b", "new b"), ("-deadbeef0", "c")):
        github.keep(RUN, packed(("number", "7"), ("comment.md", text)), f"pyharness-gate{name}")
    for name in ("other", "pyharness-gate-@x", "pyharness-gateway", "pyharness-gate-\n"):
        github.keep(RUN, packed(("number", "8"), ("comment.md", "of another")), name)
    assert post(github, tmp_path).stdout == "posted: pull request 7\n"
    body = github.comments[7][0]["body"]
    assert len(body) < 65_536
    assert "of another" not in body
    told, *parts = read(body.partition("\n")[2]).shown.split("\npyharness-gate")
    assert "3 gates: pyharness-gate, pyharness-gate-b, pyharness-gate-deadbe\u200bef0. Of pyharness-gate, " in told
    assert [part.partition("\n")[0] for part in parts] == ["", "-b", "-deadbe\u200bef0"]
    assert [part.split()[-1] for part in parts[1:]] == ["b", "c"], "the newest of each name"
    assert len(parts[0]) > 15_000


@pytest.mark.parametrize("text", ["x\n" * 60_000, "x" * 120_000])
@pytest.mark.parametrize("count", [1, 2, 8])
def test_a_comment_is_bounded_with_all_that_is_ours(github: GitHub, tmp_path: Path, count: int, text: str) -> None:
    """Names as long as they may be, and parted as often as they may be."""
    for n in range(count):
        name = f"pyharness-gate-{n}a-1" + "b-1" * 32
        github.keep(RUN, packed(("number", "7"), ("comment.md", text)), name)
    run = "https://github.com/" + "o" * 39 + "/" + "r" * 100 + "/actions/runs/12345678901"
    assert post(github, tmp_path, html_url=run).returncode == 0
    body = github.comments[7][0]["body"]
    assert 65_000 < len(body) <= 65_536
    assert body.count(" characters are shown.") == count


def test_gates_of_two_pull_requests_or_of_too_many_names_are_refused(github: GitHub, tmp_path: Path) -> None:
    for n in range(9):
        github.keep(RUN + n // 2, packed(("number", str(7 + n % 2)), GOOD), f"pyharness-gate-{n}")
        github.keep(RUN + 9, packed(("number", "7"), GOOD), f"pyharness-gate-{n}")
    assert "number is not that" in post(github, tmp_path).stderr
    assert "there are more than 8" in post(github, tmp_path, id=RUN + 9).stderr
    assert github.comments == {7: [], 8: []}


@pytest.mark.parametrize(("number", "attempt"), [(4, 1), (3, 9)])
def test_an_older_run_does_not_replace_the_comment_of_a_newer_one(
    github: GitHub, tmp_path: Path, number: int, attempt: int
) -> None:
    github.keep(RUN, packed(("number", "7"), ("comment.md", "newer")))
    assert post(github, tmp_path).stdout == "posted: pull request 7\n"
    github.comments[7][0]["body"] = github.comments[7][0]["body"].replace("\n", "\r\n")
    github.keep(RUN + 1, packed(("number", "7"), ("comment.md", "older")))
    done = post(github, tmp_path, id=RUN + 1, run_number=number, run_attempt=attempt)
    assert (done.returncode, done.stdout) == (0, "the comment of run 4.2, which is newer, stays: pull request 7\n")
    (comment,) = github.comments[7]
    assert comment["body"].startswith(MARK) > ("older" in comment["body"])
    for number, attempt in ((4, 3), (5, 1)):
        done = post(github, tmp_path, id=RUN + 1, run_number=number, run_attempt=attempt)
        assert done.stdout == "updated: pull request 7\n"
    assert comment["body"].startswith("<!-- pyharness-gate run 5.1 -->\n")
    assert "older" in comment["body"]


def test_a_comment_of_somebody_else_with_the_mark_is_left_alone(github: GitHub, tmp_path: Path) -> None:
    others = [{"id": n, "user": {"login": "stranger"}, "body": f"{MARK}\nmine"} for n in range(150)]
    github.comments[7] = [*others, {"id": 150, "user": {"login": BOT}, "body": "of another workflow"}]
    github.keep(RUN, packed(("number", "7"), GOOD))
    assert post(github, tmp_path).stdout == "posted: pull request 7\n"
    assert post(github, tmp_path).stdout == "updated: pull request 7\n"
    assert [one["body"][:4] for one in github.comments[7][:150]] == ["<!--"] * 150
    assert len(github.comments[7]) == 152


@pytest.mark.parametrize("other", [{"user": None}, {"body": None}])
def test_a_comment_without_an_author_or_a_text_is_not_ours(
    github: GitHub, tmp_path: Path, other: dict[str, Any]
) -> None:
    github.comments[7] = [{"id": 9, "user": {"login": BOT}, "body": f"{MARK}\nmine"} | other]
    github.keep(RUN, packed(("number", "7"), GOOD))
    assert post(github, tmp_path).stdout == "posted: pull request 7\n"
    assert post(github, tmp_path).stdout == "updated: pull request 7\n"
    assert github.comments[7][0]["body"] == (f"{MARK}\nmine" if "user" in other else None)


PARTS = (
    "@", "#1", "[x](", "[x]: ", "https://x.example", "//x", "<", "script>", "details>", "/", "a href=x>", "](", ")",
    "![", "&#64;", "&commat;", "someone", "www.x", "GH", "-1", "TICKET", "GHSA-jfh8-c2jm", "deadbeef", "1234567", "F",
    "a@b.example", "owner/repo", "\\", "\n", "\n\n", "`", "```", "~~~", "mermaid", "| a |", "| - |", "&lt;", "!--", " ",
    "summary>", "$", "[^1]", "    ", "> ", "- ", "1. ", "\u200b", "\r", "mailto:", "xmpp:",
    ":", "\\:", "+1", "smile", "\\_", "0.0013715", "1.25",
)  # fmt: skip


@example("mailto:0.0013715:")
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_text_of_a_stranger_does_nothing(text: str) -> None:
    assert read(NAMES["inert"](text)).found == []


@pytest.mark.parametrize(
    "text",
    ["deadbeef", "DEADBEEF01", "f" * 40, "1234567", "a@deadbeef", "@someone", "owner/repo#1", "#1", "GH-1", "gh\\-1",
     "TICKET-12", "GHSA-jfh8-c2jm-xxxx", "https://evil.example", "HTTP://x", "www.evil.example", "a@evil.example",
     "mailto:a@evil.example", "[x](//evil.example)", "[x]: //evil.example\n\n[x]", "![x](//evil.example)", "<b>",
     "<https://evil.example>", "<a href=x>", "&#64;someone", "&commat;someone", "$x$",
     ":+1:", r"\:+1\:", r":\+1:", r":smile\:", r"\:white\_check\_mark\:", "x:a\\-b:", "0.1234567890ab", "v1.1234567",
     "1234567.5", "1.2.3456789", "#0.0013715", "GH-1.5",
     "<details><summary>@x deadbeef</summary>", "```mermaid\nx\n```", "> - 1. ~~~mermaid\nx"],
)  # fmt: skip
def test_forged_text_that_would_act_does_not_when_it_is_posted(github: GitHub, tmp_path: Path, text: str) -> None:
    assert read(text).found, "as it stands it acts"
    github.keep(RUN, packed(("number", "7"), ("comment.md", text)))
    assert post(github, tmp_path).returncode == 0
    mark, told, _, posted = github.comments[7][0]["body"].split("\n", 3)
    assert (mark, read(posted).found) == (MARK, [])
    assert told.startswith(
        f"<sub>Measured by [this run](https://run) at {SHA[:12]}. The text below was made by code of"
    )


@pytest.mark.parametrize("text", ["```\n", "~~~~\n", "<details>", "<details><summary>", "<!-- ", "| a |\n| - |\n| `"])
def test_nothing_that_a_stranger_leaves_open_hides_our_own_line(github: GitHub, tmp_path: Path, text: str) -> None:
    github.keep(RUN, packed(("number", "7"), ("comment.md", text + "x\n" * 40_000)))
    assert post(github, tmp_path).returncode == 0
    body = github.comments[7][0]["body"]
    assert len(body) <= 65_536
    first = read("\n".join(body.splitlines()[1:])).shown.partition("\n")[0]
    assert first.startswith(f"Measured by this run at {SHA[:12]}. The text below was made by code of the pull request.")
    told = re.search(r"Of pyharness-gate, ([\d,]+) of ([\d,]+) characters are shown", first)
    assert told is not None
    shown, all_of_them = (int(number.replace(",", "")) for number in told.groups())
    assert 60_000 < shown == len(body.split("\n", 3)[3]) - 1 < all_of_them == len(NAMES["inert"](text)) + 79_999


def test_our_own_comments_look_as_they_were_made() -> None:
    names = ["encode short", "a|b", "@x", "`", "deadbeef01", "https://x.example", "<b>", "&amp;", "a:/b"]
    judgements = (*(judgement(name) for name in names), judgement("s", "regression", 0.1))
    text = report.to_pull_request(gate_report.gate_comment(gate(*judgements)))
    posted = NAMES["inert"](text)
    assert posted.replace(NAMES["APART"], "") == text
    seen = [read(one) for one in (text, posted)]
    assert seen[0].found == seen[1].found == []
    assert seen[0].shown == seen[1].shown.replace(NAMES["APART"], "")


@pytest.mark.parametrize(
    "text",
    [
        "0.0013715",
        "-0.0013715",
        "123456.78901234",
        "1.2345678e-05",
        "[0.1234567, 0.2345678]",
        "0.1234567.",
        "`0.0013715`",
    ],
)
def test_numbers_are_posted_as_they_stand(text: str) -> None:
    assert NAMES["inert"](text) == text
    assert read(text).found == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 10**6), st.integers(0, 255))
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_damaged_archive_is_refused_or_read(monkeypatch: pytest.MonkeyPatch, place: int, byte: int) -> None:
    data = bytearray(packed(("number", "7"), ("comment.md", "text " * 40)))
    data[place % len(data)] = byte
    kept = {"id": 1, "name": "pyharness-gate", "expired": False, "size_in_bytes": 1}
    monkeypatch.setitem(NAMES["opened"].__globals__, "fetch", lambda *_: bytes(data))
    with contextlib.suppress(SystemExit):  # and no other exception
        assert {type(part) for part in NAMES["opened"]("owner/pyharness", kept)} == {str}
