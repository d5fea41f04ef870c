"""What went wrong between here and a store, in one line: libraries raise the errors of a dozen other libraries.

Nothing that a library or a server wrote is quoted but a status, a code and a region: the rest may hold an address with
a signature.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pyharness.types import InputError

Answer = TypeVar("Answer")

PAUSES = (0.5, 2.0)  # seconds between two tries
TRIES = len(PAUSES) + 1
_CODE = re.compile(r"[A-Za-z]{3,40}")
_REGION = re.compile(r"[a-z]{2}(?:-[a-z]+)+-\d")
_ABSENT = ("404", "NoSuchKey", "NoSuchBucket", "EntryNotFoundError", "RepositoryNotFoundError")
_RIGHTS = ("401", "403", "PermissionError", "AccessDenied", "GatedRepoError")
_NO_KEY = (
    "NoCredentialsError",
    "ProfileNotFound",
    "PartialCredentialsError",
    "DefaultCredentialsError",
    "RefreshError",
)
_NO_NAME = ("gaierror", "ClientConnectorDNSError")
_NOWHERE = ("TooManyRedirects", "NonHttpUrlRedirectClientError")
_UNTRUSTED = ("SSLError", "SSLCertVerificationError")
_REGIONS = ("301", "307", "PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
_CHANGED = ("412", "PreconditionFailed", "FileExpired")


class ShortAnswer(Exception):
    """A server sent other bytes than it was asked for."""


class NoRanges(Exception):
    """A server sends whole files alone."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an object cannot be had."""

    what: str  # continues a sentence that begins with the address
    advice: str
    passing: bool = False  # whether another try may help
    absent: bool = False


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """What a user can set about a store, in words."""

    place: str  # where its server is
    key: str  # who asks


def fault_of(error: Exception, settings: StoreSettings) -> Fault:
    """Classify an error of any library, by the names, statuses and codes along its causes."""
    signs = set(_signs(error))
    region = _region(error)
    if signs & set(_NO_NAME):
        return Fault("the name of its server does not resolve", f"check the address and {settings.place}")
    if signs & set(_NOWHERE):
        return Fault("is redirected to nothing that can be read", f"check the address and {settings.place}")
    if signs & set(_UNTRUSTED):
        return Fault("is not behind a trusted connection", "check the address, SSL_CERT_FILE and AWS_CA_BUNDLE")
    if signs & set(_REGIONS) or (region and "400" in signs):
        return Fault(f"is in another region{region and f', {region}'}", f"set AWS_REGION{region and f'={region}'}")
    if signs & set(_NO_KEY):
        return Fault("cannot be read without credentials, and there are none", f"set {settings.key}")
    if signs & set(_CHANGED):
        return Fault("changed while it was read", "measure a text that stays as it is")
    if signs & set(_RIGHTS):
        code = _code(error)
        return Fault(f"may not be read{code and f' ({code})'}", f"set {settings.key}, of someone who may")
    if "NoRanges" in signs:
        return Fault("is on a server that sends whole files alone", "download it and read it with path:")
    if "400" in signs:  # a question about one object is answered without a reason
        return Fault("is refused as a bad request", f"check {settings.place}")
    # A file system over HTTP says so of any failure, with its cause.
    if signs & set(_ABSENT) or (isinstance(error, FileNotFoundError) and len(list(_causes(error))) == 1):
        return Fault("does not exist", "check the spelling", absent=True)
    if isinstance(error, ValueError | NotImplementedError) and "JSONDecodeError" not in signs:
        return Fault("is no address that can be asked", f"check it and {settings.place}")
    return _passing(error, signs)


def _passing(error: Exception, signs: set[str]) -> Fault:
    advice = "try later"
    if "ShortAnswer" in signs:
        return Fault(str(error), advice, passing=True)
    if any("Timeout" in sign for sign in signs):
        return Fault("does not come within 5 s", advice, passing=True)
    return Fault(f"cannot be read ({_code(error) or type(error).__name__})", advice, passing=True)


def tried(address: str, settings: StoreSettings, action: Callable[[], Answer]) -> Answer:
    """Return what ``action`` returns, in up to three tries; raise ``InputError`` with the address and what to do."""
    for pause in (*PAUSES, None):
        try:
            return action()
        except (InputError, MemoryError):
            raise
        except Exception as error:  # of any library; none of them is a defect of ours
            fault = fault_of(error, settings)
        if pause is None or not fault.passing:
            raise InputError(f"{address} {fault.what}: {fault.advice}") from None
        time.sleep(pause)
    raise AssertionError


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    for _ in range(10):
        if error is None or isinstance(error, InputError):  # ours was being handled: it is no cause
            return
        yield error
        error = error.__cause__ or error.__context__


def _signs(error: Exception) -> Iterator[str]:
    """Yield the names of the classes, the statuses of HTTP and the codes of a store, along the causes of an error."""
    for cause in _causes(error):
        yield from (kind.__name__ for kind in type(cause).__mro__[:-1])
        yield from _answer(cause)


def _answer(error: BaseException) -> Iterator[str]:
    answer: Any = getattr(error, "response", None)
    statuses = [getattr(one, name, None) for one in (error, answer) for name in ("status", "status_code")]
    statuses.append(getattr(error, "__dict__", {}).get("code"))  # of gcsfs; as a property it is a deprecated alias
    yield from (str(one) for one in statuses if isinstance(one, int) and 300 <= one < 600)
    if isinstance(answer, dict):  # of botocore
        status = answer.get("ResponseMetadata", {}).get("HTTPStatusCode")
        yield from (str(one) for one in (answer.get("Error", {}).get("Code"), status) if one)


def _code(error: Exception) -> str:
    """Return the most telling of the codes and statuses, or nothing."""
    codes = [sign for cause in _causes(error) for sign in _answer(cause)]
    return next((one for one in codes if _CODE.fullmatch(one)), next((one for one in codes if one.isdecimal()), ""))


def _region(error: Exception) -> str:
    """Return the region that a server of S3 says a bucket is in, or nothing."""
    for cause in _causes(error):
        answer: Any = getattr(cause, "response", None)
        if isinstance(answer, dict):
            headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
            region = answer.get("Error", {}).get("Region") or headers.get("x-amz-bucket-region") or ""
            if _REGION.fullmatch(str(region)):
                return str(region)
    return ""
