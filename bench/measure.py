"""Takes the samples: rows one after another, within a row the peers in turns."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from .peers import Peer
from .rows import Row
from .samplers import Sample, UnavailableError, open_sampler

FAILURES = (UnavailableError, OSError, subprocess.SubprocessError)


@dataclass(frozen=True)
class Effort:
    """How much to measure.

    Args:
        rounds: How often each peer gets its turn in a row.
        seconds: How long a turn lasts; a turn has at least one run.
        rate_seconds: The same for runs a second.
        most_seconds: A peer that spent more than this on a row gets no more turns.
    """

    rounds: int
    seconds: float
    rate_seconds: float
    most_seconds: float


FULL = Effort(rounds=7, seconds=0.15, rate_seconds=0.5, most_seconds=8)
QUICK = Effort(rounds=3, seconds=0.03, rate_seconds=0.15, most_seconds=1)


@dataclass
class Measured:
    """The samples by row and peer name; the rows that could not be measured by peer name and reason."""

    samples: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    missing: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """One line for each reason."""
        return [f"{peer}: {reason} ({', '.join(rows)})" for (peer, reason), rows in self.missing.items()]


def measure(rows: Sequence[Row], peers: Sequence[Peer], effort: Effort) -> Measured:
    """Measures all rows for all peers."""
    measured = Measured()
    for row in rows:
        print(f"{row.name} ", end="", file=sys.stderr, flush=True)
        measure_row(row, peers, effort, measured)
        print(file=sys.stderr)
    return measured


def measure_row(row: Row, peers: Sequence[Peer], effort: Effort, measured: Measured) -> None:
    with ExitStack() as stack:
        waiting: dict[str, Sample] = {}
        for peer in peers:
            try:
                sampler = open_sampler(row, peer)
                if sampler:
                    waiting[peer.name] = stack.enter_context(sampler)
            except FAILURES as error:
                measured.missing.setdefault((peer.name, str(error)), []).append(row.name)
        take_turns(row, waiting, effort, measured)


def take_turns(row: Row, waiting: dict[str, Sample], effort: Effort, measured: Measured) -> None:
    """Samples the peers in rounds, each round in the other order."""
    spent = dict.fromkeys(waiting, 0.0)
    seconds = effort.rate_seconds if row.kind == "rate" else effort.seconds
    rounds = 1 if row.kind == "size" else effort.rounds
    for number in range(rounds):
        for name in list(waiting)[:: 1 if number % 2 else -1]:
            start = time.perf_counter()
            try:
                measured.samples.setdefault((row.name, name), []).extend(waiting[name](seconds))
            except FAILURES as error:
                measured.missing.setdefault((name, str(error)), []).append(row.name)
                del waiting[name]
                continue
            spent[name] += time.perf_counter() - start
            if spent[name] > effort.most_seconds:
                del waiting[name]
        print(".", end="", file=sys.stderr, flush=True)
