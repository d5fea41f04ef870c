"""Zip archives of strangers: within bounds, whatever they say of themselves."""

from __future__ import annotations

import io
import zipfile

import pytest

from pyharness.system import archive


def packed(*members: tuple[str, bytes, int]) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content, packing in members:
            made.writestr(name, content, packing)
    return file


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_what_is_stored_or_deflated_is_read_up_to_a_bound(packing: int) -> None:
    opened = archive.opened(packed(("a", b"x" * 1000, packing)))
    assert archive.read(opened, "a", 1000) == b"x" * 1000
    with pytest.raises(zipfile.BadZipFile, match=r"'a' .*\b999 bytes"):
        archive.read(opened, "a", 999)
    with pytest.raises(archive.DAMAGE):
        archive.read(opened, "b", 999)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_what_is_packed_otherwise_is_refused_unread(packing: int) -> None:
    with pytest.raises(zipfile.BadZipFile, match=f"method {packing}"):
        archive.read(archive.opened(packed(("a", b"x", packing))), "a", 10)


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_member_may_be_larger_than_a_piece_of_the_file(packing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    content = bytes(range(256)) * 1000
    file = packed(("a", content, packing))
    monkeypatch.setattr(archive, "MOST_AT_ONCE", 1 << 12)
    assert archive.read(archive.opened(file), "a", 1 << 20) == content


def test_a_directory_of_more_members_than_a_piece_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = packed(*((f"member {number}", b"", zipfile.ZIP_STORED) for number in range(200)))
    assert len(archive.opened(file).namelist()) == 200
    monkeypatch.setattr(archive, "MOST_AT_ONCE", 1 << 12)
    with pytest.raises(archive.DAMAGE):
        archive.opened(file)


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\x05\x06" + bytes(18)[:-1], bytes(99)])
def test_what_is_no_archive(content: bytes) -> None:
    with pytest.raises(archive.DAMAGE):
        archive.opened(io.BytesIO(content))
