"""The report of the tiers that train networks: growth, what it costs at once, what is reached, slopes, verdicts."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from curriculum import slopes
from curriculum.curves import FIXED_WINDOWS, TOKEN_WINDOWS, Curves, Point
from curriculum.slopes import SLOPES, Estimate
from curriculum.study import ARMS, AT_FLOOR, BASE, CHOOSES, MATCHED, ON, ON_BYTES, ON_GROWN, SCRATCH, SCRATCH_BYTES
from small_model.results import Results

CONTROLS = {
    ON: "the base goes on in the same rounds, as many tokens",
    ON_BYTES: "the base goes on in the same rounds, as much text",
    ON_GROWN: "the base goes on in the same rounds, as many tokens, its body grown",
    SCRATCH: "a new model of characters, as many tokens, the rate falls over all steps",
    SCRATCH_BYTES: "a new model of characters, as much text, the rate falls over all steps",
    MATCHED: "a new model with that vocabulary, as many tokens, the rate falls over all steps",
    AT_FLOOR: "the same, the rate falls over the steps of the base and stays there (as published)",
}


def report(results: Results, lacks: str) -> str:
    """Everything, as Markdown."""
    rounds = sorted({int(key.stage.split()[1]) for key in results.lines if key.method == CHOOSES})
    if not rounds:
        return (
            "\n".join(_setting(results)) + "\n\nNo round has added a token: there are no groups, or it was not run.\n"
        )
    parts = (_setting(results), _growth(results, rounds), _arms(results, rounds), _controls(results, rounds),
             _slopes(results, rounds), _verdicts(results, rounds, lacks))  # fmt: skip
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> Iterator[str]:
    """Lines of a table; the first columns are text."""
    yield f"| {' | '.join(head)} |"
    yield f"|{' :-- |' * left}{' --: |' * (len(head) - left)}"
    yield from (f"| {' | '.join('' if cell is None else str(cell) for cell in row)} |" for row in rows)


def _lines(results: Results, method: str, number: int) -> list[Mapping[str, Any]]:
    return [line for key, line in results.lines.items() if key[1:] == (method, f"round {number}")]


def _mean(lines: Sequence[Mapping[str, Any]], name: str) -> float:
    return statistics.fmean(line[name] for line in lines)


def _setting(results: Results) -> Iterator[str]:
    setting, base = results.setting, _lines(results, BASE, 0)
    shape, sums = setting["shape"], base[0][FIXED_WINDOWS]
    yield (
        f"{shape['layers']} layers of {shape['width']}, context {shape['context']}, {base[0]['weights']:,} weights; "
        f"{setting['characters']:,} characters of text, {base[0]['ids']} of them distinct. The base takes "
        f"{setting['steps'][0]:,} steps of {shape['context'] * shape['batch']:,} tokens, a round "
        f"{setting['steps'][1]:,}. "
        f"Scored are {sum(sums['characters']):,.0f} characters of held-out works in {len(sums['characters'])} groups, "
        f"stretches of {setting['scored']} behind {setting['given']} that are given. "
        f"Groups {_threshold(setting)}. Seeds: {len(base)}. Base: {_bits(Curves(results).bits((BASE, 0)))} bits per "
        f"character, {_mean(base, 'seconds'):.0f} s."
    )


def _threshold(setting: Mapping[str, Any]) -> str:
    said = [f"below {setting['epsilon']:g} nats"] if math.isfinite(setting["epsilon"]) else []
    if setting["row_quantile"] is not None:
        said.append(f"below the {setting['row_quantile']:g}-quantile of their window")
    return " and ".join(said)


def _growth(results: Results, rounds: Sequence[int]) -> Iterator[str]:
    head = ("round", "tokens", "new", "groups", "distinct", "distinct at 0.3 nats", "entropy before, nats",
            "characters/token", "seconds of grouping")  # fmt: skip
    rows = []
    for number in rounds:
        lines = _lines(results, CHOOSES, number)
        growth = [line["growth"] for line in lines]
        read = [line["characters"] / line["tokens"] for line in lines]
        rows.append([
            number, f"{_mean(lines, 'ids'):,.0f}", f"{statistics.fmean(len(line['new']) for line in lines):,.0f}",
            *(f"{_mean(growth, name):,.0f}" for name in ("groups", "distinct", "distinct_published")),
            f"{_mean(growth, 'entropy'):.3f}", f"{statistics.fmean(read):.3f}",
            f"{_mean(lines, 'grouping_seconds'):.1f}",
        ])  # fmt: skip
    asked = len(results.setting["sizes"])
    if len(rounds) < asked:
        yield f"There are {len(rounds)} of {asked} rounds: the next one added nothing, or was not run.\n"
    yield "Growth, means over seeds:\n"
    yield from table(head, rows)


def _arms(results: Results, rounds: Sequence[int]) -> Iterator[str]:
    yield "What growth costs at once, and what is reached: bits per character, intervals over works and seeds\n"
    head = ("rows, body", "round", "seeds", "jump at growth", "± seeds", "steps to recover", "of",
            "bits after the round", "less the base that goes on", "seconds", "weights")  # fmt: skip
    yield from table(
        head, (_arm(results, name, number) for name in ARMS for number in rounds if _lines(results, name, number))
    )


def _arm(results: Results, name: str, number: int) -> list[object]:
    lines, curves = _lines(results, name, number), Curves(results)
    jumps = slopes.estimate([slopes.jump(line["before"], line["probe"][0][1]) for line in lines], [])
    after = ON_GROWN if name.endswith("grown") else ON
    return [
        name, number, len(lines), f"{jumps.value:+.3f}", "" if jumps.seeds is None else f"{jumps.seeds:.3f}",
        ", ".join(_recovered(line) for line in lines), lines[0]["steps"], f"{_bits(curves.bits((name, number)))}",
        curves.difference((name, number), (after, number)), f"{_mean(lines, 'seconds'):.0f}",
        f"{_mean(lines, 'weights'):,.0f}",
    ]  # fmt: skip


def _recovered(line: Mapping[str, Any]) -> str:
    steps, bits = zip(*line["probe"], strict=True)
    found = slopes.steps_to_recover(steps, bits, line["before"])
    return "never" if found is None else str(found)


def _bits(found: Estimate | None) -> str:
    return "" if found is None else str(found).replace("+", "")


def _controls(results: Results, rounds: Sequence[int]) -> Iterator[str]:
    yield "Models that train as long, bits per character:\n"
    head = ("model", "what it is", "round", "seeds", "tokens read", "characters read", "bits", "seconds")
    kept = [(name, number) for name in CONTROLS for number in rounds if _lines(results, name, number)]
    yield from table(head, (_control(results, *one) for one in kept), left=2)


def _control(results: Results, name: str, number: int) -> list[object]:
    lines = _lines(results, name, number)
    return [
        name, CONTROLS[name], number, len(lines), f"{_mean(lines, 'tokens'):,.0f}",
        f"{_mean(lines, 'characters'):,.0f}", _bits(Curves(results).bits((name, number))),
        f"{_mean(lines, 'seconds'):.0f}",
    ]  # fmt: skip


def _slopes(results: Results, rounds: Sequence[int]) -> Iterator[str]:
    yield "Slopes, bits per character for ten times the tokens:\n"
    head = ("curve", "its first point", "context", *SLOPES)
    yield from table(head, _slope_rows(results, rounds), left=3)


def _slope_rows(results: Results, rounds: Sequence[int]) -> Iterator[list[object]]:
    last = rounds[-1]
    for name in (*ARMS, MATCHED, AT_FLOOR):
        of = [Curves(results, kind) for kind in (FIXED_WINDOWS, TOKEN_WINDOWS)]
        for curves, windows in zip(of, ("equal", f"{results.setting['shape']['context']} tokens"), strict=True):
            found = [curves.number(_curve(name, rounds), slope) for slope in SLOPES.values()]
            if any(found):
                yield [name, "the base", windows, *found]
        same = {ON: "the base that went on as long", ON_BYTES: "the base that went on with as much text"}
        if name in (MATCHED, AT_FLOOR):
            same = {SCRATCH: "characters trained as long", SCRATCH_BYTES: "characters trained on as much text"}
        for anchor, said in same.items():
            if (slope := of[0].number([(anchor, last), (name, last)], slopes.end_points)) is not None:
                yield [name, said, "equal", slope, None]


def _curve(name: str, rounds: Sequence[int]) -> list[Point]:
    return [(BASE, 0), *((name, number) for number in rounds)]


def _verdicts(results: Results, rounds: Sequence[int], lacks: str) -> Iterator[str]:
    published = " against ".join(f"{one:+}" for one in slopes.PUBLISHED)
    yield f"Verdicts on {published}, the slopes of the curriculum and of models that train as long:\n"
    curves = Curves(results)
    for matched in (AT_FLOOR, MATCHED):
        for name, slope in SLOPES.items():
            both = [curves.number(_curve(one, rounds), slope) for one in (CHOOSES, matched)]
            points = [*_curve(CHOOSES, rounds), *_curve(matched, rounds)]
            gap = curves.number(points, partial(_gap, slope))
            if gap is not None and both[0] is not None and both[1] is not None:
                yield f"- {name}, against {matched}: {slopes.verdict(both[0], both[1], gap, lacks)}"
    for anchor in (ON, ON_BYTES):
        if (found := curves.difference((CHOOSES, rounds[-1]), (anchor, rounds[-1]))) is not None:
            yield f"- last round, bits per character beyond {anchor}: {found}"


def _gap(slope: Any, sizes: Sequence[int], bits: slopes.Bits) -> float:
    """Slope of the first half of the points, less that of the second half."""
    half = len(sizes) // 2
    return float(slope(sizes[:half], bits[:half]) - slope(sizes[half:], bits[half:]))
