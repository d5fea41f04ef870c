"""What the check consists of: parts, each one command with a limit, in the order in which they are worth their time."""

from __future__ import annotations

import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

BUILD = "build"
# What kernels and package are made of: a change there makes every result stale.
PACKAGE = ("CMakeLists.txt", "pyproject.toml", "cmake", "csrc", "pyharness", "bench/suites")
CASES = "bench/device/sanitizer_cases.py"
KERNELS = ("pair_histogram", "linear_entropy", "entropy")  # of sanitizer_cases.py too
PROFILES = (  # bf16 first: it is what models give
    ("pair_histogram", "uint32"),
    ("linear_entropy", "bf16"),
    ("entropy", "bf16"),
    ("linear_entropy", "fp32"),
    ("entropy", "fp32"),
)
COMPILED = "torch compiled"  # a cold compile costs what a shape costs: it is measured at one, after all others
COMPILED_SHAPE = "16384x128256"
ONCE = {  # for ncu, which runs each launch many times
    "pair_histogram": ("uint32", "1e8x131072"),
    "linear_entropy": ("bf16", "16384x4096x128256"),
    "entropy": ("bf16", "16384x128256"),
}
SECTIONS = ("SpeedOfLight", "MemoryWorkloadAnalysis", "Occupancy", "LaunchStats", "SchedulerStats", "WarpStateStats")
# Kernels whose threads look at a slot in shared memory (ph_relaxed_load_shared) while another one's compare-and-swap,
# which decides, may be taking it: racecheck reports that, and it is meant.
INTENDED_RACES = ("count_dense", "count_parts")
HAZARDS = 9  # the status of compute-sanitizer when it has found something
# A test is for a device if it is marked so, takes the fixture `backend`, or the parameters of tests/support/.
ON_A_DEVICE = re.compile(r"mark\.cuda|\bbackend: |from (backends|pair_counts) import")


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
    leaves: Path | None = None  # the file that its command writes: a record, or what pytest counted

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
        *(_cases(place, "smoke", kernel, 120) for kernel in KERNELS),
        *_tests(place),
        *(_cases(place, "memcheck", kernel, 240) for kernel in KERNELS),
        *(_cases(place, "racecheck", kernel, 300) for kernel in KERNELS),
        *(_profile(place, *profile) for profile in PROFILES),
        _compiled(place),
        *(_ncu(place, kernel) for kernel in KERNELS),
    ]


def _build(place: Place) -> Part:
    # Without isolation, index and dependencies: what the environment has is used. After a build that was cut off, ninja
    # goes on where it was.
    command = (
        *(
            place.python,
            "-P",
            "-m",
            "pip",
            "install",
            "--no-index",
            "--no-deps",
            "--no-build-isolation",
            "--no-compile",
        ),
        *("--disable-pip-version-check", "--verbose", "--upgrade", "--target", str(place.site)),
        *(f"-Cbuild-dir={place.work / 'build'}", str(place.root)),
    )
    programs, modules = ("nvcc", "cmake", "ninja", "c++"), ("pip", "scikit_build_core", "pybind11")
    return Part((BUILD,), command, 540, programs=programs, modules=modules, on_device=False)


def _instructions(place: Place) -> Part:
    library = place.site / "pyharness" / f"_cuda{sysconfig.get_config_var('EXT_SUFFIX')}"
    command = (place.python, "-P", "-m", "device.check_sass", str(library))
    reads = (*PACKAGE, "bench/device/check_sass.py", "bench/device/pair_kernels.py")
    return Part(("instructions",), command, 60, reads, programs=("c++filt",), on_device=False)


def _cases(place: Place, stage: str, kernel: str, limit: int) -> Part:
    tool = () if stage == "smoke" else ("compute-sanitizer", "--tool", stage, "--error-exitcode", str(HAZARDS))
    command = (place.python, "-P", CASES, kernel)
    return Part(
        (stage, kernel),
        (*tool, *command),
        limit,
        (*PACKAGE, CASES, "tests/support"),
        programs=tool[:1],
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
    pytest = (place.python, "-P", "-m", "pytest", "-q", "-m", "cuda", "-W", "default", "-p", "no:cacheprovider")
    rehearsal = (*pytest, "--collect-only", "--continue-on-collection-errors", *files)
    return [_test(place, file, pytest, rehearsal) for file in files]


def _test(place: Place, file: str, pytest: tuple[str, ...], rehearsal: tuple[str, ...]) -> Part:
    words = ("test", file)
    counts = place.results / f"{slug(words)}.xml"
    return Part(
        words,
        (*pytest, f"--junit-xml={counts}", file),
        240,
        (*PACKAGE, "tests/conftest.py", "tests/support", file),
        modules=("cupy", "pytest", "pytest_timeout", "hypothesis"),
        rehearsal=rehearsal,
        leaves=counts,
    )


def _profiling(place: Place, *arguments: str) -> tuple[str, ...]:
    return (place.python, "-P", "-m", "pyharness", "profile", *arguments, "--device", "cuda")


def _profile(place: Place, kernel: str, dtype: str) -> Part:
    words = ("profile", kernel, dtype)
    left_out = () if kernel == "pair_histogram" else ("--without", COMPILED)
    arguments = (kernel, "--dtype", dtype, *left_out)
    return _timed(place, words, arguments, 300)


def _compiled(place: Place) -> Part:
    arguments = ("entropy", "--dtype", "bf16", "--shape", COMPILED_SHAPE)
    return _timed(place, ("profile", "entropy", "bf16", "compiled"), arguments, 240)


def _timed(place: Place, words: tuple[str, ...], arguments: tuple[str, ...], limit: int) -> Part:
    record = place.results / f"{slug(words)}.record.json"
    command = _profiling(place, *arguments, "--max-seconds", "4", "--force", "--output", str(record))
    modules = ("cupy",) if arguments[0] == "pair_histogram" else ("cupy", "torch")
    rehearsal = _profiling(place, *arguments)
    return Part(words, command, limit, modules=modules, rehearsal=rehearsal, leaves=record)


def _ncu(place: Place, kernel: str) -> Part:
    dtype, shape = ONCE[kernel]
    launch = _profiling(place, kernel, "--dtype", dtype, "--shape", shape, "--once")
    sections = tuple(word for section in SECTIONS for word in ("--section", section))
    tool = ("ncu", "--clock-control", "none", "--nvtx", "--nvtx-include", "pyharness: once/", *sections)
    return Part(("ncu", kernel), (*tool, *launch), 240, programs=("ncu",), modules=("cupy",), rehearsal=launch)
