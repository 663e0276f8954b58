"""Modebox runs JavaScript that a model wrote, in a WebAssembly sandbox.

The program's only authority is the host functions that it was given:

    >>> import modebox
    >>> def price(item):
    ...     return {"apple": 3, "pear": 4}[item]
    >>> modebox.run_sync("await price('apple') + await price('pear')", host_functions={"price": price}).value
    7

`run` and `run_sync` use a shared Runner; a Runner of one's own has its own limits and can be closed.
"""

from modebox._context import HostFunctionContext, get_host_function_context
from modebox._core import UNDEFINED
from modebox._errors import RunError
from modebox._limits import Limits
from modebox._results import CallRecord, LogEntry, RunResult, Stats
from modebox._runner import Runner
from modebox._secrets import new_secret
from modebox._values import JsDate, JsEntries, JsError, JsMap, JsRegExp, JsSet

__all__ = [
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
]

__version__ = "0.3.0.dev0"

_shared = Runner()
run = _shared.run
run_sync = _shared.run_sync

for _name in __all__:  # as tracebacks, pickles and readers know them
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
