"""What the check consists of: parts, each one command with a limit, in the order in which they are worth their time."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from device.hazards import SANITIZER

BUILD = "build"
# What kernels and package are made of: a change there makes every result stale.
PACKAGE = ("CMakeLists.txt", "pyproject.toml", "cmake", "csrc", "pyharness", "bench/suites")
CASES = "bench/device/sanitizer_cases.py"
KERNELS = ("pair_histogram", "linear_entropy", "entropy")
CHECKED = (*KERNELS, "yardsticks")  # by sanitizer_cases.py
COMPILED = "torch compiled"  # a cold compile costs what a shape costs: it is measured at one, after all others
COMPILED_SHAPE = "16384x128256"


def without(*peers: str) -> tuple[str, ...]:
    """Return options of a profile."""
    return tuple(word for peer in peers for word in ("--without", peer))


FEW_ROWS = ("--shape", "1x128256", "--shape", "8x128256", "--shape", "256x128256")
SEGMENTED = ("--variant", "segments", "--variant", "weights")
PROFILES = (  # kernel, dtype, which of its problems, options; bf16 first: it is what models give
    # Peers that take tenths of a second a call are measured at the smaller shape alone: at the other one they would
    # leave ours fewer than its ten samples.
    ("pair_histogram", "uint32", "1e9", ("--shape", "1e9x131072", *without("cupy.unique", "cupy sort", "our sort"))),
    ("pair_histogram", "uint32", "1e8", ("--shape", "1e8x131072")),
    ("linear_entropy", "bf16", "", without(COMPILED)),
    ("entropy", "bf16", "", without(COMPILED)),
    ("linear_entropy", "fp32", "", without(COMPILED)),
    ("entropy", "fp32", "", without(COMPILED)),
    # What no goal is about.
    ("entropy", "bf16", "few-rows", (*FEW_ROWS, *without(COMPILED))),
    ("linear_entropy", "bf16", "chunks", ("--variant", "chunks", *without(COMPILED))),
    ("pair_histogram", "uint32", "segments", (*SEGMENTED, "--shape", "1e8x131072")),
    ("pair_histogram", "uint32", "host", ("--variant", "host", "--shape", "1e9x131072")),
)
ONCE = {  # for ncu, which runs each launch many times
    "pair_histogram": ("uint32", "1e8x131072"),
    "linear_entropy": ("bf16", "16384x4096x128256"),
    "entropy": ("bf16", "16384x128256"),
}
SECTIONS = ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "LaunchStats", "SchedulerStats", "WarpStateStats")
ON_A_DEVICE = re.compile(r"mark\.cuda|\bbackend: ")  # a test is for a device if it is marked so or takes that fixture
TEST_SECONDS = 120  # of one test, after which the process ends: a thread in a driver's call hears no signal


@dataclass(frozen=True, slots=True)
class Place:
    """The checkout, the folder that the check works in, and the Python whose packages it uses."""

    root: Path
    work: Path
    python: str

    @property
    def site(self) -> Path:
        """Where the package is installed: nothing is put into the environment."""
        return self.work / "site"

    @property
    def results(self) -> Path:
        """What the parts leave: a JSON file each, its log, its record."""
        return self.work / "results"

    @property
    def wheels(self) -> Path:
        """Where the package is built to."""
        return self.work / "wheels"

    @property
    def journal(self) -> Path:
        """What has become of each test of the process that runs them."""
        return self.results / "test.journal"


@dataclass(frozen=True, slots=True)
class Part:
    """The least that is run, timed out and repeated by itself."""

    words: tuple[str, ...]  # the stage, and what of it
    command: tuple[str, ...]
    limit: int  # seconds
    reads: tuple[str, ...] = PACKAGE
    programs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()  # beside what the package depends on
    on_device: bool = True
    rehearsal: tuple[str, ...] = ()  # the command of a dry run, which ends at the missing device
    leaves: Path | None = None  # the record that its command writes
    file: str = ""  # of tests, which the command takes at its end: one process runs those of all such parts

    @property
    def stage(self) -> str:
        """Its first word."""
        return self.words[0]

    @property
    def slug(self) -> str:
        """Its words as the name of a file."""
        return slug(self.words)


def slug(words: tuple[str, ...]) -> str:
    """Letters, digits, dots, dashes and underscores alone.

    >>> slug(("test", "tests/kernels/test_emulator.py"))
    'test-tests-kernels-test_emulator.py'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(words))


