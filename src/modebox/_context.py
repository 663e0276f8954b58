"""What a host function can know of the call that it serves."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from dataclasses import dataclass as record
    from typing import Any
else:
    from modebox._record import record


# The call that is being served, its id and its function's name, in a sequence of one; None: none is. A run
# has a list for its plain functions, of which only one runs at a time; an awaited call has its own tuple.
_serving: ContextVar[Sequence[tuple[int, str] | None]] = ContextVar("modebox_serving", default=(None,))
serve_in = _serving.set  # to be run in the context


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
    """The call that the running host function serves; also in tasks that an async one made.

    Raises:
        RuntimeError: No host function is running here.
    """
    (call,) = _serving.get()
    if call is None:
        raise RuntimeError("get_host_function_context() was called outside a host function")
    return HostFunctionContext(*call)


def is_in_host_function() -> bool:
    """Whether this is the code of a host function, or of a task that an async one made."""
    return _serving.get()[0] is not None
