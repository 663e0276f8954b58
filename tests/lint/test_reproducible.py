"""The same sources give the same module, wherever they are built."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_same_bytes_from_another_folder(tmp_path):
    """Nothing is shared with the first build but the pinned downloads: neither folder nor compiler cache."""
    copy = tmp_path / "elsewhere with a space"
    command = [
        sys.executable,
        str(ROOT / "tools" / "generate.py"),
        "--output",
        str(copy),
        "--work",
        str(tmp_path / "w"),
    ]
    subprocess.run(
        command, check=True, env=os.environ | {"TZ": "Asia/Kathmandu", "LC_ALL": "C"}, cwd=tmp_path
    )
    for name in ("guest.wasm", "guest.c", "guest.h", "engine_id.h"):
        assert (copy / name).read_bytes() == (ROOT / "generated" / name).read_bytes(), name


def test_no_path_of_this_machine():
    for name in ("guest.wasm", "guest.c"):
        content = (ROOT / "generated" / name).read_bytes()
        assert str(ROOT).encode() not in content
        assert str(Path.home()).encode() + b"/" not in content
