"""Command line of the bench."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from .measure import FULL, QUICK, measure
from .peers import PEERS, Peer
from .rows import ROWS, Row
from .table import as_json, as_text, lines_of


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measures modebox beside its peers.")
    parser.add_argument(
        "rows", nargs="*", help="names, groups or globs of rows (trivial, cpu.json, 'calls.*'); default: all"
    )
    parser.add_argument(
        "--peers", help="names separated by commas, or 'all'; default: all but the optional ones"
    )
    parser.add_argument("--quick", action="store_true", help="few samples: shows that it works, not how fast")
    parser.add_argument(
        "--wheel", type=Path, help="a modebox wheel, measured in an environment of its own as one more peer"
    )
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures as JSON")
    parser.add_argument("--list", action="store_true", help="list rows and peers")
    return parser.parse_args()


def chosen_rows(patterns: Sequence[str]) -> list[Row]:
    def wanted(row: Row) -> bool:
        group = row.name.partition(".")[0]
        return any(fnmatch(row.name, pattern) or pattern == group for pattern in patterns)

    rows = [row for row in ROWS if not patterns or wanted(row)]
    if not rows:
        sys.exit(f"no row is named {' or '.join(patterns)}; see --list")
    return rows


def chosen_peers(names: str | None, wheel: Path | None) -> list[Peer]:
    peers = list(PEERS)
    if wheel:
        peers.insert(1, Peer("wheel", "modebox", "modebox", wheel=wheel.resolve()))
    if names is None:
        return [peer for peer in peers if not peer.optional]
    wanted = names.split(",")
    if unknown := set(wanted) - {peer.name for peer in peers} - {"all"}:
        sys.exit(f"no peer is named {', '.join(unknown)}; see --list")
    return [peer for peer in peers if "all" in wanted or peer.name in wanted]


def main() -> None:
    options = arguments()
    rows, peers = chosen_rows(options.rows), chosen_peers(options.peers, options.wheel)
    if options.list:
        print(
            "\n".join([*(f"{row.name:22} {row.title}" for row in rows), "", *(peer.label for peer in PEERS)])
        )
        return
    measured = measure(rows, peers, QUICK if options.quick else FULL)
    lines = lines_of(rows, peers, measured)
    print(as_text(lines, peers, measured))
    if options.json:
        options.json.write_text(json.dumps(as_json(lines, peers, measured), indent=2) + "\n")


if __name__ == "__main__":
    main()
