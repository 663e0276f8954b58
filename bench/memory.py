"""Prints the resident memory of this process and its children after a first run, in kB.

Used as `python -m bench.memory ADAPTER`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .adapters import load


def resident(pid: str) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def children(parent: str) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "stat").read_text().rpartition(")")[2].split()[1] == parent:
                yield entry.name
        except OSError:
            continue


def main(adapter_name: str) -> None:
    with load(adapter_name).open_sync() as run:
        run("1 + 1", {})
        own = str(os.getpid())
        print(sum(resident(pid) for pid in [own, *children(own)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
