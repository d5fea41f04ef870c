"""The report of the tier without networks: growth, bits by way of grouping, and what more text alone does."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from curriculum.curves import Curves, Point
from curriculum.ngram import BPE, CURRICULUM, EPSILONS, GIVEN, PARTS, RANDOM, SYMBOLS, method
from curriculum.slopes import SLOPES, Estimate
from curriculum.tables import table
from small_model.results import Key, Results

WAYS = (*(f"curriculum {epsilon}" for epsilon in EPSILONS), *BPE, RANDOM)


def report(results: Results) -> str:
    """Everything, as Markdown."""
    texts = list(dict.fromkeys(key.method.partition(":")[0] for key in results.lines))
    parts = [_introduction(results), *(part for text in texts for part in _of_text(results, text))]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _introduction(results: Results) -> Iterator[str]:
    yield (
        f"Symbol models of order 5 on {results.setting['bytes']:,} bytes of each text; passages of held-out works are "
        f"scored behind their first {GIVEN} bytes. Intervals of 95 % are over works. This tier tests how tokens are "
        "grouped. It does not test the published slope: nothing here is a network, and five tokens are more text the "
        "longer they are. Verdict on the slope: not testable here, because there is no network."
    )


def _of_text(results: Results, text: str) -> Iterator[Iterator[str]]:
    last = max(int(key.stage.split()[1]) for key in results.lines if key.method == method(text, CURRICULUM))
    yield _growth(results, text)
    yield _grouping(results, text, last)
    yield _more_text(results, text)
    yield _slopes(results, text, last)


def _growth(results: Results, text: str) -> Iterator[str]:
    yield f"### {text}: growth\n"
    head = ("curriculum", "round", "tokens before", "groups", "distinct", "taken", "new tokens", "bytes/token before",
            "seconds: encoding", "modelling", "scoring", "grouping", "growing")  # fmt: skip
    yield from table(head, _growth_rows(results, text))


def _growth_rows(results: Results, text: str) -> Iterator[Sequence[object]]:
    for epsilon in EPSILONS:
        line = results.lines[Key(0, method(text, f"curriculum {epsilon}"), "round 0")]
        for number, one in enumerate(line["rounds"], 1):
            yield (
                f"epsilon {epsilon}", number, f"{one['vocabulary']:,}", f"{one['groups']:,}",
                f"{one['distinct_groups']:,}", f"{one['selected_groups']:,}", f"{one['added']:,}",
                f"{one['bytes'] / one['tokens']:.2f}", *(f"{seconds:.1f}" for seconds in one["seconds"].values()),
            )  # fmt: skip


def _grouping(results: Results, text: str, last: int) -> Iterator[str]:
    yield f"### {text}: bits per character by way of grouping, all of the text\n"
    curves, symbols = Curves(results), (method(text, SYMBOLS), 0)
    yield f"Bytes: {_plain(curves.bits(symbols))}\n"
    head = ("way", "tokens (bytes/token): bits per character, by round", f"last round less {CURRICULUM}")
    yield from table(head, (_way(results, text, way, last) for way in WAYS), left=2)


def _way(results: Results, text: str, way: str, last: int) -> list[object]:
    curves, name = Curves(results), method(text, way)
    numbers = sorted({int(key.stage.split()[1]) for key in results.lines if key.method == name} - {0})
    cells = []
    for number in numbers:
        line = next(one for key, one in results.lines.items() if key[1:] == (name, f"round {number}"))
        bits = curves.bits((name, number))
        assert bits is not None
        cells.append(f"{line['ids']:,} ({line['bytes'] / line['tokens']:.2f}): {bits.value:.4f}")
    other = (method(text, CURRICULUM), last)
    gap = None if way == CURRICULUM or not way.startswith(("BPE", RANDOM)) else _gap(results, (name, last), other)
    return [way, "; ".join(cells), gap]


def _gap(results: Results, point: Point, other: Point) -> str:
    """Bits beyond another way; random groups as the mean over their seeds."""
    seeds = Curves(results).seeds([point])
    found = [_one_seed(results, point, other, seed) for seed in seeds]
    first = found[0]
    if len(found) == 1:
        return first.over_works
    spread = statistics.stdev(one.value for one in found)
    mean = statistics.fmean(one.value for one in found)
    return f"{mean:+.4f} ± {first.works or 0:.4f} over works; {len(found)} draws, standard deviation {spread:.4f}"


def _one_seed(results: Results, point: Point, other: Point, seed: int) -> Estimate:
    """Compare a draw with what has one seed alone."""
    lines = {Key(0, *key[1:]): line for key, line in results.lines.items() if key.seed == seed and key[1] == point[0]}
    kept = {key: line for key, line in results.lines.items() if key.method == other[0]}
    found = Curves(Results(results.path, results.setting, {**kept, **lines})).difference(point, other)
    assert found is not None
    return found


def _more_text(results: Results, text: str) -> Iterator[str]:
    yield f"### {text}: what more text alone does, bits per character\n"
    head = ("share of the text", "bytes", f"{CURRICULUM}, the round of that share", "the round less bytes, same text",
            "bytes less bytes on the first share")  # fmt: skip
    curves, rows = Curves(results), []
    for number in range(PARTS):
        symbols, name = (method(text, SYMBOLS, number + 1), 0), (method(text, CURRICULUM, number + 1), number)
        first = (method(text, SYMBOLS, 1), 0)
        rows.append([
            f"{number + 1}/{PARTS}", _plain(curves.bits(symbols)), _plain(curves.bits(name)) if number else "",
            _works(curves.difference(name, symbols)) if number else "", _works(curves.difference(symbols, first)),
        ])  # fmt: skip
    yield from table(head, rows)


def _slopes(results: Results, text: str, last: int) -> Iterator[str]:
    yield f"### {text}: slopes of {CURRICULUM}, bits per character for ten times the tokens\n"
    growing = [(method(text, CURRICULUM, number + 1), number) for number in range(1, last + 1)]
    whole = [(method(text, CURRICULUM), number) for number in range(1, last + 1)]
    rows = {
        "as published: every point has more text, bytes the least": [(method(text, SYMBOLS, 1), 0), *growing],
        "the same points, bytes on as much text as the last": [(method(text, SYMBOLS, last + 1), 0), *growing],
        "all points on all of the text": [(method(text, SYMBOLS), 0), *whole],
    }
    curves = Curves(results)
    found = ([said, *(_works(curves.number(points, of)) for of in SLOPES.values())] for said, points in rows.items())
    yield from table(("points", *SLOPES), found)


def _works(found: Estimate | None) -> str:
    return "" if found is None else found.over_works


def _plain(found: Estimate | None) -> str:
    return "" if found is None else found.over_works.replace("+", "")
