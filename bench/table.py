"""Turns samples into figures, and figures into a text table or JSON."""

from __future__ import annotations

import math
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .measure import Measured
from .native import version
from .peers import Peer
from .rows import Row

OURS = "modebox"
FLOOR = "native"
MEAN_TITLES = {
    "median": "geometric mean against native, medians",
    "best": "geometric mean against native, best runs",
}
OF_STOPS: dict[str, Callable[[list[float]], float]] = {"median": statistics.median, "maximum": max}


@dataclass(frozen=True)
class Figure:
    """What the samples of one row and peer come to.

    Args:
        median: Of all samples.
        best: The least sample; of runs a second the greatest.
        samples: How many there were; for a mean, how many programs.
        ratio: The median divided by modebox's.
    """

    median: float
    best: float
    samples: int
    ratio: float | None = None


@dataclass(frozen=True)
class Line:
    """One line of the table: figures by peer name."""

    name: str
    title: str
    unit: str
    figures: dict[str, Figure]


def header() -> dict[str, str]:
    """What the numbers depend on."""
    return {
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "cpu": f"{cpu_model()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "load": f"{os.getloadavg()[0]:.1f}",
        "native": f"quickjs-ng by {version()} -O2",
    }


def cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.processor()
    )


def lines_of(rows: Sequence[Row], peers: Sequence[Peer], measured: Measured) -> list[Line]:
    """The table's lines; what groups of programs come to is behind them."""
    lines = [line for row in rows for line in lines_of_row(row, peers, measured)]
    if programs := [line for line in lines if line.name.startswith("cpu.")]:
        after = lines.index(programs[-1]) + 1
        lines[after:after] = [mean_line(programs, peers, which) for which in MEAN_TITLES]
    if stops := [line for line in lines if line.name.startswith("stop.")]:
        after = lines.index(stops[-1]) + 1
        lines[after:after] = [stop_line(stops, peers, which) for which in OF_STOPS]
    return lines


def lines_of_row(row: Row, peers: Sequence[Peer], measured: Measured) -> list[Line]:
    """One, or one for each series."""
    if not row.series:
        return [Line(row.name, row.title, row.unit, figures_of(row, peers, measured))]
    return [
        Line(f"{row.name}.{name}", f"{row.title}: {name}", row.unit, figures_of(row, peers, measured, index))
        for index, name in enumerate(row.series)
    ]


def figures_of(row: Row, peers: Sequence[Peer], measured: Measured, index: int = 0) -> dict[str, Figure]:
    figures = {}
    best = max if row.unit == "runs/s" else min
    for peer in peers:
        if samples := measured.samples.get((row.name, peer.name), [])[index :: len(row.series) or 1]:
            figures[peer.name] = Figure(statistics.median(samples), best(samples), len(samples))
    return with_ratios(figures)


def with_ratios(figures: dict[str, Figure]) -> dict[str, Figure]:
    ours = figures.get(OURS)
    if ours is None:
        return figures
    return {
        name: Figure(figure.median, figure.best, figure.samples, figure.median / ours.median)
        for name, figure in figures.items()
    }


def mean_line(programs: Sequence[Line], peers: Sequence[Peer], which: str) -> Line:
    """Geometric mean, over the programs that the peer ran, of its time divided by native's."""
    figures = {}
    for peer in peers:
        ratios = [
            getattr(line.figures[peer.name], which) / getattr(line.figures[FLOOR], which)
            for line in programs
            if peer.name in line.figures and FLOOR in line.figures
        ]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            figures[peer.name] = Figure(mean, mean, len(ratios))
    return Line(f"cpu.mean_{which}", MEAN_TITLES[which], f"of {len(programs)}", with_ratios(figures))


def stop_line(stops: Sequence[Line], peers: Sequence[Peer], which: str) -> Line:
    """Median or maximum over the endless programs that the peer ran."""
    figures = {}
    for peer in peers:
        if ran := [line.figures[peer.name] for line in stops if peer.name in line.figures]:
            of_all = OF_STOPS[which]
            median, best = of_all([f.median for f in ran]), of_all([f.best for f in ran])
            figures[peer.name] = Figure(median, best, len(ran))
    return Line(f"stop.{which}", f"stop at 50 ms: {which} of programs", "ms", with_ratios(figures))


def as_json(lines: Sequence[Line], peers: Sequence[Peer], measured: Measured) -> dict[str, Any]:
    """The same as data."""
    labels = [peer.label for peer in peers]
    return {
        "header": header(),
        "peers": labels,
        "rows": [asdict(line) for line in lines],
        "notes": measured.notes(),
    }


def as_text(lines: Sequence[Line], peers: Sequence[Peer], measured: Measured) -> str:
    """The header, one line for each row, and the notes."""
    out = [f"{name:8} {value}" for name, value in header().items()]
    out.append("cells    median (best) ratio to modebox")
    out += ["", f"{'':46} {'unit':6}" + "".join(f"{peer.label:>27}" for peer in peers)]
    for line in lines:
        cells = "".join(f"{cell(line.figures.get(peer.name)):>27}" for peer in peers)
        out.append(f"{line.title:46} {line.unit:6}{cells}".rstrip())
    return "\n".join([*out, "", *measured.notes()])


def cell(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    ratio = "" if figure.ratio is None else f"{number(figure.ratio)}x"
    return f"{number(figure.median)} ({number(figure.best)}) {ratio:>7}"


def number(value: float) -> str:
    """Three significant digits."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"
