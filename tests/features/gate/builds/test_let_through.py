"""What gets through to builds, and what is said of it."""

from __future__ import annotations

import re

import pytest

from pyharness.features.gate.builds import variables
from pyharness.types import InputError


def test_of_pips_variables_those_that_builds_need_pass() -> None:
    needed = dict.fromkeys(
        ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CERT", "PIP_FIND_LINKS", "PIP_CONSTRAINT"), "1"
    )
    kept_out = dict.fromkeys(("PIP_TARGET", "PIP_USER", "PIP_PASSWORD", "PIP_SECRET_TOKEN", "TWINE_PASSWORD"), "1")
    passed = variables.for_building({**needed, **kept_out})
    assert needed.items() <= passed.items()
    assert not passed.keys() & kept_out.keys()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PIP_INDEX_URL", "https://token@host/simple", True),
        ("PIP_INDEX_URL", "https://me:secret@host/simple", True),
        ("PIP_EXTRA_INDEX_URL", "https://one/simple https://token:@host/simple", True),
        ("HTTPS_PROXY", "me:secret@proxy:3128", True),
        ("PIP_INDEX_URL", "https://host/simple/a@b", False),
        ("PATH", "/opt/python@3.11/bin", False),
    ],
)
def test_an_account_in_an_address_is_said(name: str, value: str, said: bool) -> None:
    found = list(variables.exposed({name: value}))
    assert len(found) == said
    assert all(re.match(f"{name} .*password", one) for one in found)


def test_further_variables_are_taken_by_name() -> None:
    assert variables.further(["B", "A", "B"], {"A": "1", "B": "2", "C": "3"}) == {"B": "2", "A": "1"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("GONE", "--pass 'GONE'"),
        ("A=secret", "--pass .*name .*'A'"),
        ("", "--pass .*name .*''"),
    ],
)
def test_what_cannot_be_passed(name: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refusal:
        variables.further([name], {"A": "1"})
    assert "secret" not in str(refusal.value)
