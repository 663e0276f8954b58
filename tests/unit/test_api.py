"""The package itself: its names, what importing it costs, its typing, its records."""

import ast
import base64
import copy
import dataclasses
import doctest
import importlib.metadata
import inspect
import pathlib
import pickle
import subprocess
import sys

import pytest

import modebox
from modebox import Limits, LogEntry, Runner, RunResult, Stats, _core

PACKAGE = pathlib.Path(modebox.__file__).parent


def in_fresh_process(script):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_all_names():
    assert modebox.__all__ == sorted(
        modebox.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name)
    )
    assert set(modebox.__all__) == {
        "UNDEFINED",
        "CallRecord",
        "HostFunctionContext",
        "JsDate",
        "JsEntries",
        "JsError",
        "JsMap",
        "JsRegExp",
        "JsSet",
        "Limits",
        "LogEntry",
        "RunError",
        "RunResult",
        "Runner",
        "Stats",
        "__version__",
        "get_host_function_context",
        "new_secret",
        "run",
        "run_sync",
    }
    public = {name for name in vars(modebox) if not name.startswith("_")}
    assert public == set(modebox.__all__) - {"__version__"}


def test_version():
    assert modebox.__version__ == importlib.metadata.version("modebox")


def test_everything_has_a_docstring():
    for name in modebox.__all__:
        if not name.isupper() and not name.startswith("_"):
            assert inspect.getdoc(getattr(modebox, name)), name


def test_the_example_of_the_package():
    assert doctest.testmod(modebox) == (0, 3)


def test_new_secrets():
    secrets = {modebox.new_secret() for _ in range(100)}
    assert len(secrets) == 100
    for secret in secrets:
        assert len(base64.urlsafe_b64decode(secret + "=")) == 32
        assert secret.isascii() and not set(secret) & set("+/= ")


def test_signatures():
    for function in (Runner.run, Runner.run_sync, modebox.run, modebox.run_sync):
        parameters = inspect.signature(function).parameters
        assert all(
            parameter.kind == parameter.KEYWORD_ONLY
            for name, parameter in parameters.items()
            if name not in ("self", "source")
        )
    assert inspect.signature(Runner.run).parameters == inspect.signature(Runner.run_sync).parameters
    assert inspect.iscoroutinefunction(modebox.run)
    assert all(
        parameter.kind == parameter.KEYWORD_ONLY
        for name, parameter in inspect.signature(Runner.__init__).parameters.items()
        if name != "self"
    )


def test_everything_is_typed():
    for function in (Runner.__init__, Runner.run, Runner.run_sync, modebox.new_secret):
        signature = inspect.signature(function)
        assert signature.return_annotation is not signature.empty
        for name, parameter in signature.parameters.items():
            assert name == "self" or parameter.annotation not in (parameter.empty, "Any")


def test_importing_and_running_imports_little():
    script = "import modebox; modebox.run_sync('1'); print(*set(sys.modules) - before)"
    imported = set(in_fresh_process(f"import sys; before = set(sys.modules); {script}").split())
    for heavy in ("asyncio", "dataclasses", "enum", "inspect", "json", "re", "typing"):
        assert heavy not in imported


