"""Variables of processes that run what is under test, to build it or to time it: an allow-list, so no secret is in it.

The code of a pull request is a stranger's. It runs when it is built, and again when it is timed; tokens of a job stay
outside. What is passed on may still have a password in it (an index of packages by its address): that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
PLACES = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "XDG_CACHE_HOME")
COMPILERS = (
    *("CC", "CXX", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "MAKEFLAGS", "RUSTFLAGS"),
    *("CUDACXX", "CUDAHOSTCXX", "CUDAARCHS", "CUDA_HOME", "CUDA_PATH", "PYHARNESS_CUDA", "PYHARNESS_STRICT"),
)
COMPILER_PREFIXES = ("CMAKE_", "SKBUILD_")
TOOLCHAINS = ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN")
ELSEWHERE = ("PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON")  # would install to another place
CACHES = (
    *("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HUB_OFFLINE", "TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"),
    *("PYHARNESS_CACHE", "PYHARNESS_DATA"),
)
THIS_ENVIRONMENT = ("PYTHONPATH", "PYHARNESS_PLUGINS")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")
_PASSWORD = re.compile(r"://[^/\s@]+:[^/\s@]+@")


def of_compilers(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick those that change what a build makes of the same sources."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name in COMPILERS or name.startswith(COMPILER_PREFIXES)
    }


def for_building(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick those that git, pip, and the build of a revision get."""
    allowed = {*PLACES, *PROXIES, *CERTIFICATES, *TOOLCHAINS}
    return {
        **{name: environment[name] for name in sorted(allowed & environment.keys())},
        **{name: value for name, value in environment.items() if name.startswith(("LC_", "PIP_"))},
        **of_compilers(environment),
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_INPUT": "1",
    }


def for_installing(environment: Mapping[str, str]) -> dict[str, str]:
    """Pick those that pip gets to fill an environment: not what would make it fill another."""
    return {name: value for name, value in for_building(environment).items() if name not in ELSEWHERE}


def for_processes(environment: Mapping[str, str], threads: int, *, here: bool) -> dict[str, str]:
    """Pick those of an arm's processes: the same, byte by byte, for both.

    Args:
        environment: variables of this process.
        threads: the most that any benchmark asks for; pools of native libraries get no more.
        here: whether the arms are two tokenizers of this environment, to which its search path belongs.
    """
    allowed = {*PLACES, *CACHES, "CUDA_VISIBLE_DEVICES", *(THIS_ENVIRONMENT if here else ())}
    return {
        **{name: environment[name] for name in sorted(allowed & environment.keys())},
        **{name: value for name, value in sorted(environment.items()) if name.startswith("LC_")},
        **dict.fromkeys(POOLS, str(threads)),
        **({} if here else {"PYTHONNOUSERSITE": "1"}),
        "PYTHONDONTWRITEBYTECODE": "1",  # nothing is written into an environment that was given
        "PYTHONHASHSEED": "0",
    }


def exposed(variables: Mapping[str, str]) -> Iterator[str]:
    """Say which of the variables hold a password that the code under test can read."""
    for name, value in variables.items():
        if _PASSWORD.search(value):
            yield f"{name} has a password in it, which the code that is built can read"
