"""Prints the resident memory of this process and its children after a first run, in MB, as JSON.

Used as `python -m bench.memory ADAPTER ROW`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from .adapters import load
from .rows import row_named


def of_process(pid: str, what: str) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith(f"{what}:"):
            return int(line.split()[1])
    return 0


def children(parent: str) -> Iterator[str]:
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "stat").read_text().rpartition(")")[2].split()[1] == parent:
                yield entry.name
        except OSError:
            continue


def of_all(what: str) -> int:
    """Of this process and its children, in kB: ``Rss``, or ``Pss``, where n maps of a page count 1/n each."""
    own = str(os.getpid())
    return sum(of_process(pid, what) for pid in [own, *children(own)])


def main(adapter_name: str, row_name: str) -> None:
    with load(adapter_name).open_sync(row_named(row_name).timeout_ms) as run:
        run("1 + 1", {})
        print(json.dumps([of_all("Rss") / 1e3]))


if __name__ == "__main__":
    main(*sys.argv[1:])
