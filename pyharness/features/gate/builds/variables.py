"""Allow-lists of variables for processes that build or time the code under test, to keep secrets from it.

The code of a pull request is a stranger's. It runs during the build and again during timing; tokens of a job stay
outside, unless the user names them. A variable that passes may still hold a password (in the address of a package
index): ``exposed`` reports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from pyharness.types import InputError

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PLACES = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME")
COMPILERS = (
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "RUSTFLAGS"),
    *("CUDACXX", "CUDAHOSTCXX", "CUDAARCHS", "CUDA_HOME", "CUDA_PATH", "PYHARNESS_CUDA", "PYHARNESS_STRICT"),
)
COMPILER_PREFIXES = ("CMAKE_", "SKBUILD_")
TOOLCHAINS = ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
PIP = (  # where packages come from, and which; other settings of pip stay out (the target folder, say)
    *("INDEX_URL", "EXTRA_INDEX_URL", "TRUSTED_HOST", "FIND_LINKS", "NO_INDEX", "CONFIG_FILE", "KEYRING_PROVIDER"),
    *("CERT", "CLIENT_CERT", "PROXY", "TIMEOUT", "DEFAULT_TIMEOUT", "RETRIES", "RESUME_RETRIES", "CACHE_DIR"),
    *("NO_CACHE_DIR", "CONSTRAINT", "BUILD_CONSTRAINT", "PRE", "NO_BINARY", "ONLY_BINARY", "PREFER_BINARY"),
    *("USE_FEATURE", "USE_DEPRECATED"),
)
CACHES = (
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"),
    *("PYHARNESS_CACHE", "PYHARNESS_DATA"),
)
THIS_ENVIRONMENT = ("PYTHONPATH", "PYHARNESS_PLUGINS")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_ACCOUNT = re.compile(r"://[^/\s@]+@")  # with or without a password: the name may be a token
_OF_PROXY = re.compile(r"^[^/\s@]+@")  # a proxy's address may lack the scheme


def of_compilers(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables of compilers and build tools, which change the build of the same sources."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in COMPILERS or name.startswith(COMPILER_PREFIXES)
    }


def for_building(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables for git, pip, and the build of a revision."""
    allowed = {*PLACES, *PROXIES, *CERTIFICATES, *TOOLCHAINS, *(f"PIP_{name}" for name in PIP)}
    return {
        **{name: environment[name] for name in sorted(allowed & environment.keys())},
        **{name: value for name, value in sorted(environment.items()) if name.startswith("LC_")},
        **of_compilers(environment),
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }


def further(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Pick the variables that the user passes to builds by name (``--pass``); messages never show values.

    Raises:
        InputError: a variable is not set, or its name is invalid.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            before, equals, _ = name.partition("=")
            shown = f"{before!r} and a value" if equals else repr(name)
            raise InputError(f"--pass takes the name of a variable of this shell, not {shown}")
        if name not in environment:
            raise InputError(f"--pass {name!r}: this shell has no such variable; set it, or leave the option out")
    return {name: environment[name] for name in dict.fromkeys(names)}


def for_processes(environment: Mapping[str, str], threads: int, *, here: bool) -> dict[str, str]:
    """Pick the variables of an arm's processes: the same bytes for both arms.

    Args:
        environment: variables of this process.
        threads: the largest number that any benchmark asks for; limits pools of native libraries.
        here: whether the arms are two tokenizers of this environment, and so need its search path.
    """
    allowed = {*PLACES, *CACHES, "CUDA_VISIBLE_DEVICES", *(THIS_ENVIRONMENT if here else ())}
    return {
        **{name: environment[name] for name in sorted(allowed & environment.keys())},
        **{name: value for name, value in sorted(environment.items()) if name.startswith("LC_")},
        **dict.fromkeys(POOLS, str(threads)),
        **({} if here else {"PYTHONNOUSERSITE": "1"}),
        "PYTHONDONTWRITEBYTECODE": "1",  # write nothing into a given environment
        "PYTHONHASHSEED": "0",
    }


def exposed(variables: Mapping[str, str]) -> Iterator[str]:
    """Yield a note for each variable of a build that holds an address with a user name or password."""
    for name, value in variables.items():
        if _ACCOUNT.search(value) or (name in PROXIES and _OF_PROXY.search(value)):
            yield f"{name} has a user name or password in it, which the code that is built can read"
