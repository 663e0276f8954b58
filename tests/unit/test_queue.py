"""max_instances: who runs at once, who waits, in which order, and what ends the waiting."""

import asyncio
import functools
import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import modebox
from modebox import RunError, Runner
from modebox._queue import ADMITTED, REFUSED, WAITING, Queue

SECONDS = 30


class Crowd:
    """A host function that notes who is inside, and how many at most."""

    def __init__(self):
        self.inside, self.most, self.order = 0, 0, []
        self._lock = threading.Lock()

    def enter(self, name):
        with self._lock:
            self.order.append(name)
            self.inside += 1
            self.most = max(self.most, self.inside)

    def leave(self):
        with self._lock:
            self.inside -= 1

    def visit(self, name):
        self.enter(name)
        time.sleep(0.005)
        self.leave()

    async def visit_async(self, name):
        self.enter(name)
        await asyncio.sleep(0.005)
        self.leave()


def in_threads(functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
        assert not thread.is_alive()


# ---- runs


@pytest.mark.parametrize("most", [1, 3])
def test_runs_over_it_wait_in_order(most):
    crowd, runner = Crowd(), Runner(max_instances=most)

    async def main():
        functions = {"f": crowd.visit_async}
        await asyncio.gather(*(runner.run(f"await f({i})", host_functions=functions) for i in range(10)))

    asyncio.run(main())
    assert (crowd.most, crowd.order) == (most, list(range(10)))


def test_threads_loops_and_run_sync_share_one_queue():
    crowd, runner = Crowd(), Runner(max_instances=2)

    def sync():
        for i in range(4):
            runner.run_sync(f"await f({i})", host_functions={"f": crowd.visit})

    def loop():
        async def main():
            functions = {"f": crowd.visit_async}
            await asyncio.gather(*(runner.run(f"await f({i})", host_functions=functions) for i in range(4)))

        asyncio.run(main())

    in_threads([sync, sync, loop, loop])
    assert (crowd.most, crowd.inside, len(crowd.order)) == (2, 0, 16)


def test_waiting_does_not_count_in_the_timeout():
    crowd, runner = Crowd(), Runner(max_instances=1, limits={"timeout_ms": 200})

    async def visit():
        await asyncio.sleep(0.1)
        await crowd.visit_async(0)

    async def main():
        runs = (runner.run("await f()", host_functions={"f": visit}) for _ in range(4))
        return await asyncio.gather(*runs)

    results = asyncio.run(main())
    assert all(result.stats.wall_ms < 200 for result in results)


def test_a_run_inside_a_host_function_does_not_wait():
    runner = Runner(max_instances=1)

    def inner():
        return runner.run_sync("1").value

    async def inner_async():
        await asyncio.sleep(0)
        results = await asyncio.gather(
            *(runner.run("2") for _ in range(3)), asyncio.to_thread(runner.run_sync, "3")
        )
        return [result.value for result in results]

    functions = {"f": inner, "g": inner_async}
    for _ in range(2):
        assert asyncio.run(runner.run("[await f(), await g()]", host_functions=functions)).value == [
            1,
            [2, 2, 2, 3],
        ]


def test_run_sync_inside_a_running_loop_does_not_wait():
    runner = Runner(max_instances=1)

    async def main():
        task = asyncio.create_task(runner.run("await f()", host_functions={"f": lambda: asyncio.sleep(0.01)}))
        await asyncio.sleep(0.001)
        assert runner.run_sync("1").value == 1
        await task

    asyncio.run(main())


def test_a_failed_run_makes_room():
    runner = Runner(max_instances=1)

    def leave():
        raise KeyboardInterrupt

    for _ in range(3):
        assert runner.run_sync("null.x", throw_on_error=False).status == "failed"
        with pytest.raises(KeyboardInterrupt):
            runner.run_sync("await f()", host_functions={"f": leave})
        with pytest.raises(TypeError):
            runner.run_sync(1)
    assert runner.run_sync("1").value == 1


def test_a_cancelled_run_leaves_the_queue():
    crowd, runner = Crowd(), Runner(max_instances=1)

    async def main():
        functions = {"f": crowd.visit_async}
        tasks = [asyncio.create_task(runner.run(f"await f({i})", host_functions=functions)) for i in range(5)]
        await asyncio.sleep(0.001)
        tasks[0].cancel()  # it runs
        tasks[2].cancel()  # it waits
        return await asyncio.gather(*tasks, return_exceptions=True)

    results = asyncio.run(main())
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [
        True,
        False,
        True,
        False,
        False,
    ]
    assert [name for name in crowd.order if name] == [1, 3, 4]
    assert runner.run_sync("1").value == 1


def test_a_run_that_is_cancelled_as_its_turn_comes_hands_it_on():
    runner = Runner(max_instances=1)

    async def main():
        release = asyncio.Event()
        first = asyncio.create_task(runner.run("await f()", host_functions={"f": release.wait}))
        await asyncio.sleep(0.001)
        second = asyncio.create_task(runner.run("2"))
        third = asyncio.create_task(runner.run("3"))
        await asyncio.sleep(0.001)
        release.set()
        first.add_done_callback(lambda _: second.cancel())
        await first
        assert (await third).value == 3
        with pytest.raises(asyncio.CancelledError):
            await second

    asyncio.run(main())
    assert runner.run_sync("1").value == 1


def test_close_ends_those_that_wait():
    runner = Runner(max_instances=1)
    kinds = []

    def wait_in_thread():
        error = runner.run_sync("1", throw_on_error=False).error
        kinds.append((error.kind, error.code, error.stats.wall_ms))

    async def main():
        hold = asyncio.create_task(runner.run("await f()", host_functions={"f": lambda: asyncio.sleep(60)}))
        await asyncio.sleep(0.001)
        waiting = asyncio.create_task(runner.run("1"))
        thread = threading.Thread(target=wait_in_thread)
        thread.start()
        await asyncio.sleep(0.05)
        runner.close()
        for task in (hold, waiting):
            with pytest.raises(RunError) as caught:
                await task
            assert caught.value.kind == "Aborted"
        await asyncio.to_thread(thread.join)

    asyncio.run(main())
    assert kinds == [("Aborted", "RUN_ABORTED", 0.0)]
    with pytest.raises(RuntimeError, match="closed"):
        runner.run_sync("1")


def test_ctrl_c_while_waiting_leaves_the_queue():
    script = """
        import asyncio, signal, threading, time
        import modebox
        runner = modebox.Runner(max_instances=1)
        hold = threading.Event()
        options = {"source": "await f()", "host_functions": {"f": hold.wait}}
        holder = threading.Thread(target=runner.run_sync, kwargs=options)
        holder.start()
        time.sleep(0.1)
        main = threading.main_thread().ident
        for run in (lambda: runner.run_sync("1"), lambda: asyncio.run(runner.run("1"))):
            threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
            try:
                run()
            except KeyboardInterrupt:
                print("interrupted")
        hold.set()
        holder.join()
        print(runner.run_sync("1 + 1").value)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["interrupted", "interrupted", "2"], "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_a_queue_of_its_own():
    script = """
        import os, threading
        import modebox
        runner = modebox.Runner(max_instances=1)
        def say(text):
            os.write(1, f"{text} ".encode())
        def fork():
            child = os.fork()
            if child:
                return os.waitpid(child, 0)[1]
            threading.Thread(target=lambda: say(runner.run_sync("'child'").value)).start()
            return "in child"
        value = runner.run_sync("await f()", host_functions={"f": fork}).value
        if value == "in child":
            say(runner.run_sync("2").value)
        else:
            print(value, runner.run_sync("3").value)
    """
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert sorted(done.stdout.split()) == ["0", "2", "3", "child"], done.stderr


# ---- the option


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (0, ValueError, "max_instances must be at least 1, not 0"),
        (1.5, TypeError, "max_instances must be an int of at least 1, or None, not float"),
        (True, TypeError, "max_instances must be an int of at least 1, or None, not bool"),
    ],
)
def test_misuse(given, error, message):
    with pytest.raises(error) as caught:
        Runner(max_instances=given)
    assert str(caught.value) == message


def test_options_that_change_nothing():
    assert Runner(metering=False, cache_dir="/nowhere").run_sync("1").value == 1
    with pytest.raises(TypeError):
        Runner({})


def test_many_runs_fit_by_default():
    async def main():
        functions = {"f": functools.partial(asyncio.sleep, 0.01)}
        await asyncio.gather(*(modebox.run("await f()", host_functions=functions) for _ in range(60)))

    started = time.perf_counter()
    asyncio.run(main())
    assert time.perf_counter() - started < SECONDS


# ---- the queue itself


def test_tickets():
    queue, woken = Queue(1), []
    assert queue.enter()
    assert not queue.enter()
    first, second, third = (queue.line_up(functools.partial(woken.append, name)) for name in "abc")
    assert [ticket.state for ticket in (first, second, third)] == [WAITING] * 3
    queue.give_up(second)
    queue.leave()
    assert (first.state, woken) == (ADMITTED, ["a"])
    assert not queue.enter()  # third comes first
    queue.give_up(first)
    assert (third.state, woken) == (ADMITTED, ["a", "c"])
    queue.leave()
    assert queue.line_up(woken.append).state == ADMITTED
    waiting = queue.line_up(functools.partial(woken.append, "d"))
    queue.close()
    assert (waiting.state, woken[-1]) == (REFUSED, "d")
    assert queue.line_up(woken.append).state == REFUSED
    queue.give_up(waiting)
    queue.leave()


def test_many_threads_meet():
    queue, crowd = Queue(3), Crowd()

    def work():
        for _ in range(50):
            assert queue.enter() or queue.wait()
            crowd.enter(None)
            crowd.leave()
            queue.leave()

    in_threads([work] * 8)
    assert crowd.most <= 3
    assert [queue.enter() for _ in range(4)] == [True, True, True, False]


def test_a_loop_that_was_closed_meanwhile():
    queue = Queue(1)
    assert queue.enter()

    async def main():
        from modebox._attend import wait_for_turn

        asyncio.ensure_future(wait_for_turn(queue))  # noqa: RUF006
        await asyncio.sleep(0)

    asyncio.run(main())  # cancels it
    queue.leave()
    assert queue.enter()
