"""Post the comment that a run of the workflow "Gate" has left in its artifacts, or update the one that is there.

An artifact is made by code of the pull request, a stranger's perhaps: it is read in memory and never unpacked, nothing
in it is run, its size is bounded, its number is compared with the run that GitHub tells of, and its text is posted
below a line of ours, so that it notifies nobody and links nowhere. Needs the standard library alone: ``python3 -I``.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

ARTIFACTS = re.compile(r"pyharness-gate(?:-[A-Za-z0-9._-]{1,100})?")  # their names: of one gate each
MOST_ARTIFACTS = 8
MARK = "<!-- pyharness-gate run {}.{} -->"  # by which the comment is found again; number and attempt of its run
MARKED = re.compile(r"<!-- pyharness-gate run ([0-9]{1,9})\.([0-9]{1,9}) -->\n")
AUTHOR = "github-actions[bot]"
MOST_BYTES_OF_AN_ARTIFACT = 32 << 20
MOST_BYTES_OF_AN_ANSWER = 8 << 20
MOST_CHARACTERS = 65_536  # that GitHub takes, all in all
MOST_PAGES = 30  # of 100 comments
APART = "\u200b"  # no width: text looks the same in code and out of it, and GitHub sees no name, number or address
# What GitHub acts on, and where it is parted. A backslash before a mark is gone when GitHub looks for names.
ACTS = re.compile(
    r"(?P<whole>(?<![\w.])\d{1,6}\.\d+(?:e[+-]?\d+)?(?!\w|\.\w))"  # stays: a decimal, of however many figures
    r"|[@#]|[a-z]\\?-(?=\d)|ghsa(?=\\?-)"  # names, issues (#1, GH-1), tickets and advisories
    r"|[0-9a-f]{6}(?=[0-9a-f])"  # commits: seven figures and more
    r"|:(?=[/\\])|www(?=[.\\])|\](?=[(:])"  # links
    r"|:(?=[\w+\\-]+:)"  # symbols by name
    r"|&(?!(?:amp|lt|gt);)|<(?!/?(?:details|summary)>)"  # what stands for these; tags
    r"|^(?:[ \t>*+-]|\d{1,9}[.)])*(?=```|~~~|/)",  # blocks of code, which may be drawn; orders to robots
    re.IGNORECASE | re.MULTILINE,
)
NO_FORMULA = "\uff04"  # looks like a dollar
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def main() -> None:
    """Read the event, the artifact and the pull request; then post."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    run, repository = event["workflow_run"], event["repository"]["full_name"]
    artifacts = kept(repository, run["id"])
    (number, *others) = {one.number for one in artifacts}
    if others or not re.fullmatch("[1-9][0-9]{0,9}", number):
        refuse("its number is not that of a pull request")
    check_pull_request(ask("GET", f"repos/{repository}/pulls/{number}"), run, repository)
    body = commented(artifacts, run)
    there, of_run = posted(repository, number)
    if there is None:
        ask("POST", f"repos/{repository}/issues/{number}/comments", {"body": body})
        done = "posted"
    elif of_run <= (run["run_number"], run["run_attempt"]):
        ask("PATCH", f"repos/{repository}/issues/comments/{there}", {"body": body})
        done = "updated"
    else:
        done = f"the comment of run {of_run[0]}.{of_run[1]}, which is newer, stays"
    sys.stdout.write(f"{done}: pull request {number}\n")


class Artifact(NamedTuple):
    """What a gate has left, in the words of whoever wrote it."""

    name: str
    number: str
    text: str


