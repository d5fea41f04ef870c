"""The policy of a page: its one style sheet and its one script, by their digests, and nothing else."""

from __future__ import annotations

import base64
import hashlib

from paged import made, reading
from pyharness.report import page

TREE = reading.read(page.to_report([page.RecordFile("a.json", made.record(["a"], ["b"]))]))


def digest(element: reading.Element) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(element.said.encode()).digest()).decode() + "'"


def test_the_policy_names_the_style_sheet_and_the_script() -> None:
    (meta,) = (one for one in TREE.all("meta") if one.attributes.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in str(meta.attributes["content"]).split("; "))
    assert rules == {
        "default-src": "'none'", "style-src": digest(TREE.one("style")), "script-src": digest(TREE.one("script")),
        "base-uri": "'none'", "form-action": "'none'",
    }  # fmt: skip


def test_it_comes_before_all_that_it_rules() -> None:
    head = [one for one in TREE.one("head").children if isinstance(one, reading.Element)]
    assert [one.attributes.get("http-equiv", one.attributes.get("charset")) for one in head[:2]] == [
        "utf-8",
        "Content-Security-Policy",
    ]


def test_nothing_needs_what_the_policy_forbids() -> None:
    for one in TREE.walk():
        assert not [name for name in one.attributes if name.startswith("on") or name in ("style", "src", "srcdoc")]
        assert one.tag not in ("link", "img", "iframe", "object", "embed", "base", "form")
        address = one.attributes.get("href")
        assert address is None or address.startswith(("#", "data:"))
