"""What a host function can know of the call that it serves."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass as record
    from typing import Any
else:
    from modebox._record import record

_current: ContextVar[tuple[int, str]] = ContextVar("modebox_host_call")


@record(frozen=True)
class HostFunctionContext:
    """The host call that is being served.

    Attributes:
        call_id: Number of the call: 1 for the program's first. `CallRecord.id` of the same call.
        host_function_name: The function's name in the program, with dots: "bank.pay".
        resume: The answer that the call waited for; None: it was not interrupted.
    """

    call_id: int
    host_function_name: str
    resume: Any = None


def get_host_function_context() -> HostFunctionContext:
    """The call that the running host function serves; also in tasks that it made.

    Raises:
        RuntimeError: No host function is running here.
    """
    call = _current.get(None)
    if call is None:
        raise RuntimeError("get_host_function_context() was called outside a host function")
    return HostFunctionContext(*call)


def is_in_host_function() -> bool:
    """Whether this is the code of a host function, or of a task that one made."""
    return _current.get(None) is not None


def serve(call: tuple[int, str], function: Callable[..., object], arguments: list[Any]) -> object:
    """Calls a host function; to be run in the call's own context."""
    _current.set(call)
    return function(*arguments)
