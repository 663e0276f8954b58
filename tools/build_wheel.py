"""Builds a wheel whose guest is compiled with a profile of a training run: about a tenth faster.

gcc keeps a profile by the name of the object file, so both builds share one folder.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "profile"
DIST = ROOT / "dist"

TRAINING = """
import pathlib, sys, modebox
for _ in range(10):
    modebox.run_sync(pathlib.Path(sys.argv[1]).read_text())
"""


def build_wheel(profile: str, folder: Path) -> Path:
    """The wheel, built with MODEBOX_PROFILE=profile."""
    shutil.rmtree(folder, ignore_errors=True)
    settings = {"build-dir": BUILD, "cmake.define.MODEBOX_PROFILE": profile}
    options = [f"--config-settings={name}={value}" for name, value in settings.items()]
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, *options, "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def train(wheel: Path) -> None:
    """Runs the training program; the process leaves the profile beside the object files when it ends."""
    site = BUILD / "site"
    shutil.rmtree(site, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    program = str(ROOT / "tools" / "training.js")
    environment = os.environ | {"PYTHONPATH": str(site)}
    subprocess.run([sys.executable, "-S", "-c", TRAINING, program], env=environment, check=True)
    if not list(BUILD.rglob("guest.c.gcda")):
        raise SystemExit("error: the training run left no profile; is the compiler gcc?")


def main() -> None:
    """Builds, trains, builds again."""
    for profile in BUILD.rglob("*.gcda"):
        profile.unlink()
    train(build_wheel("generate", BUILD / "wheel"))
    print(build_wheel("use", DIST))


if __name__ == "__main__":
    main()
