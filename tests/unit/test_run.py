"""run, run_sync and Runner: values, options, results, overlapping runs, closing."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import modebox
from modebox import LogEntry, RunError, Runner, RunResult


def value(source, **options):
    return modebox.run_sync(source, **options).value


# ---- results


def test_a_completed_run():
    result = modebox.run_sync("console.log('hi', 1); console.warn('careful'); [1 + 1]")
    assert (result.status, result.value, result.error) == ("completed", [2], None)
    assert result.logs == [LogEntry("log", "hi 1"), LogEntry("warn", "careful")]
    assert result.unwrap() == [2]


def test_a_failed_run_is_raised_or_given():
    with pytest.raises(RunError, match=r"^TypeError: no$"):
        modebox.run_sync("throw new TypeError('no')")
    result = modebox.run_sync("console.log('before'); throw new TypeError('no')", throw_on_error=False)
    assert (result.status, result.value) == ("failed", None)
    assert result.logs == result.error.logs == [LogEntry("log", "before")]
    assert result.stats == result.error.stats
    with pytest.raises(RunError) as caught:
        result.unwrap()
    assert caught.value is result.error


def test_async_runs_give_the_same():
    async def main():
        result = await modebox.run("console.log('a'); 1 + 1")
        assert isinstance(result, RunResult)
        assert (result.status, result.value, result.logs) == ("completed", 2, [LogEntry("log", "a")])
        with pytest.raises(RunError, match=r"^Error: x$"):
            await modebox.run("throw new Error('x')")
        assert (await modebox.run("null.x", throw_on_error=False)).error.name == "TypeError"

    asyncio.run(main())


def test_all_fields_of_a_result():
    result = modebox.run_sync("1")
    assert list(result.__match_args__) == [
        "status",
        "logs",
        "stats",
        "value",
        "interruptions",
        "continuation",
        "error",
        "calls",
    ]
    assert (result.interruptions, result.continuation, result.calls) == ([], None, [])
    assert result.stats.continuation_bytes == 0
    with pytest.raises(TypeError, match="source is missing"):
        modebox.run_sync()


def test_log_levels():
    source = "for (const level of ['log', 'debug', 'info', 'warn', 'error']) console[level](level)"
    assert [(entry.level, entry.message) for entry in modebox.run_sync(source).logs] == [
        (level, level) for level in ("log", "debug", "info", "warn", "error")
    ]


def test_stats():
    stats = modebox.run_sync(
        "await f(); let s = 0; for (let i = 0; i < 1e5; i++) s += i; s", host_functions={"f": int}
    ).stats
    assert stats.host_calls == 1
    assert stats.fuel_used > 100_000
    assert 0 < stats.guest_ms <= stats.wall_ms
    assert 0 < stats.instantiate_ms < stats.wall_ms
    assert stats.memory_bytes >= 0
    grown = modebox.run_sync("const a = new Uint8Array(8e6); a.length").stats
    assert 7.8e6 <= grown.memory_bytes < 9e6


def test_fuel_is_deterministic():
    source = "const rows = await load(); rows.map(x => x.n * 2).sort().join()"
    fuel = set()
    for _ in range(5):
        rows = [{"".join(["n", ""]): n} for n in range(100)]
        fuel.add(
            modebox.run_sync(
                source, host_functions={"load": lambda rows=rows: rows}, seed=bytes(32)
            ).stats.fuel_used
        )
    assert len(fuel) == 1


# ---- options


@pytest.mark.parametrize(
    ("mode", "source", "expected"),
    [
        (None, "1; 2", 2),
        (None, "return 3", 3),
        ("auto", "await 4", 4),
        ("script", "let x = 5; x", 5),
        ("function", "6", None),
        ("function", "return await 7", 7),
    ],
)
def test_modes(mode, source, expected):
    assert value(source, mode=mode) == expected


def test_a_return_in_a_script_is_a_syntax_error():
    with pytest.raises(RunError) as caught:
        modebox.run_sync("return 1", mode="script")
    assert caught.value.kind == "Syntax"


def test_filename_is_shown_in_stacks():
    for options, name in (({}, "agent.ts"), ({"filename": "task é.js"}, "task é.js")):
        error = modebox.run_sync("function f() { null.x }\nf()", throw_on_error=False, **options).error
        assert f"{name}:1:" in error.sandbox_stack
        assert f"{name}:2:" in error.sandbox_stack


def test_a_seed_makes_random_reproducible():
    source = "[Math.random(), Math.random()]"
    seed = bytes(range(32))
    assert (
        value(source, seed=seed) == value(source, seed=seed.hex()) == value(source, seed=seed.hex().upper())
    )
    assert value(source, seed=seed) != value(source, seed=bytes(32))
    assert value(source) != value(source)


def test_the_clock_starts_at_the_real_time():
    assert abs(value("Date.now()") - time.time() * 1000) < 10_000


def test_the_clock_follows_host_calls():
    source = "const t = Date.now(); await nap(); Date.now() - t"
    assert 30 <= value(source, host_functions={"nap": lambda: time.sleep(0.03)}) < 10_000


def test_a_source_with_lone_surrogates_runs():
    assert value("'\ud800'.length") == 1
    assert value("'\ud800'") == "\ud800"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"source": b"1"}, TypeError, "source must be a str, not bytes"),
        ({"source": None}, TypeError, "source is missing: give the program to run, as a str"),
        (
            {"mode": "module"},
            ValueError,
            "mode must be one of 'auto', 'script', 'function', or None, not 'module'",
        ),
        ({"mode": 1}, TypeError, "mode must be one of 'auto', 'script', 'function', or None, not 1"),
        ({"on_log": 1}, TypeError, "on_log must be a callable, or None, not int"),
        ({"on_call": "f"}, TypeError, "on_call must be a callable, or None, not str"),
        ({"virtual_time": "now"}, TypeError, "virtual_time must be True, milliseconds since 1970"),
        ({"limits": {"fule": 1}}, TypeError, "unknown limit 'fule'"),
        ({"filename": 1}, TypeError, "filename must be a str, not int"),
        ({"filename": "a\nb"}, ValueError, "filename must be one line"),
        ({"seed": b"1"}, ValueError, "seed must be 32 bytes or 64 hexadecimal digits"),
        ({"seed": "g" * 64}, ValueError, "seed must be 32 bytes or 64 hexadecimal digits"),
        ({"seed": "00 " * 21 + "0"}, ValueError, "seed must be 32 bytes or 64 hexadecimal digits"),
        ({"seed": 1}, TypeError, "seed must be bytes or str, not int"),
        ({"host_functions": []}, TypeError, "host_functions must be a mapping"),
        ({"limits": 5}, TypeError, "limits must be a Limits or a mapping, not int"),
    ],
)
def test_misuse_is_refused_before_anything_runs(options, error, message):
    called = []
    options = {"source": "await f()", "host_functions": {"f": lambda: called.append(1)}, **options}
    source = options.pop("source")
    with pytest.raises(error) as caught:
        modebox.run_sync(source, **options)
    assert str(caught.value).startswith(message)
    with pytest.raises(error):
        asyncio.run(modebox.run(source, **options))
    assert not called


# ---- overlapping


def test_run_sync_works_inside_a_running_loop():
    async def main():
        return modebox.run_sync("await f(2)", host_functions={"f": lambda x: x * 2}).value

    assert asyncio.run(main()) == 4


def test_run_sync_with_coroutines_inside_a_running_loop_is_refused():
    async def double(x):
        return x * 2

    async def main(function):
        with pytest.raises(RuntimeError, match=r"await run\(...\) instead"):
            modebox.run_sync("await f(2)", host_functions={"f": function})

    asyncio.run(main(double))
    asyncio.run(main(lambda x: double(x)))


def test_many_runs_at_once():
    async def main():
        async def load(i):
            await asyncio.sleep(0.001)
            return i

        runs = [
            modebox.run(f"await load({i}) + await load(1)", host_functions={"load": load}) for i in range(100)
        ]
        return [result.value for result in await asyncio.gather(*runs)]

    assert asyncio.run(main()) == [i + 1 for i in range(100)]


def test_runs_from_many_threads():
    results = []

    def work(i):
        for j in range(20):
            results.append(
                value(f"await f({i}) * 1000 + {j}", host_functions={"f": lambda x: x}) == i * 1000 + j
            )

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 80


def test_a_run_inside_a_host_function():
    def inner(x):
        return value("x * 2", host_functions={}) if x is None else value(f"{x} * 2")

    async def inner_async(x):
        return (await modebox.run(f"await f({x})", host_functions={"f": inner})).value

    assert value("await f(4)", host_functions={"f": inner}) == 8
    assert asyncio.run(modebox.run("await f(4)", host_functions={"f": inner_async})).value == 8


def test_computing_does_not_hold_the_event_loop():
    async def main():
        late = []
        run = asyncio.create_task(
            modebox.run("const end = Date.now() + 200; while (Date.now() < end); 'done'")
        )
        started = time.perf_counter()
        while not run.done():
            before = time.perf_counter()
            await asyncio.sleep(0.001)
            late.append(time.perf_counter() - before)
        assert (await run).value == "done"
        return len(late), time.perf_counter() - started

    ticks, seconds = asyncio.run(main())
    assert ticks > 10 or seconds < 0.05


# ---- ending early


def test_ctrl_c_leaves_the_runner_usable():
    script = """
        import signal, threading, time
        import modebox
        for source, functions in (("while (true);", {}), ("await f()", {"f": lambda: time.sleep(60)})):
            main = threading.main_thread().ident
            threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
            started = time.monotonic()
            try:
                modebox.run_sync(source, host_functions=functions)
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - started < 5, modebox.run_sync("1 + 1").value)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout.splitlines(), done.stderr) == (["interrupted True 2"] * 2, "")


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="needs the main thread")
def test_a_signal_handler_runs_while_the_program_computes():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        value("const end = Date.now() + 100; while (Date.now() < end);")
    finally:
        signal.signal(signal.SIGALRM, before)
    assert seen == [1]