def commented(artifacts: Sequence[Artifact], run: Mapping[str, Any]) -> str:
    """Return the comment: our mark, our line, and then the stranger's text as far as there is room.

    What begins in that text and does not end there, be it code or a fold, hides nothing of ours.
    """
    told = [f"Measured by [this run]({run['html_url']}) at {run['head_sha'][:12]}."]
    told.append("The text below was made by code of the pull request.")
    names, texts = [inert(one.name) for one in artifacts], [inert(one.text).strip() for one in artifacts]
    if len(names) > 1:
        told.append(f"{len(names)} gates: {', '.join(names)}.")
    mark = MARK.format(run["run_number"], run["run_attempt"])

    def written(shown: Sequence[str]) -> str:
        parts = shown if len(names) == 1 else [f"### {name}\n\n{one}" for name, one in zip(names, shown, strict=True)]
        line = " ".join([*told, *left_out(names, texts, shown)])
        return "\n\n".join([f"{mark}\n<sub>{line}</sub>", *parts]) + "\n"

    # What is ours, where something is left out of every text, has no more figures than it has with these.
    room = MOST_CHARACTERS - len(written([""] * len(texts))) - len(texts) * len(f"{max(map(len, texts)):,}")
    return written([cut(text, room // len(texts)) for text in texts])


def left_out(names: Sequence[str], texts: Sequence[str], shown: Sequence[str]) -> list[str]:
    """Return a sentence for each text that is not shown whole."""
    return [
        f"Of {name}, {len(part):,} of {len(text):,} characters are shown."
        for name, text, part in zip(names, texts, shown, strict=True)
        if part != text
    ]


def cut(text: str, most: int) -> str:
    """Return text of at most so many characters, in whole lines where it has lines."""
    return text if len(text) <= most else text[:most].rpartition("\n")[0] or text[:most]


def kept(repository: str, run: int) -> list[Artifact]:
    """Return what the gates of a run have left, by name; of a run that was repeated, the newest."""
    listed = ask("GET", f"repos/{repository}/actions/runs/{run}/artifacts?per_page=100")["artifacts"]
    newest = {
        one["name"]: one
        for one in sorted(listed, key=lambda one: int(one["id"]))
        if ARTIFACTS.fullmatch(one["name"]) and not one["expired"]
    }
    if not newest:
        refuse("there is none: the gate did not get as far")
    if len(newest) > MOST_ARTIFACTS:
        refuse(f"there are more than {MOST_ARTIFACTS}")
    return [opened(repository, newest[name]) for name in sorted(newest)]


def opened(repository: str, listed: Mapping[str, Any]) -> Artifact:
    """Return what is in an artifact, which comes as it was uploaded: an archive, read in memory."""
    if listed["size_in_bytes"] > MOST_BYTES_OF_AN_ARTIFACT:
        refuse(f"it has more than {MOST_BYTES_OF_AN_ARTIFACT:,} bytes")
    path = f"repos/{repository}/actions/artifacts/{listed['id']}/zip"
    try:
        archive = zipfile.ZipFile(io.BytesIO(fetch("GET", path, None, MOST_BYTES_OF_AN_ARTIFACT)))
    except Exception as error:  # whatever a stranger's archive makes of its reader
        refuse(f"it cannot be read: {type(error).__name__}")
    return Artifact(
        listed["name"], member(archive, "number", 20).strip(), member(archive, "comment.md", 4 * MOST_CHARACTERS)
    )


def member(archive: zipfile.ZipFile, name: str, most: int) -> str:
    """Return the text of one file of the archive, of at most ``most`` bytes: no more is decompressed."""
    if name not in archive.namelist():
        refuse(f"it has no file {name}")
    if archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # no others are bounded
        refuse(f"its file {name} is compressed as GitHub does not")
    try:
        with archive.open(name) as file:
            data = file.read(most + 1)
    except Exception as error:
        refuse(f"its file {name} cannot be read: {type(error).__name__}")
    if len(data) > most:
        refuse(f"its file {name} has more than {most:,} bytes")
    return data.decode("utf-8", "replace")


def check_pull_request(pull: dict[str, Any], run: dict[str, Any], repository: str) -> None:
    """Refuse a pull request that is not the one which the run was of, as GitHub itself says."""
    head = pull["head"]
    source = None if head["repo"] is None else head["repo"]["full_name"]
    of_run = (
        None if run["head_repository"] is None else run["head_repository"]["full_name"]
    )  # None: a fork that is gone
    same = (head["sha"], source) == (run["head_sha"], of_run)
    if not same or pull["base"]["repo"]["full_name"] != repository or pull["state"] != "open":
        refuse(f"pull request {pull['number']} is not open with the commit {run['head_sha'][:12]} that the run was of")


def inert(text: str) -> str:
    """Return Markdown of a stranger as it may be posted in our name: tables and folds stay, names and links do not act.

    >>> inert("ask @someone").replace(APART, "|"), inert("[x](https://x)").replace(APART, "|")
    ('ask @|someone', '[x]|(https:|//x)')
    """
    return ACTS.sub(
        lambda match: match[0] if match["whole"] else match[0] + APART, CONTROL.sub("", text).replace("$", NO_FORMULA)
    )


def posted(repository: str, number: str) -> tuple[int | None, tuple[int, int]]:
    """Return the comment of ours that is there, or None, and the run it is of: others may have written a mark, too."""
    for page in range(1, MOST_PAGES + 1):
        comments = ask("GET", f"repos/{repository}/issues/{number}/comments?per_page=100&page={page}")
        for one in comments:
            author, body = (one["user"] or {}).get("login"), one["body"] or ""  # null: an account that is gone, no text
            if author == AUTHOR and (marked := MARKED.match(body.replace("\r", ""))):
                return int(one["id"]), (int(marked[1]), int(marked[2]))
        if len(comments) < 100:
            break
    return None, (0, 0)


def ask(method: str, path: str, content: dict[str, str] | None = None) -> Any:
    """Return what GitHub answers, as JSON values."""
    return json.loads(fetch(method, path, content, MOST_BYTES_OF_AN_ANSWER))


def fetch(method: str, path: str, content: dict[str, str] | None, most: int) -> bytes:
    """Return at most so many bytes. The token stays with the first host: an artifact lies at another."""
    address = f"{os.environ['GITHUB_API_URL']}/{path}"
    data = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(address, data, method=method)  # noqa: S310 -- GitHub's own address
    request.add_header("Accept", "application/vnd.github+json")
    request.add_unredirected_header("Authorization", f"Bearer {os.environ['GITHUB_TOKEN']}")
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            received: bytes = answer.read(most + 1)
    except urllib.error.HTTPError as error:
        sys.exit(f"error: {method} {path}: {error.code} {error.reason}")
    except OSError as error:
        sys.exit(f"error: {method} {path}: {error}")
    if len(received) > most:
        sys.exit(f"error: {method} {path}: more than {most:,} bytes")
    return received


def refuse(reason: str) -> NoReturn:
    """End without a comment."""
    sys.exit(f"error: artifact of the gate: {reason}; nothing was posted")


if __name__ == "__main__":
    main()