def parts(place: Place) -> list[Part]:
    """All parts, in order."""
    return [
        _build(place),
        _instructions(place),
        *(_cases(place, "smoke", kernel, 120) for kernel in CHECKED),
        *_tests(place),
        *(_cases(place, "memcheck", kernel, 240) for kernel in CHECKED),
        *(_profile(place, *profile) for profile in PROFILES),
        _compiled(place),
        *(_cases(place, "racecheck", kernel, 300) for kernel in CHECKED),
        *(_ncu(place, kernel) for kernel in KERNELS),
    ]


def _build(place: Place) -> Part:
    # After a build that was cut off, ninja goes on where it was.
    command = (place.python, "-P", "-m", "device.building", str(place.root), str(place.work))
    programs = ("nvcc", "cmake", "ninja", "c++")
    return Part((BUILD,), command, 540, programs=programs, modules=("pip",), on_device=False)


def _instructions(place: Place) -> Part:
    library = place.site / "pyharness" / f"_cuda{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = (place.python, "-P", "-m", "device.check_sass", str(library))
    reads = (*PACKAGE, "bench/device/check_sass")
    return Part(("instructions",), command, 60, reads, programs=("c++filt",), on_device=False)


def _cases(place: Place, stage: str, kernel: str, limit: int) -> Part:
    command = (place.python, "-P", CASES, kernel)
    sanitized = () if stage == "smoke" else (place.python, "-P", "-m", "device.hazards", stage)
    return Part(
        (stage, kernel),
        (*sanitized, *command),
        limit,
        (*PACKAGE, CASES, "tests/support"),
        programs=() if stage == "smoke" else (SANITIZER,),
        modules=("cupy", "pytest"),
        rehearsal=command[:-1],
    )


def _tests(place: Place) -> list[Part]:
    files = [
        str(path.relative_to(place.root))
        for path in sorted((place.root / "tests").rglob("test_*.py"))
        if ON_A_DEVICE.search(path.read_text(encoding="utf-8"))
    ]
    # Warnings of versions that nobody here has tried are no errors; what pytest leaves behind is not kept.
    pytest = (
        *(place.python, "-P", "-m", "pytest", "-q", "-m", "cuda", "-W", "default", "-p", "no:cacheprovider"),
        "--continue-on-collection-errors",
    )
    limits = ("--timeout", str(TEST_SECONDS), "--timeout-method", "thread")
    command = (*pytest, *limits, "-p", "device.testing", "--journal", str(place.journal))
    return [
        Part(
            ("test", file),
            command,
            300,  # of a process
            (*PACKAGE, "tests/conftest.py", "tests/support", file),
            modules=("cupy", "pytest", "pytest_timeout", "hypothesis"),
            rehearsal=(*pytest, "--collect-only", *files),
            file=file,
        )
        for file in files
    ]


def _profiling(place: Place, *arguments: str) -> tuple[str, ...]:
    return (place.python, "-P", "-m", "pyharness", "profile", *arguments, "--device", "cuda")


def _profile(place: Place, kernel: str, dtype: str, which: str, options: tuple[str, ...]) -> Part:
    words = ("profile", kernel, dtype, *([which] if which else []))
    return _timed(place, words, (kernel, "--dtype", dtype, *options), 300)


def _compiled(place: Place) -> Part:
    arguments = ("entropy", "--dtype", "bf16", "--shape", COMPILED_SHAPE)
    return _timed(place, ("profile", "entropy", "bf16", "compiled"), arguments, 240)


def _timed(place: Place, words: tuple[str, ...], arguments: tuple[str, ...], limit: int) -> Part:
    record = place.results / f"{slug(words)}.record.json"
    command = _profiling(place, *arguments, "--max-seconds", "4", "--force", "--output", str(record))
    modules = ("cupy",) if arguments[0] == "pair_histogram" else ("torch",)
    rehearsal = _profiling(place, *arguments)
    return Part(words, command, limit, modules=modules, rehearsal=rehearsal, leaves=record)


def _ncu(place: Place, kernel: str) -> Part:
    dtype, shape = ONCE[kernel]
    launch = _profiling(place, kernel, "--dtype", dtype, "--shape", shape, "--once")
    sections = tuple(word for section in SECTIONS for word in ("--section", section))
    tool = ("ncu", "--clock-control", "none", "--nvtx", "--nvtx-include", "pyharness: once/", *sections)
    return Part(("ncu", kernel), (*tool, *launch), 240, programs=("ncu",), modules=("cupy",), rehearsal=launch)
