"""All checks of one tokenizer or model folder, in their order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from pyharness.features.audit.checks import (
    byte_tokens,
    calls,
    measured,
    settings,
    subjects,
    templates,
    texts,
    vocabulary,
)
from pyharness.features.audit.checks.subjects import STATUSES, AuditFault, AuditSubject, CheckResult, CheckStatus, few
from pyharness.features.audit.differences.definitions import HOME_LIBRARIES
from pyharness.plugins.registry import pick
from pyharness.types import InputError, Unsupported
from pyharness.vocabularies.files import vocabulary_file

RunCheck: TypeAlias = Callable[[AuditSubject, int], CheckResult]
BENCHMARKS = {  # of other features, where they are installed, and what should hold
    "control": "no text of a user becomes a control token", "glitch": "the model has trained every token",
    "hostile": "no text is slow or breaks it", "streaming": "streamed text is the whole text",
}  # fmt: skip
EXITS: Mapping[CheckStatus, int] = {"pass": 0, "warn": 0, "none": 0, "fail": 1, "open": 3}
_ADVICE = "take the file from its publisher again, and compare its SHA-256"
_LONGEST = 300  # characters of a library's message


@dataclass(frozen=True, slots=True)
class AuditCheck:
    """A check by its name. ``of_folder``: it needs no tokenizer that loads."""

    name: str
    about: str
    run: RunCheck
    of_folder: bool = False


@dataclass(frozen=True, slots=True)
class CheckedLine:
    """The result of one check, and how long it took in seconds."""

    check: AuditCheck
    result: CheckResult
    seconds: float


@dataclass(frozen=True, slots=True)
class TokenizerAudit:
    """Results of all checks of one subject."""

    subject: AuditSubject
    lines: Sequence[CheckedLine]

    @property
    def status(self) -> CheckStatus:
        """The worst status of all checks."""
        return min((line.result.status for line in self.lines), key=STATUSES.index, default="none")

    @property
    def exit_status(self) -> int:
        """0: no fault; 1: a fault; 3: something could not be decided."""
        return EXITS[self.status]


def check_file(subject: AuditSubject, threads: int) -> CheckResult:
    """Say why a file is refused, with what its home library says of it."""
    del threads
    where = str(subject.path) if subject.path is not None else subject.spec
    if subject.tokenizer is not None:
        return CheckResult(f"{where}, read by {subject.library}")
    fault = AuditFault("file is refused", subject.refusal, _home_says(subject), _ADVICE)
    return CheckResult(where, (fault,))


def _home_says(subject: AuditSubject) -> str:
    """Return what the home library says of a file that pyharness refuses: some load it without a word."""
    if subject.path is None:
        return ""
    try:
        data = vocabulary_file.read(subject.path)
        library = HOME_LIBRARIES.get(vocabulary_file.detect(data, subject.spec), "")
        if library == "tokenizers":
            import tokenizers

            tokenizers.Tokenizer.from_buffer(data)
        elif library == "sentencepiece":
            import sentencepiece

            sentencepiece.SentencePieceProcessor().LoadFromSerializedProto(data)
        else:
            return f"{len(data):,} bytes, SHA-256 {subject.digest}"
    except InputError:  # it is not even read
        return f"{subject.path.stat().st_size:,} bytes, SHA-256 {subject.digest}"
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # a panic in Rust is no Exception
        return f"the home library: {type(error).__name__}: {error}"[:_LONGEST]
    return f"{library} loads it without an error"


def _alone(run: Callable[[AuditSubject], CheckResult]) -> RunCheck:
    """Return a check that needs no threads."""
    return lambda subject, _: run(subject)


def _benchmark(name: str) -> AuditCheck:
    return AuditCheck(name, BENCHMARKS[name], _alone(partial(measured.check_benchmark, name=name)))


CHECKS: Mapping[str, AuditCheck] = {
    check.name: check
    for check in (
        AuditCheck("file", "the file is whole, and its library reads it", check_file, of_folder=True),
        AuditCheck("specials", "files agree on special tokens, ids and flags", _alone(settings.check_settings), True),
        AuditCheck("bytes", "each of 256 bytes has a token", _alone(byte_tokens.check_bytes)),
        AuditCheck("decoder", "decoding undoes the encoding", _alone(byte_tokens.check_decoder)),
        AuditCheck("code points", "every assigned character comes back", _alone(texts.check_code_points)),
        AuditCheck("normal forms", "NFC and NFD have equal ids", _alone(texts.check_normal_forms)),
        AuditCheck("ids", "no token twice, none out of order", _alone(vocabulary.check_ids)),
        AuditCheck("reachable", "some text gives each token", vocabulary.check_reachable),
        # Threads come before batches: a library's pool keeps the size of its first use.
        AuditCheck("threads", "1 thread and 4 give equal ids", _alone(calls.check_threads)),
        AuditCheck("batches", "a batch gives the same ids as single calls", _alone(calls.check_batches)),
        AuditCheck("offsets", "offsets cover the text in order", _alone(calls.check_offsets)),
        AuditCheck("template", "chat templates keep what users write", _alone(templates.check_template), True),
        *map(_benchmark, BENCHMARKS),
    )
}


def audit(spec: str, only: Sequence[str] = (), threads: int = 1) -> TokenizerAudit:
    """Run all checks, or those of some names.

    Raises:
        InputError: there is no such row or file, or no such check.
        Unsupported: the row has no vocabulary.
    """
    chosen = [pick("check", name, CHECKS) for name in dict.fromkeys(only)] or list(CHECKS.values())
    return audit_of(subjects.load(spec), chosen, threads)


def audit_of(subject: AuditSubject, checks: Sequence[AuditCheck], threads: int = 1) -> TokenizerAudit:
    """Run checks on what is loaded."""
    return TokenizerAudit(subject, tuple(_lines(subject, checks, threads)))


def _lines(subject: AuditSubject, chosen: Sequence[AuditCheck], threads: int) -> Iterator[CheckedLine]:
    for check in chosen:
        begin = time.perf_counter()
        result = _result(subject, check, threads)
        result = replace(result, faults=few(result.faults))
        yield CheckedLine(check, result, time.perf_counter() - begin)


def _result(subject: AuditSubject, check: AuditCheck, threads: int) -> CheckResult:
    """Run one check: what a library raises is a fault of that check."""
    if subject.tokenizer is None and not check.of_folder:
        return CheckResult("not run: the file is refused", absent=True)
    try:
        return check.run(subject, threads)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except Unsupported as error:
        return CheckResult(str(error), absent=True)
    except BaseException as error:  # a panic in Rust is no Exception
        text = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST]
        fault = AuditFault("library raises", f"the library raised in {check.name}", text,
                           "report it to the library, or take the file from its publisher again")  # fmt: skip
        return CheckResult("not finished", (fault,))