def test_cancelling_the_task_ends_the_run():
    async def main(source, functions):
        task = asyncio.create_task(modebox.run(source, host_functions=functions))
        await asyncio.sleep(0.05)
        started = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert time.perf_counter() - started < 1

    for source in ("while (true);", "await f()", "await f(); while (true);"):
        ended = []

        async def wait(ended=ended):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise

        asyncio.run(main(source, {"f": wait}))
        assert ended == (["cancelled"] if "await" in source else [])


def test_close_ends_active_runs():
    async def main(source):
        with Runner() as runner:
            started, cancelled = asyncio.Event(), []

            async def wait():
                started.set()
                try:
                    await asyncio.sleep(60)
                finally:
                    cancelled.append(1)

            task = asyncio.create_task(runner.run(source, host_functions={"f": wait}))
            await asyncio.sleep(0.05)
        with pytest.raises(RunError) as caught:
            await task
        assert (caught.value.kind, caught.value.code) == ("Aborted", "RUN_ABORTED")
        assert len(cancelled) == started.is_set()

    asyncio.run(main("await f()"))
    asyncio.run(main("while (true);"))


@pytest.mark.parametrize("source", ["while (true);", "for (;;) await f()"])
def test_close_from_another_thread_ends_run_sync(source):
    runner = Runner(limits={"max_host_calls": 10**9})
    threading.Timer(0.05, runner.close).start()
    with pytest.raises(RunError) as caught:
        runner.run_sync(source, host_functions={"f": lambda: 1})
    assert caught.value.kind == "Aborted"