def imports_of(path):
    """Modules that importing the file imports: none of those in functions or for type checkers."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node = ast.Module(node.orelse)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        for each in ast.walk(node):
            if isinstance(each, ast.Import):
                yield from (alias.name for alias in each.names)
            elif isinstance(each, ast.ImportFrom):
                yield each.module


def test_modules_import_nothing_that_costs_time():
    light = {"__future__", "_collections_abc", "_functools", "_thread", "contextvars", "os", "sys", "time"}
    for path in PACKAGE.glob("*.py"):
        names = {name for name in imports_of(path) if name.split(".")[0] != "modebox"}
        if path.name in ("_attend.py", "_workers.py"):  # imported when a run needs an event loop
            names -= {
                "asyncio",
                "atexit",
                "contextlib",
                "functools",
                "inspect",
                "logging",
                "types",
                "weakref",
            }
        assert names <= light, path.name


def test_the_stub_has_what_the_extension_has():
    stub = (PACKAGE / "_core.pyi").read_text()
    for name in vars(_core):
        assert name.startswith("__") or name in stub
    for name in vars(_core.Run):
        assert name.startswith("__") or f"def {name}(" in stub
    assert (PACKAGE / "py.typed").exists()


def test_a_run_cannot_be_made_or_misused():
    with pytest.raises(TypeError):
        _core.Run()
    with pytest.raises(TypeError):
        _core.start()
    limits = (1000, 10**9, 10**9, 2**20, 1000, 1000, 10)
    with pytest.raises(ValueError, match="32 bytes"):
        _core.start("1", "f", (), 0, 0, b"", limits, 0)
    with pytest.raises(TypeError):
        _core.start("1", "f", (), 0, 0, bytes(32), limits[1:], 0)
    run = _core.start("await f()", "f", ("f",), 0, 0, bytes(32), (10**9, *limits[1:]), 0)
    assert run.next_call() == (1, 0, [])
    assert run.next_call() is None
    with pytest.raises(RuntimeError):
        run.settle(2, None, 0)
    with pytest.raises(TypeError):
        run.settle_error(1, [], 0)
    with pytest.raises(_core.MalformedError):
        run.value()
    assert run.settle(1, None, 0) == 0
    with pytest.raises(RuntimeError):
        run.settle(1, None, 0)
    run.end()
    assert run.status == 0


@pytest.mark.skipif(sys.version_info < (3, 12), reason="no module to make one")
def test_subinterpreters_are_refused():
    module = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"
    script = f"""
import {module} as interpreters
id = interpreters.create()
try:
    failure = interpreters.run_string(id, "import sys; sys.path[:] = {sys.path!r}; import modebox")
    print(failure.type.__name__, failure.msg)
except interpreters.RunFailedError as error:
    print(error)
"""
    assert "subinterpreters" in in_fresh_process(script)


# ---- records

STATS = Stats(1.0, 2.0, 3.0, 4, 5, 6)


def test_records_are_frozen():
    entry = LogEntry("log", "text")
    for change in (
        lambda: setattr(entry, "level", "x"),
        lambda: setattr(entry, "new", 1),
        lambda: delattr(entry, "level"),
    ):
        with pytest.raises(AttributeError, match="frozen"):
            change()


def test_records_compare_hash_and_show_themselves():
    assert LogEntry("log", "a") == LogEntry(level="log", message="a") != LogEntry("log", "b")
    assert LogEntry("log", "a") != ("log", "a")
    assert len({LogEntry("log", "a"), LogEntry("log", "a"), LogEntry("log", "b")}) == 2
    assert repr(LogEntry("log", "a")) == "LogEntry(level='log', message='a')"
    assert repr(RunResult("completed", [], STATS, 7)) == (
        "RunResult(status='completed', logs=[], stats=Stats(wall_ms=1.0, guest_ms=2.0, instantiate_ms=3.0, "
        "fuel_used=4, host_calls=5, memory_bytes=6, continuation_bytes=0), value=7, interruptions=[], "
        "continuation=None, error=None, calls=[])"
    )
    match LogEntry("log", "a"):
        case LogEntry(level, message):
            assert (level, message) == ("log", "a")
    with pytest.raises(TypeError):
        LogEntry("log")


@pytest.mark.parametrize(
    "record", [LogEntry("log", "a"), STATS, Limits(fuel=3), RunResult("completed", [], STATS, [1])]
)
def test_records_are_dataclasses(record):
    assert dataclasses.is_dataclass(record)
    fields = dataclasses.fields(record)
    assert [field.name for field in fields] == list(type(record).__match_args__)
    assert [field.type for field in fields] == list(type(record).__annotations__.values())
    assert (
        dataclasses.replace(record) == record == pickle.loads(pickle.dumps(record)) == copy.deepcopy(record)
    )
    assert dataclasses.asdict(record)[fields[0].name] == getattr(record, fields[0].name)


def test_replacing_a_limit_checks_it():
    assert dataclasses.replace(Limits(fuel=1), fuel=2, timeout_ms=3) == Limits(fuel=2, timeout_ms=3)
    with pytest.raises(ValueError, match="fuel"):
        dataclasses.replace(Limits(), fuel=-1)
