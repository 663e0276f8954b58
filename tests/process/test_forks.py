"""A server that makes everything ready and then forks its workers."""

from __future__ import annotations

from process.children import lines_of

_PRELOADED = """
    import asyncio, os, threading, time, warnings
    import modebox

    warnings.simplefilter("ignore", DeprecationWarning)  # Python's, of forks while there are threads

    async def double(n):
        await asyncio.sleep(0)
        return 2 * n

    functions = {"double": double, "add": lambda a, b: a + b}
    runner = modebox.Runner(limits={"fuel": 10_000_000}, max_instances=8)
    assert runner.run_sync("await add(1, 2)", host_functions={"add": functions["add"]}).value == 3
    assert asyncio.run(runner.run("await double(4)", host_functions=functions)).value == 8

    def work(n):
        program = f"await add({n}, await double({n}))"
        try:
            if n % 5 == 0:
                return runner.run_sync(program, host_functions=functions).value == 3 * n
            if n % 5 == 1:
                error = runner.run_sync("for (;;);", limits={"fuel": 10_000}, throw_on_error=False).error
                return error.kind == "CpuLimit"
            if n % 5 == 2:
                with modebox.Runner() as own:
                    return own.run_sync("Array.from({ length: 100 }, (_, i) => i).length").value == 100
            return asyncio.run(runner.run(program, host_functions=functions)).value == 3 * n
        except BaseException as error:
            os.write(2, repr(error).encode())
            return False

    def serve():
        return 0 if all([work(n) for n in range(50)]) else 1

    ACTIVE
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            os._exit(serve())
        children.append(child)
    print([os.waitpid(child, 0)[1] for child in children], serve(), flush=True)
    AFTER
"""

_THREADS = """
    stop = []
    def busy():
        while not stop:
            assert runner.run_sync("let s = 0; for (let i = 0; i < 1e5; i++) s += i; s").value == 4999950000
    def waiting():
        while not stop:
            assert asyncio.run(runner.run("await double(1)", host_functions=functions)).value == 2
    threads = [threading.Thread(target=target) for target in (busy, waiting, busy)]
    [thread.start() for thread in threads]
    time.sleep(0.05)
"""


def test_workers_forked_after_runs() -> None:
    script = _PRELOADED.replace("ACTIVE", "").replace("AFTER", "")
    assert lines_of(script) == ["[0, 0, 0, 0] 0"]


def test_workers_forked_while_runs_are_active() -> None:
    after = "stop.append(1); [thread.join() for thread in threads]; print(serve())"
    script = _PRELOADED.replace("ACTIVE", _THREADS.strip()).replace("AFTER", after)
    assert lines_of(script) == ["[0, 0, 0, 0] 0", "0"]
