"""tools/: fetching, translating, generating."""

import hashlib
import io
import tarfile
import zipfile

import fetch
import generate
import pins
import pytest
import translate


def test_pins_are_exact():
    for pin in pins.PINS:
        assert pin.kind in ("sdist", "wheel")
        assert all(len(digest) == 64 and int(digest, 16) for digest in pin.sha256.values())
    assert len({digest for pin in pins.PINS for digest in pin.sha256.values()}) == 9


def test_a_platform_without_a_pin_is_named():
    pin = pins.Pin("thing", "1", "wheel", {"plan9-vax": "0" * 64}, "MIT", "nothing")
    with pytest.raises(fetch.FetchError, match="thing 1 has no pinned file for"):
        fetch.digest_of(pin)


def test_a_filled_cache_needs_no_network(tmp_path, monkeypatch):
    pin = pins.Pin("thing", "1", "sdist", {"any": "ab" * 32}, "MIT", "nothing")
    monkeypatch.setenv("MODEBOX_BUILD_CACHE", str(tmp_path))
    monkeypatch.setattr(fetch, "download", None)
    (tmp_path / ("thing-1-" + "ab" * 8)).mkdir()
    assert fetch.fetch(pin) == tmp_path / ("thing-1-" + "ab" * 8)


def test_fetch_publishes_only_whole_content(tmp_path, monkeypatch):
    """A download that fails leaves nothing behind."""
    pin = pins.Pin("thing", "1", "sdist", {"any": "ab" * 32}, "MIT", "nothing")
    monkeypatch.setenv("MODEBOX_BUILD_CACHE", str(tmp_path))

    def failing(pin, digest, folder):
        raise fetch.FetchError("no network")

    monkeypatch.setattr(fetch, "download", failing)
    with pytest.raises(fetch.FetchError):
        fetch.fetch(pin)
    assert list(tmp_path.iterdir()) == []


def test_environment_of_an_outer_build_is_left_out(monkeypatch):
    monkeypatch.setenv("_PYPROJECT_HOOKS_BUILD_BACKEND", "backend")
    monkeypatch.setenv("HTTPS_PROXY", "proxy")
    environment = fetch.clean_environment()
    assert "_PYPROJECT_HOOKS_BUILD_BACKEND" not in environment
    assert environment["HTTPS_PROXY"] == "proxy"


@pytest.mark.parametrize("name", ["../evil", "/evil", "a/../../evil", "a\\..\\evil"])
def test_unsafe_names_are_refused(tmp_path, name):
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo(name)
        member.size = 1
        tar.addfile(member, io.BytesIO(b"x"))
    with pytest.raises(fetch.FetchError, match="unsafe name"):
        fetch.unpack(archive, tmp_path / "out")


def test_links_are_not_unpacked(tmp_path):
    archive = tmp_path / "a.tar.gz"
    with tarfile.open(archive, "w:gz") as tar:
        member = tarfile.TarInfo("link")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(member)
    fetch.unpack(archive, tmp_path / "out")
    assert not (tmp_path / "out" / "link").is_symlink()


def test_programs_stay_executable(tmp_path):
    archive = tmp_path / "a.whl"
    with zipfile.ZipFile(archive, "w") as wheel:
        entry = zipfile.ZipInfo("bin/tool")
        entry.external_attr = 0o755 << 16
        wheel.writestr(entry, b"#!")
        wheel.writestr("data", b"d")
    fetch.unpack(archive, tmp_path)
    assert (tmp_path / "bin" / "tool").stat().st_mode & 0o111
    assert not (tmp_path / "data").stat().st_mode & 0o111


def test_recursive_functions_are_those_on_a_cycle():
    graph = {
        "main": {"a", "leaf"},
        "a": {"b"},
        "b": {"a", "leaf"},
        "self": {"self"},
        "leaf": set(),
        "caller": {translate.TABLE},
        "callback": {"caller"},
        translate.TABLE: {"callback"},
    }
    assert translate.recursive_nodes(graph) == {"a", "b", "self", "caller", "callback", translate.TABLE}


def test_deep_call_chains_are_no_trouble():
    graph = {str(index): {str(index + 1)} for index in range(20_000)} | {"20000": {"0"}}
    assert len(translate.recursive_nodes(graph)) == 20_001


BODY = """\
static void w2c_guest_f1(w2c_guest* instance, u32 var_p0) {
  FUNC_PROLOGUE;
  var_L0: 
    memory_fill(&instance->w2c_memory, var_i0, var_i1, var_i2);
    var_i0 = CALL_INDIRECT(instance->w2c_T0, t, var_i1, instance->w2c_T0.data[var_i1].module_instance);
    goto var_L0;
  FUNC_EPILOGUE;
}
"""  # noqa: W291 (as wasm2c writes it)


def test_a_recursive_function_ticks_counts_and_charges():
    text = translate.instrument_function("w2c_guest_f1", BODY, recursive=True)
    assert "  ENTER\n" in text and "  LEAVE\n" in text
    assert "  var_L0: TICK\n" in text
    assert "    CHARGE(var_i2) memory_fill(" in text
    assert "t, var_i1, instance);" in text


def test_another_function_ticks_in_its_loops_only():
    text = translate.instrument_function("w2c_guest_f1", BODY, recursive=False)
    assert "ENTER" not in text and "LEAVE" not in text
    assert "  var_L0: TICK\n" in text


def test_what_is_not_understood_stops_the_build():
    odd = BODY.replace("memory_fill(", "memory_sweep(")
    with pytest.raises(translate.TranslateError, match="memory_sweep"):
        translate.instrument_function("w2c_guest_f1", odd, recursive=True)


def test_the_depth_function_compares():
    text = translate.instrument_function(
        translate.DEPTH_FUNCTION, "u32 f(w2c_guest* instance) {\n  x\n}\n", False
    )
    assert text == "u32 f(w2c_guest* instance) {\n  return instance->depth > instance->soft_depth;\n}\n"


def test_generated_is_current_and_complete():
    output = generate.product().output
    assert generate.up_to_date()
    source = (output / "guest.c").read_text()
    assert "mb_guest_tick(instance)" in source
    module = (output / "guest.wasm").read_bytes()
    assert f'"{generate.engine_id(module, source)}"' in (output / "engine_id.h").read_text()
    assert {path.stem for path in (output / "licences").iterdir()} >= {"quickjs-ng", "wabt", "musl", "zig"}


def test_unchanged_files_keep_their_times(tmp_path):
    path = tmp_path / "a"
    generate.write_if_changed(path, b"1")
    time = path.stat().st_mtime_ns
    generate.write_if_changed(path, b"1")
    assert path.stat().st_mtime_ns == time
    generate.write_if_changed(path, b"2")
    assert path.read_bytes() == b"2"


def test_the_engine_id_covers_module_and_translation():
    ids = {generate.engine_id(module, source) for module in (b"a", b"b") for source in ("a", "b")}
    assert len(ids) == 4
    assert all(len(bytes.fromhex(each)) == hashlib.sha256().digest_size for each in ids)
