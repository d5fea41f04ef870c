"""Encoding speed beside every peer, in one run: ``python bench/encoding_table.py [--rounds N] [--out FILE.json]``.

Every measurement is a fresh process for one engine; in a round all engines take their turn, and ratios are formed
within a round. Ids are compared before any number is given. Needs PYHARNESS_DATA; without it, exits with 2.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pyharness.system import atomic_file

OURS = "pyharness"
FAST = ("gigatoken", "fastokens", "quicktok", "splintr")
SLOW = ("rs_bpe", "tiktoken")  # far behind: one round is enough; tokenizers cannot load a file of ranks
ENCODINGS = ("cl100k_base", "o200k_base", "r50k_base")
CORPORA: Mapping[str, tuple[str, ...]] = {
    "english": ("english/books",),
    "code": tuple(f"code/{name}" for name in ("c", "cpp", "go", "java", "javascript", "python", "rust", "typescript")),
    "multilingual": tuple(
        f"multilingual/{name}"
        for name in (
            "ar/nahda_books",
            "de/eltec_novels",
            "et/riigiteataja_laws",
            "fi/gnome_help",
            "hi/classic_novels",
            "ja/aozora",
            "ko/nsmc_reviews",
            "ru/dracor_plays",
            "th/thaigov_news",
            "zh/tang_song_poetry",
        )
    ),
}
PHASES = ("cold", "steady", "hot")
VALGRIND_BYTES = 1_500_000


def documents(data: Path, corpus: str, most: int) -> list[str]:
    """Documents of a corpus, ``most`` bytes in all with an equal share of each file, shuffled by a fixed seed."""
    texts: list[str] = []
    for name in CORPORA[corpus]:
        left = most // len(CORPORA[corpus])
        with lzma.open(data / "corpora" / f"{name}.jsonl.xz", "rt", encoding="utf-8") as lines:
            for line in lines:
                texts.append(json.loads(line)["text"])
                left -= len(texts[-1].encode())
                if left <= 0:
                    break
    random.Random(1).shuffle(texts)
    return texts


def halves(texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Two halves of about equal bytes."""
    total, seen = sum(len(text.encode()) for text in texts), 0
    for index, text in enumerate(texts):
        seen += len(text.encode())
        if seen >= total // 2:
            return list(texts[: index + 1]), list(texts[index + 1 :])
    return list(texts), []


