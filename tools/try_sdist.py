"""Builds an sdist and installs it as a user would, without WebAssembly tools and without a network."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import backend

ROOT = Path(__file__).resolve().parent.parent

NEEDED = ("generated/guest.c", "generated/licences/quickjs-ng.txt", "LICENSE", "src/modebox/py.typed")
PROGRAM = "import modebox; assert modebox.run_sync('[1, 2].map(x => x * 21)').value == [21, 42]"


def main() -> None:
    """Builds, looks, installs, runs."""
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sdist = folder / backend.build_sdist(name)
        with tarfile.open(sdist) as archive:
            names = {member.name.partition("/")[2] for member in archive}
        missing = [path for path in NEEDED if path not in names]
        if missing:
            raise SystemExit(f"error: {sdist.name} lacks {', '.join(missing)}")
        install(sdist, folder / "site")
        environment = os.environ | {"PYTHONPATH": str(folder / "site")}
        subprocess.run([sys.executable, "-S", "-c", PROGRAM], check=True, env=environment, cwd=folder)
        print(f"{sdist.name}: {sdist.stat().st_size / 1e6:.1f} MB, installs and runs")


def install(sdist: Path, site: Path) -> None:
    """Compiles the sdist into site; the cache of pinned downloads is out of reach."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    environment = os.environ | {"MODEBOX_BUILD_CACHE": os.devnull}
    subprocess.run([*command, "--no-index", "--target", str(site), str(sdist)], check=True, env=environment)


if __name__ == "__main__":
    main()
