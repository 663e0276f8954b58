"""Limits: what may be set, how a Runner's and a run's combine, what each does."""

import pytest

import modebox
from modebox import Limits, RunError, Runner
from modebox._limits import MIB, Budget, limits_of


def failure(source, limits, **options):
    return modebox.run_sync(source, limits=limits, throw_on_error=False, **options).error


def test_defaults():
    assert Budget().limits == Limits(
        timeout_ms=30_000,
        memory_limit_bytes=64 * MIB,
        max_host_calls=1000,
        max_concurrency=32,
        max_value_bytes=16 * MIB,
        max_log_bytes=MIB,
    )


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        (
            {"timeout": 1},
            TypeError,
            "unknown limit 'timeout'; the limits are timeout_ms, cpu_timeout_ms, fuel, memory_limit_bytes",
        ),
        (
            {"timeout": 1},
            TypeError,
            "unknown limit 'timeout'; the limits are timeout_ms, cpu_timeout_ms, fuel, memory_limit_bytes, "
            "max_host_calls, max_concurrency, max_value_bytes, max_log_bytes; did you mean timeout_ms?",
        ),
        ({3: 1}, TypeError, "unknown limit 3; the limits are"),
        ({"fuel": -1}, ValueError, "limits.fuel must be at least 0, not -1"),
        ({"fuel": 1.5}, TypeError, "limits.fuel must be an int of at least 0, or None, not float"),
        ({"fuel": True}, TypeError, "limits.fuel must be an int of at least 0, or None, not bool"),
        ({"timeout_ms": "1"}, TypeError, "limits.timeout_ms must be an int of at least 0, or None, not str"),
        ({"max_concurrency": 0}, ValueError, "limits.max_concurrency must be at least 1, not 0"),
        (
            {"memory_limit_bytes": MIB - 1},
            ValueError,
            "limits.memory_limit_bytes must be at least 1048576, not 1048575",
        ),
    ],
)
def test_misuse(limits, error, message):
    for use in (lambda: modebox.run_sync("1", limits=limits), lambda: Runner(limits=limits)):
        with pytest.raises(error) as caught:
            use()
        assert str(caught.value).startswith(message)


def test_misuse_of_the_class():
    with pytest.raises(ValueError, match=r"limits\.fuel must be at least 0"):
        Limits(fuel=-1)
    with pytest.raises(TypeError):
        Limits(gas=1)


def test_those_of_a_run_override_those_of_the_runner_field_by_field():
    budget = Budget(
        limits_of({"fuel": 5, "timeout_ms": None}), Limits(fuel=1, timeout_ms=2, max_host_calls=3)
    )
    assert (budget.limits.fuel, budget.limits.timeout_ms, budget.limits.max_host_calls) == (5, 2, 3)
    assert budget.limits.max_concurrency == 32
    runner = Runner(limits=Limits(fuel=1000))
    assert (
        runner.run_sync("while (true);", throw_on_error=False).error.message
        == "the run exceeded its budget of 1000 fuel"
    )
    assert runner.run_sync("for (let i = 0; i < 1e4; i++);", limits={"fuel": 10**7}).stats.fuel_used > 1000
    assert (
        runner.run_sync("while (true);", limits={"timeout_ms": 1}, throw_on_error=False).error.kind
        == "CpuLimit"
    )


@pytest.mark.parametrize(
    "name", ["timeout_ms", "cpu_timeout_ms", "fuel", "max_host_calls", "max_value_bytes", "max_log_bytes"]
)
def test_limits_that_cannot_be_reached(name):
    assert modebox.run_sync("1 + 1", limits={name: 10**30}).value == 2


def test_large_memory_limits():
    assert (
        modebox.run_sync("new Uint8Array(100e6).length", limits={"memory_limit_bytes": 256 * MIB}).value
        == 10**8
    )
    assert modebox.run_sync("1", limits={"memory_limit_bytes": 2**40}).value == 1


@pytest.mark.parametrize(
    ("limits", "source", "kind"),
    [
        ({"timeout_ms": 0}, "while (true);", "Timeout"),
        ({"cpu_timeout_ms": 0}, "while (true);", "CpuTimeout"),
        ({"fuel": 0}, "1", "CpuLimit"),
        ({"max_host_calls": 0}, "await f()", "HostCallLimit"),
    ],
)
def test_limits_of_nothing(limits, source, kind):
    assert failure(source, limits, host_functions={"f": int}).kind == kind


def test_fuel_is_exact():
    source = "let s = 0; for (let i = 0; i < 5000; i++) s += i; s"
    used = modebox.run_sync(source, seed=bytes(32)).stats.fuel_used
    assert modebox.run_sync(source, seed=bytes(32), limits={"fuel": used}).value == 12497500
    error = failure(source, {"fuel": used - 1}, seed=bytes(32))
    assert (error.kind, error.stats.fuel_used) == ("CpuLimit", used - 1)


def test_cpu_time_does_not_count_waiting():
    import time

    result = modebox.run_sync(
        "await f(); 1", limits={"cpu_timeout_ms": 50}, host_functions={"f": lambda: time.sleep(0.1)}
    )
    assert result.value == 1
    assert result.stats.wall_ms > 100


def test_host_calls_up_to_the_limit():
    source = "for (let i = 0; i < 5; i++) await f(); 'done'"
    assert modebox.run_sync(source, limits={"max_host_calls": 5}, host_functions={"f": int}).value == "done"
    error = failure(source, {"max_host_calls": 4}, host_functions={"f": int})
    assert (error.kind, error.stats.host_calls) == ("HostCallLimit", 4)
    assert error.message == "the run exceeded its limit of 4 host calls"


def test_a_value_over_the_limit_is_a_type_error_in_the_program():
    source = "try { await f() } catch (e) { e.name + ': ' + e.message }"
    value = modebox.run_sync(
        source, limits={"max_value_bytes": 1000}, host_functions={"f": lambda: "x" * 1000}
    ).value
    assert value == "TypeError: f: result is larger than the 1000 bytes that max_value_bytes allows"


def test_an_argument_over_the_limit_is_catchable():
    source = "try { await f('x'.repeat(1000)) } catch (e) { 'caught' }"
    assert (
        modebox.run_sync(source, limits={"max_value_bytes": 500}, host_functions={"f": len}).value == "caught"
    )


def test_logs_over_the_limit_are_dropped_and_counted():
    source = "for (let i = 0; i < 10; i++) console.log('x'.repeat(100)); 1"
    result = modebox.run_sync(source, limits={"max_log_bytes": 350})
    assert [entry.level for entry in result.logs] == ["log", "log", "log", "warn"]
    assert result.logs[-1].message == "7 more log entries (700 bytes) were dropped: max_log_bytes is 350"
    error = failure(source + "; null.x", {"max_log_bytes": 0})
    assert [entry.message for entry in error.logs] == [
        "10 more log entries (1000 bytes) were dropped: max_log_bytes is 0"
    ]


def test_the_memory_limit_can_be_caught():
    fill = "const a = []; while (true) a.push('x'.repeat(9999) + a.length)"
    source = f"try {{ {fill} }} catch (e) {{ e.name + ': ' + e.message }}"
    assert (
        modebox.run_sync(source, limits={"memory_limit_bytes": 4 * MIB}).value
        == "InternalError: out of memory"
    )


def test_a_value_that_does_not_fit_into_memory_ends_the_run():
    with pytest.raises(RunError) as caught:
        modebox.run_sync(
            "(await f()).length",
            limits={"memory_limit_bytes": MIB},
            host_functions={"f": lambda: "x" * 5 * MIB},
        )
    assert caught.value.kind == "MemoryLimit"
