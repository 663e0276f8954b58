"""The host calls of a run: when each began and how it ended."""

from __future__ import annotations

from modebox._results import CallRecord

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    State = Literal["returned", "raised", "denied", "waiting", "not_started", "cancelled", "unknown"]

# What is noted of a call that began, in one flat list of ints, which costs the garbage collector nothing: its
# function's index, when it began, and when it was over (0: it is not), as monotonic_ns(). Call ids count up
# from 1 in the order in which the program made the calls, and they begin in this order.
INDEX, BEGUN, ENDED = range(3)
NOTES = 3


class CallTrace:
    """What was noted while the run went on; made into records only when somebody asks for them.

    Attributes:
        names: The names of the functions.
        begun: The notes of the calls that began, in order.
        raised: Ids of those that ended with an error.
        untouched: Ids of those that were cancelled before any of the function's code ran.
        queued: Of each call that never began, its function's index.
        ended_ns: When the run was over.
    """

    __slots__ = ("begun", "ended_ns", "names", "queued", "raised", "untouched")

    def __init__(
        self,
        names: tuple[str, ...],
        begun: list[int],
        raised: frozenset[int],
        untouched: frozenset[int],
        queued: list[int],
        ended_ns: int,
    ) -> None:
        self.names = names
        self.begun = begun
        self.raised = raised
        self.untouched = untouched
        self.queued = queued
        self.ended_ns = ended_ns

    def records(self) -> list[CallRecord]:
        """All calls, in the order in which the program made them."""
        return [*self._begun_records(), *self._queued_records()]

    def _begun_records(self) -> Iterator[CallRecord]:
        notes = (self.begun[INDEX::NOTES], self.begun[BEGUN::NOTES], self.begun[ENDED::NOTES])
        for call_id, (index, begun_ns, ended_ns) in enumerate(zip(*notes, strict=True), 1):
            ms = ((ended_ns or self.ended_ns) - begun_ns) / 1e6
            yield CallRecord(call_id, self.names[index], self._state(call_id, ended_ns), ms)

    def _queued_records(self) -> Iterator[CallRecord]:
        for call_id, index in enumerate(self.queued, 1 + len(self.begun) // NOTES):
            yield CallRecord(call_id, self.names[index], "not_started", 0.0)

    def _state(self, call_id: int, ended_ns: int) -> State:
        if ended_ns:
            return "raised" if call_id in self.raised else "returned"
        return "cancelled" if call_id in self.untouched else "unknown"
