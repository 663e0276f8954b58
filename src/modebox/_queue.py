"""The queue before a Runner: so many runs at once, and more wait for their turn, in order.

Runs wait in threads and in event loops; a turn passes from any of them to any other.
"""

from __future__ import annotations

from _thread import allocate_lock
from os import register_at_fork

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WAITING, ADMITTED, REFUSED = range(3)
_LOOK_S = 1.0  # a waiting thread looks by itself, should an interrupted one have failed to wake it


_forks = 0  # how many there were between the first process and this one


def _count_fork() -> None:
    global _forks
    _forks += 1


register_at_fork(after_in_child=_count_fork)


class Ticket:
    """A place in the queue.

    Attributes:
        state: WAITING; ADMITTED: whoever holds it has to `leave`; REFUSED: the queue was closed.
        wake: Called on any thread when the state is another than WAITING.
    """

    __slots__ = ("state", "wake")

    def __init__(self, wake: Callable[[], object]) -> None:
        self.state = WAITING
        self.wake = wake


class Queue:
    """Admits at most so many; any thread."""

    __slots__ = ("_forks", "_inside", "_is_closed", "_lock", "_most", "_waiting")

    def __init__(self, most: int) -> None:
        self._most = most
        self._is_closed = False
        self._start_anew()

    def _start_anew(self) -> None:
        """In a forked child the threads of the others are gone, perhaps with the lock held."""
        self._lock = allocate_lock()
        self._inside = 0
        self._waiting: list[Ticket] = []
        self._forks = _forks

    def enter(self) -> bool:
        """Whether there is room at once, and nobody before."""
        if self._forks != _forks:
            self._start_anew()
        with self._lock:
            return self._admit()

    def line_up(self, wake: Callable[[], object]) -> Ticket:
        """A place in the queue. wake is not called if its state is settled already."""
        ticket = Ticket(wake)
        with self._lock:
            if self._is_closed:
                ticket.state = REFUSED
            elif self._admit():
                ticket.state = ADMITTED
            else:
                self._waiting.append(ticket)
        return ticket

    def leave(self) -> None:
        """Hands the turn on."""
        if self._forks != _forks:  # forked inside a run: nobody here waits for it
            return
        with self._lock:
            next_one = self._waiting.pop(0) if self._waiting else None
            if next_one is not None:
                next_one.state = ADMITTED
            else:
                self._inside -= 1
        if next_one is not None:
            next_one.wake()

    def give_up(self, ticket: Ticket) -> None:
        """Whoever held the ticket does not want the turn any more."""
        with self._lock:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
        if ticket.state == ADMITTED:
            self.leave()

    def close(self) -> None:
        """Refuses those that wait, and all that would."""
        with self._lock:
            self._is_closed = True
            refused, self._waiting = self._waiting, []
            for ticket in refused:
                ticket.state = REFUSED
        for ticket in refused:
            ticket.wake()

    def wait(self) -> bool:
        """Lines up and blocks the thread; whether it was admitted. Signal handlers run meanwhile."""
        turn = allocate_lock()
        turn.acquire()
        ticket = self.line_up(turn.release)
        try:
            while ticket.state == WAITING:
                turn.acquire(timeout=_LOOK_S)
        except BaseException:
            self.give_up(ticket)
            raise
        return ticket.state == ADMITTED

    def _admit(self) -> bool:
        if self._waiting or self._inside >= self._most:
            return False
        self._inside += 1
        return True