def run(job: Mapping[str, Any], prefix: Sequence[str] = ()) -> dict[str, Any]:
    """Run one engine in a process of its own; ``{"error": reason}`` when that fails."""
    command = [*prefix, sys.executable, str(Path(__file__).with_name("encoding_engines.py")), json.dumps(job)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    except subprocess.TimeoutExpired:
        return {"error": "more than 1,800 s"}
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["killed"])[-1][:200]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def interleaved(job: dict[str, Any], engines: Sequence[str], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Runs of every engine by round; the slow ones in the first round only."""
    found: dict[str, list[dict[str, Any]]] = {engine: [] for engine in engines}
    for turn in range(rounds):
        for engine in engines:
            if (turn == 0 or engine not in SLOW) and not any("error" in result for result in found[engine]):
                found[engine].append(run(job | {"engine": engine}))
                print(f"\r{job['mode']} {turn + 1}/{rounds} {engine:<12}", end="", file=sys.stderr, flush=True)  # noqa: T201
    return found


def checked(results: dict[str, list[dict[str, Any]]]) -> tuple[dict[str, list[dict[str, Any]]], dict[str, str]]:
    """Engines whose ids are those of tiktoken (or ours, where it was not run); and why the others are left out."""
    home = "tiktoken" if any("digest" in result for result in results.get("tiktoken", ())) else OURS
    wanted = next((result["digest"] for result in results[home] if "digest" in result), None)
    good, bad = {}, {}
    for engine, runs in results.items():
        errors = [result["error"] for result in runs if "error" in result]
        if errors:
            bad[engine] = errors[0]
        elif any(result["digest"] != wanted for result in runs):
            bad[engine] = f"ids differ from {home}"
        else:
            good[engine] = runs
    return good, bad


def ratio(good: Mapping[str, Sequence[Mapping[str, float]]], key: str) -> tuple[float, str] | None:
    """Median over rounds of (seconds of the fastest peer / ours), and that peer (fastest by median)."""
    peers = {engine: runs for engine, runs in good.items() if engine != OURS}
    if OURS not in good or not peers:
        return None
    fastest = min(peers, key=lambda engine: statistics.median(result[key] for result in peers[engine]))
    pairs = zip(good[OURS], peers[fastest], strict=False)
    return statistics.median(theirs[key] / ours[key] for ours, theirs in pairs), fastest


def speed_cells(arguments: argparse.Namespace, data: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """Every cell of the speed table."""
    for corpus in arguments.corpora:
        parts = halves(documents(data, corpus, arguments.megabytes * 1_000_000))
        (folder / corpus).write_text(json.dumps(parts), encoding="utf-8")
        sizes = [sum(len(text.encode()) for text in part) for part in parts]
        for encoding in arguments.encodings:
            for threads in arguments.threads:
                job = {
                    "mode": "speed",
                    "clock": arguments.clock,
                    "vocabulary": str(data / "tokenizers" / "tiktoken" / f"{encoding}.tiktoken"),
                    "texts": str(folder / corpus),
                    "threads": threads,
                }
                good, bad = checked(interleaved(job, arguments.engines, arguments.rounds))
                phases = {}
                for phase, size in zip(PHASES, (*sizes, sizes[1]), strict=True):
                    rates = {
                        engine: size / statistics.median(result[phase] for result in runs) / 1e6
                        for engine, runs in good.items()
                    }
                    phases[phase] = {"megabytes_per_second": rates, "ratio": ratio(good, phase)}
                yield {
                    "encoding": encoding,
                    "corpus": corpus,
                    "threads": threads,
                    "phases": phases,
                    "left_out": bad,
                    "raw": good,
                }


def small_cells(arguments: argparse.Namespace, data: Path, folder: Path, mode: str) -> dict[str, Any]:
    """Single pieces of 1 MB, or short texts: seconds by engine and input."""
    generator = random.Random(3)
    if mode == "single_pieces":
        letters = "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000))
        inputs: dict[str, Any] = {"a": "a" * 1_000_000, "letters": letters, "spaces": " " * 1_000_000}
    else:
        book = documents(data, "english", 2_000_000)
        inputs = {
            f"{size} B": [text[at : at + size] for text in book for at in range(0, 2_000, 1_000)][:200]
            for size in (20, 500)
        }
    (folder / mode).write_text(json.dumps(inputs), encoding="utf-8")
    vocabulary = data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken"
    job = {"mode": mode, "clock": arguments.clock, "vocabulary": str(vocabulary), "texts": str(folder / mode)}
    # tiktoken panics on a megabyte of spaces, and some engines take hours: only those that are known to finish.
    engines = [engine for engine in arguments.engines if mode == "latency" or engine in (OURS, *FAST[:3])]
    good, bad = checked(interleaved(job, engines, arguments.rounds))
    cells = {
        name: {
            "seconds": {engine: statistics.median(result[name] for result in runs) for engine, runs in good.items()},
            "ratio": ratio(good, name),
        }
        for name in inputs
    }
    return {"inputs": cells, "left_out": bad}


def instructions_per_byte(arguments: argparse.Namespace, data: Path, folder: Path) -> dict[str, float]:
    """Instructions for new text after as much other text, cl100k, English: a run with both halves less one with one."""
    if shutil.which("valgrind") is None:
        print("no valgrind: instructions are not counted", file=sys.stderr)  # noqa: T201
        return {}
    parts = halves(documents(data, "english", 2 * VALGRIND_BYTES))
    (folder / "counted").write_text(json.dumps(parts), encoding="utf-8")
    found = {}
    for engine in (engine for engine in arguments.engines if engine in (OURS, *FAST)):
        counts = []
        for number in (1, 2):
            log = folder / f"{engine}{number}"
            prefix = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", f"--log-file={log}"]
            job = {
                "mode": "encode_halves",
                "engine": engine,
                "halves": number,
                "vocabulary": str(data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken"),
                "texts": str(folder / "counted"),
            }
            if "error" in run(job, prefix):
                break
            counts += [int(line.split(":")[-1]) for line in log.read_text().splitlines() if "Collected" in line]
        if len(counts) == 2:
            found[engine] = (counts[1] - counts[0]) / sum(len(text.encode()) for text in parts[1])
    return found


def speed_rows(cell: Mapping[str, Any], engines: Sequence[str]) -> Iterator[str]:
    for phase in PHASES:
        found = cell["phases"][phase]
        rates = [found["megabytes_per_second"].get(engine) for engine in engines]
        ratio_, peer = found["ratio"] or (float("nan"), "-")
        cells = " | ".join("-" if rate is None else f"{rate:.0f}" for rate in rates)
        yield (
            f"| {cell['encoding']} | {cell['corpus']} | {cell['threads']} | {phase} | {cells} | {ratio_:.2f} ({peer}) |"
        )


def speed_header(engines: Sequence[str]) -> list[str]:
    return [
        "MB/s, median of rounds; last column: ours over the fastest peer, median of paired ratios",
        "",
        f"| encoding | corpus | threads | phase | {' | '.join(engines)} | ratio |",
        "|---" * (len(engines) + 5) + "|",
    ]


def small_table(name: str, found: Mapping[str, Any], engines: Sequence[str]) -> Iterator[str]:
    yield from ("", f"{name}, cl100k_base, microseconds", "", f"| input | {' | '.join(engines)} | ratio |")
    yield "|---" * (len(engines) + 2) + "|"
    for text, cell in found["inputs"].items():
        seconds = [cell["seconds"].get(engine) for engine in engines]
        cells = " | ".join("-" if value is None else f"{value * 1e6:.2f}" for value in seconds)
        ratio_, peer = cell["ratio"] or (float("nan"), "-")
        yield f"| {text} | {cells} | {ratio_:.2f} ({peer}) |"


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, default=20, help="of each corpus, both halves")
    parser.add_argument("--engines", nargs="+", default=[OURS, *FAST, *SLOW])
    parser.add_argument("--encodings", nargs="+", default=list(ENCODINGS))
    parser.add_argument("--corpora", nargs="+", default=list(CORPORA))
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--clock", choices=("wall", "processor"), default="wall")
    parser.add_argument("--only", nargs="+", default=["speed", "single_pieces", "latency", "instructions"])
    parser.add_argument("--out", type=Path, help="JSON with the raw seconds")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    arguments = arguments_of(argv)
    if "PYHARNESS_DATA" not in os.environ:
        print("PYHARNESS_DATA is not set: it names real corpora and tokenizers", file=sys.stderr)  # noqa: T201
        return 2
    data = Path(os.environ["PYHARNESS_DATA"])
    engines = arguments.engines
    result: dict[str, Any] = {"engines": engines, "speed": []}

    def tell(lines: Iterable[str]) -> None:
        """Rows as they are measured: what ends the run costs one cell."""
        print(*lines, sep="\n", flush=True)  # noqa: T201
        if arguments.out:
            atomic_file.write(arguments.out, json.dumps(result, indent=1), overwrite=True)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "speed" in arguments.only:
            tell(speed_header(engines))
            for cell in speed_cells(arguments, data, folder):
                result["speed"].append(cell)
                left_out = [f"left out: {engine}: {reason}" for engine, reason in cell["left_out"].items()]
                tell([*speed_rows(cell, engines), *left_out])
        for mode in ("single_pieces", "latency"):
            if mode in arguments.only:
                result[mode] = small_cells(arguments, data, folder, mode)
                tell(small_table(mode, result[mode], engines))
        if "instructions" in arguments.only:
            counts = result["instructions_per_byte"] = instructions_per_byte(arguments, data, folder)
            tell(["", f"Instructions per byte of new English text, cl100k_base: {json.dumps(counts)}"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