def test_a_closed_runner_refuses():
    runner = Runner()
    assert runner.run_sync("1").value == 1
    runner.close()
    runner.close()
    with pytest.raises(RuntimeError, match="this Runner is closed"):
        runner.run_sync("1")
    with pytest.raises(RuntimeError, match="this Runner is closed"):
        asyncio.run(runner.run("1"))


def test_context_managers():
    with Runner() as runner:
        assert runner.run_sync("1").value == 1

    async def main():
        async with Runner() as runner:
            assert (await runner.run("2")).value == 2
        return runner

    for closed in (runner, asyncio.run(main())):
        with pytest.raises(RuntimeError):
            closed.run_sync("1")


def test_leaving_an_async_runner_waits_for_stubborn_host_functions(caplog):
    ended = []

    async def main():
        async def stubborn():
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await asyncio.sleep(0.1)
                ended.append(1)

        caplog.clear()
        async with Runner(limits={"timeout_ms": 20}) as runner:
            with pytest.raises(RunError) as caught:
                await runner.run("await f()", host_functions={"f": stubborn})
            assert caught.value.kind == "Timeout"
            assert not ended
        assert ended
        assert [(record.name, record.message) for record in caplog.records] == [
            ("modebox", "host function f goes on although its call was cancelled")
        ]

    asyncio.run(main())
