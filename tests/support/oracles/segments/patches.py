"""Slow references of patches of bytes: lengths, one place at a time, written from docs/algorithms.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def lengths(starts: Iterable[int], n: int) -> list[int]:
    """Lengths of the units of ``n`` bytes that start there."""
    places = sorted(starts)
    return [after - before for before, after in zip(places, [*places[1:], n], strict=True)]


def static(n: int, size: int) -> list[int]:
    return [size] * (n // size) + ([n % size] if n % size else [])


def paper_space(data: bytes) -> list[int]:
    """A new patch behind every space-like byte that no space-like byte stands before."""
    like = [not (48 <= b <= 57 or 65 <= b <= 90 or 97 <= b <= 122 or 128 <= b <= 191) for b in data]
    return lengths({0} | {i + 1 for i in range(len(data) - 1) if like[i] and not (i > 0 and like[i - 1])}, len(data))


def repo_space(ids: Sequence[int], offset: int = 4) -> list[int]:
    """The authors' rule on ids (bytes + 4; below are marks), of which there is one more: the next."""
    n = len(ids)
    like = [b < 48 or 57 < b < 65 or 90 < b < 97 or 122 < b < 128 or b >= 192 for b in (t - offset for t in ids)]
    end = [like[0]] + [like[i] and not like[i - 1] for i in range(1, n)]
    end = [e or ids[i] < offset for i, e in enumerate(end)]
    return lengths({0, 1} | {i + 1 for i in range(1, n) if end[i]}, n + 1)


def by_entropy(
    h: Sequence[float], n: int, threshold: float, mode: str = "global", added: float = 0.0, longest: int | None = None
) -> list[int]:
    """Patches of ``n`` bytes; ``h[i]`` is the entropy of the prediction of byte i + 1. Starts 0 and 1 are given."""
    g = h[1:]
    marks = []
    for k in range(len(g)):
        if mode == "global":
            marks.append(g[k] > threshold)
        elif mode == "monotonic":
            marks.append(k == 0 or g[k] - g[k - 1] > threshold)
        else:
            marks.append(k == 0 or (g[k] - g[k - 1] > added and g[k] > threshold and k != 1))
    starts = [0, *([1] if n > 1 else []), *(k + 2 for k in range(len(g)) if marks[k] and k + 2 < n)]
    patches = lengths(starts, n)
    if longest:
        whole = [(one - 1) // longest for one in patches]
        patches = [x for one, k in zip(patches, whole, strict=True) for x in [longest] * k + [one - longest * k]]
    return patches
