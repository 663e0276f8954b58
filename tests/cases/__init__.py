"""The cases as data; README.md says what the lines mean and how they are judged."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Case = dict[str, Any]

FOLDER = Path(__file__).parent
FILES = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
PASS = "pass"

PRINT = "globalThis.print = (...values) => console.log(values.map(String).join(' ')); "


def load(file: str) -> list[Case]:
    """The cases of one file."""
    with (FOLDER / f"{file}.jsonl").open(encoding="utf-8", newline="\n") as lines:
        return [json.loads(line) for line in lines]


def load_manifest() -> dict[str, list[tuple[str, str]]]:
    """For each file the pairs of case id and verdict: "pass", or the area that the case is deferred to."""
    with (FOLDER / "manifest.toml").open("rb") as file:
        manifest = tomllib.load(file)
    return {
        name: [(case, PASS) for case in table.get(PASS, [])]
        + [(case, area) for area, cases in table.get("deferred", {}).items() for case in cases]
        for name, table in manifest.items()
        if name != "areas"
    }


def load_areas() -> dict[str, str]:
    """The areas that cases may be deferred to, and what they wait for."""
    with (FOLDER / "manifest.toml").open("rb") as file:
        areas: dict[str, str] = tomllib.load(file)["areas"]
    return areas


def verdicts(file: str) -> dict[str, str]:
    """Case id to verdict, of one file."""
    return dict(load_manifest()[file])


def programs_of(case: Case) -> list[Case]:
    """A field report holds several programs, any other case is one."""
    programs: list[Case] = case.get("programs", []) if "right" in case else [case]
    return programs


def source_of(case: Case) -> str:
    """The program of a case."""
    if "expression" in case:
        return f"JSON.stringify(await (async () => ({case['expression']}))())"
    if "source_python" in case:
        return str(eval(case["source_python"]))
    source: str = case["source"]
    if "prints" not in case:
        return source
    if source.startswith("#!"):
        first, _, rest = source.partition("\n")
        return f"{first}\n{PRINT}{rest}"
    return PRINT + source
