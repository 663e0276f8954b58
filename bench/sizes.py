"""Prints what a distribution and all that it requires take on disk, as JSON.

Used as `python -m bench.sizes NAME`.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


def with_requirements(name: str, found: dict[str, Distribution]) -> None:
    """Adds the distribution of that name, and those that it requires, to found."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in found:
        return
    try:
        found[key] = distribution(name)
    except PackageNotFoundError:
        return
    for requirement in found[key].requires or ():
        if "extra ==" not in requirement:
            with_requirements(re.split(r"[^\w.-]", requirement)[0], found)


def is_editable(found: Distribution) -> bool:
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    return bool(origin.get("dir_info", {}).get("editable"))


def main(name: str) -> None:
    found: dict[str, Distribution] = {}
    with_requirements(name, found)
    paths = [Path(str(entry.locate_file(file))) for entry in found.values() for file in entry.files or ()]
    sizes = {path: path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc"}
    extensions = [size for path, size in sizes.items() if path.suffix == ".so"]
    complete = not any(map(is_editable, found.values()))
    print(
        json.dumps(
            {
                "installed": sum(sizes.values()) if complete else None,
                "extension": max(extensions, default=None),
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
