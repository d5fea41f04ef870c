"""Which library reads an address, and how it is set up: our time-outs, one try (ours count), credentials from outside.

Credentials are what the libraries find in the environment, in their files or in the machine's role; without any, public
objects are read. Nothing of them is kept here.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from pyharness.features.remote.faults import NoRanges, ShortAnswer, StoreSettings, tried
from pyharness.plugins.libraries import load
from pyharness.system import hub
from pyharness.system.network import unreachable
from pyharness.types import InputError

SECONDS = 5  # to connect, and between two pieces of an answer: the defaults of libraries wait for 45 s and more


@dataclass(frozen=True, slots=True)
class Provider:
    """How addresses of one scheme are read."""

    scheme: str
    module: str
    distribution: str
    extra: str
    connect: Callable[[Any], Any]  # the module to a file system of fsspec
    endpoint: Callable[[Any, str], str]  # (file system, address) to the URL of the server
    settings: StoreSettings
    lists: bool = True  # whether there are folders
    asking: Callable[[int], Mapping[str, Any]] = lambda _: {}  # the size of a file to arguments of its requests


def _s3(library: Any) -> Any:
    config = {"connect_timeout": SECONDS, "read_timeout": SECONDS, "retries": {"total_max_attempts": 1}}
    session = load("reading s3://", "botocore.session", "s3", "botocore").Session()
    anonymous = session.get_credentials() is None
    store = library.S3FileSystem(anon=anonymous, config_kwargs=config, **_FRESH)
    store.retries = 1
    return store


def _gcs(library: Any) -> Any:
    return library.GCSFileSystem(requests_timeout=SECONDS, access="read_only", **_FRESH)


def _hub(library: Any) -> Any:
    constants = load("reading hf://", "huggingface_hub.constants", "hf", "huggingface_hub")
    constants.HF_HUB_DOWNLOAD_TIMEOUT = constants.HF_HUB_ETAG_TIMEOUT = SECONDS
    return library.HfFileSystem(skip_instance_cache=True)


def _web(library: Any) -> Any:
    timeout = library.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=SECONDS)
    http = load("reading https://", "fsspec.implementations.http", "http", "fsspec")
    return http.HTTPFileSystem(
        client_kwargs={"timeout": timeout, "trust_env": True},
        headers={"Accept-Encoding": "identity"},  # a packed answer would be of another length
        **_FRESH,
    )


async def check_range(size: int, answer: Any) -> None:
    """Raise an error, unless an answer of aiohttp is the range that was asked for and says its length; read no body.

    ``size``: of the file, by an answer before. A cache may know an old one, and the text would be shorter.
    """
    asked = re.fullmatch(r"bytes=(\d+)-(\d+)", answer.request_info.headers.get("Range", ""))
    if asked is None or answer.status >= 300 or (answer.status == 200 and "Content-Range" not in answer.headers):
        return
    first, last = map(int, asked.groups())
    named = answer.headers.get("Content-Range", f"bytes {first}-")
    if answer.content_length is None:  # it may never end
        answer.close()
        raise NoRanges
    if not named.startswith(f"bytes {first}-") or answer.content_length > last - first + 1:
        answer.close()
        raise ShortAnswer(f"came with another range than bytes {first:,} to {last:,}")
    whole = named.rpartition("/")[2]
    if whole.isdecimal() and int(whole) > size:  # some servers write the size of the part
        answer.close()
        raise ShortAnswer(f"has {int(whole):,} bytes in one answer and {size:,} in another")


_FRESH: Mapping[str, Any] = {"skip_instance_cache": True}
_WEB = StoreSettings("HTTPS_PROXY, if there is a proxy", "what the server asks for in ~/.netrc")
PROVIDERS: Mapping[str, Provider] = {
    one.scheme: one
    for one in (
        Provider(
            "s3", "s3fs", "s3fs", "s3", _s3, lambda store, _: str(store.s3.meta.endpoint_url),
            StoreSettings("AWS_REGION and AWS_ENDPOINT_URL", "AWS_PROFILE, or AWS_ACCESS_KEY_ID and its secret"),
        ),
        Provider(
            "gs", "gcsfs", "gcsfs", "gcs", _gcs,
            lambda *_: os.environ.get("STORAGE_EMULATOR_HOST") or "https://storage.googleapis.com",
            StoreSettings("STORAGE_EMULATOR_HOST", "GOOGLE_APPLICATION_CREDENTIALS"),
        ),
        Provider(
            "hf", "huggingface_hub", "huggingface_hub", "hf", _hub, lambda *_: hub.endpoint(),
            StoreSettings("HF_ENDPOINT", "HF_TOKEN"),
        ),
        *(
            Provider(
                scheme, "aiohttp", "aiohttp", "http", _web, lambda _, address: address, _WEB, lists=False,
                asking=lambda size: {"raise_for_status": partial(check_range, size)},
            )
            for scheme in ("https", "http")
        ),
    )
}  # fmt: skip


def store_of(address: str) -> Any:
    """Return the file system of fsspec that reads an address; raise ``InputError`` soon if no server answers."""
    scheme, _, rest = address.partition("://")
    return connected(scheme, rest.partition("/")[0])


@cache
def connected(scheme: str, host: str) -> Any:
    """Return the file system of a scheme that reads a host or bucket."""
    provider = PROVIDERS[scheme]
    address = f"{scheme}://{host}"
    for name in (provider.module, "aiobotocore", "botocore", "google"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # a log may hold an address with a signature
    library = load(f"reading {scheme}://", provider.module, provider.extra, provider.distribution)
    store = tried(address, provider.settings, lambda: provider.connect(library))
    url = tried(address, provider.settings, lambda: provider.endpoint(store, address))
    if where := unreachable(url) and unreachable(url):  # a name server may answer the second time
        raise InputError(f"{address}: cannot reach {where}; check the address and {provider.settings.place}")
    return store
