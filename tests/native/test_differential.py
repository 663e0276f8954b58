"""The guest's sources compiled natively and the translated guest give the same outcome.

The native program reads requests from its standard input, one JSON object a line, and answers each with a
line; see harness.c. Neither side has host functions here: a program that calls one gets the same
ReferenceError from both.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import cases
import pytest
from cases import Case

from modebox import _core, _outcome

_NATIVE = Path(
    os.environ.get("MODEBOX_NATIVE", Path(__file__).parents[2] / "build" / "native" / "modebox-native")
)
_MODES = {"auto": 0, "script": 1, "function": 2}
_FILENAME = "agent.ts"

# As in harness.c.
_CLOCK_NS = 1_700_000_000_000_000_000
_SEED = b"\7" * 32
_MEMORY = 64 << 20
_VALUE = 16 << 20

_NO_LIMIT = 2**63 - 1
_TIMEOUT_NS = 60_000_000_000
_LIMITS = (_NO_LIMIT, _TIMEOUT_NS, _NO_LIMIT, _MEMORY, _VALUE, 1 << 20, 1000)
_STATUSES = {_outcome.DONE: "done", _outcome.THREW: "threw", _outcome.DEADLOCK: "waiting"}

_FRAMES = "native frames are larger, so fewer of them fit the same stack"
# Programs whose outcome depends on what the builds do not share; each must differ to have a place here.
_DIFFERENT = {
    "field_reports/L15.9": _FRAMES,
    "limits/stack-async-arrow-chain": _FRAMES,
    "limits/stack-bound-names": _FRAMES,
    "limits/stack-five-thousand-frames": _FRAMES,
}


def _programs() -> dict[str, Case]:
    """All programs by name: every case of every file, field reports program by program."""
    found: dict[str, Case] = {}
    for file in cases.FILES:
        for case in cases.load(file):
            programs = cases.programs_of(case)
            for number, program in enumerate(programs, 1):
                name = f"{file}/{case['id']}" + (f".{number}" if len(programs) > 1 else "")
                found[name] = program
    return found


def _needs_limits(program: Case) -> bool:
    """The native build has no ticks, so what a limit must end would never end there."""
    return "limits" in program


_ALL = _programs()
_COMPARED = {name: program for name, program in _ALL.items() if not _needs_limits(program)}


def test_all_but_limits_are_compared() -> None:
    left_out = {name.partition("/")[0] for name in _ALL.keys() - _COMPARED.keys()}
    assert left_out <= {"limits", "host_calls", "values", "field_reports"}
    assert len(_COMPARED) > 0.8 * len(_ALL)


@pytest.fixture(scope="module")
def native() -> dict[str, dict[str, Any]]:
    """The native build's answers, by the programs' names."""
    assert _NATIVE.exists(), f"{_NATIVE} is missing: python tools/build_native.py {_NATIVE}"
    requests = [
        {
            "source": cases.source_of(program),
            "filename": program.get("filename", _FILENAME),
            "mode": _MODES[program.get("mode", "auto")],
        }
        for program in _COMPARED.values()
    ]
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run([_NATIVE], input=lines.encode(), capture_output=True, timeout=300, check=True)
    answers = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert len(answers) == len(requests), done.stderr.decode()
    return dict(zip(_COMPARED, answers, strict=True))


@pytest.mark.parametrize("name", _COMPARED)
def test_same_outcome(name: str, native: dict[str, dict[str, Any]]) -> None:
    there, here = _native_outcome(native[name]), _translated_outcome(_COMPARED[name])
    if name in _DIFFERENT:
        assert there != here, f"does not differ any more: {_DIFFERENT[name]}"
    else:
        assert there == here


def _native_outcome(answer: dict[str, Any]) -> tuple[object, ...]:
    status = answer["status"]
    data = base64.b64decode(answer.get("value", ""))
    if status == "threw":
        return (
            status,
            answer["kind"],
            _bytes_of(_core.decode(data[1:])),
        )  # the tag of an error, then its fields
    return (status, _bytes_of(_core.decode(data))) if status == "done" else (status,)


def _translated_outcome(program: Case) -> tuple[object, ...]:
    source, filename = cases.source_of(program), program.get("filename", _FILENAME)
    mode = _MODES[program.get("mode", "auto")]
    run = _core.start(source, filename, (), mode, _CLOCK_NS, _SEED, _LIMITS, 0)
    status = _STATUSES.get(run.status, f"status {run.status}")
    if status == "threw":
        return status, run.outcome()[0], _bytes_of(run.error())
    return (status, _bytes_of(run.value())) if status == "done" else (status,)


def _bytes_of(value: object) -> bytes:
    return _core.encode(value, 1 << 30)
