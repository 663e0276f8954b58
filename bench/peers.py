"""The peers, and the environments that they are installed into."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "bench"


@dataclass(frozen=True)
class Peer:
    """One column of the table.

    Args:
        name: Its title.
        adapter: Module of bench.adapters that drives it; ``native`` is driven without Python.
        distribution: Name of the Python distribution, if it is one.
        version: Exact version, installed for the bench; None measures what this interpreter imports.
        wheel: A wheel to install instead.
        optional: Whether it is measured only when it is asked for by name.
    """

    name: str
    adapter: str
    distribution: str | None = None
    version: str | None = None
    wheel: Path | None = None
    optional: bool = False

    @property
    def label(self) -> str:
        return f"{self.name} {self.version}" if self.version and self.version not in self.name else self.name


PEERS = (
    Peer("modebox", "modebox", "modebox"),
    Peer("modebox 0.2.0", "modebox", "modebox", "0.2.0"),
    Peer("monty", "monty", "pydantic-monty", "1.4.0"),
    Peer("quickjs-rs", "quickjs_rs", "quickjs-rs", "0.2.6", optional=True),
    Peer("native", "native"),
)


def environment(peer: Peer) -> Path:
    """The folder of the peer's own environment."""
    version = peer.version or (peer.wheel and f"wheel-{peer.wheel.stat().st_mtime_ns}")
    return BUILD / f"{peer.distribution}-{version}-python{sys.version_info[0]}.{sys.version_info[1]}"


def wheels(peer: Peer) -> list[Path]:
    """The wheels that the peer was installed from."""
    if peer.wheel:
        return [peer.wheel]
    return sorted((environment(peer) / "wheels").glob("*.whl")) if peer.version else []


def interpreter(peer: Peer) -> str:
    """The Python that has the peer; installs it when needed."""
    if not (peer.version or peer.wheel):
        return sys.executable
    folder = environment(peer)
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        install(peer, folder, str(python))
    return str(python)


def install(peer: Peer, folder: Path, python: str) -> None:
    """Makes the environment: first the exact wheels, then their installation."""
    print(f"installing {peer.label}", file=sys.stderr, flush=True)
    venv.create(folder, with_pip=True, clear=True)
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = [str(peer.wheel)] if peer.wheel else [f"{peer.distribution}=={peer.version}"]
    subprocess.run(
        [*pip, "download", "--only-binary", ":all:", "--dest", str(folder / "wheels"), *source], check=True
    )
    subprocess.run([*pip, "install", "--no-deps", *map(str, (folder / "wheels").iterdir())], check=True)
    (folder / "installed").touch()
