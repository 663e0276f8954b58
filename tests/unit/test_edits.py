"""tools/edits.py: a source that has changed stops the build, and the message says where."""

import shutil

import build_guest
import edits
import pytest


@pytest.fixture
def engine(tmp_path):
    """The engine's sources as they were published."""
    return shutil.copytree(build_guest.engine_folder(), tmp_path / "engine")


def test_edits_fit_the_pinned_source(engine):
    before = (engine / "quickjs.c").read_text()
    edits.apply(engine)
    assert (engine / "quickjs.c").read_text() != before


@pytest.mark.parametrize("edit", edits.EDITS, ids=lambda edit: edit.definition.strip())
def test_a_changed_anchor_is_named(engine, edit):
    path = engine / edit.file
    changed = path.read_text().replace(edit.anchor, "/* changed */\n")
    path.write_text(changed)
    with pytest.raises(edits.EditError) as caught:
        edits.apply(engine)
    message = str(caught.value)
    assert edit.file in message and repr(edit.definition) in message
    assert path.read_text() == changed


def test_all_failures_at_once(engine):
    (engine / "quickjs.c").write_text("\nint nothing;\n")
    with pytest.raises(edits.EditError) as caught:
        edits.apply(engine)
    of_the_file = [edit for edit in edits.EDITS if edit.file == "quickjs.c"]
    assert all(repr(edit.definition) in str(caught.value) for edit in of_the_file)


def test_an_anchor_that_stands_twice_is_refused():
    edit = edits.Edit("why", "a.c", "int f(", "x++;", "y++;")
    with pytest.raises(edits.EditError, match="found 2 times"):
        edits.apply_one("\nint f(void)\n{\n  x++;\n  x++;\n}\n", edit)


def test_a_declaration_is_not_a_definition():
    edit = edits.Edit("why", "a.c", "int f(", "x++;", "y++;")
    text = "\nint f(void);\nint g(void)\n{\n  x++;\n}\nint f(void)\n{\n  x++;\n}\n"
    assert (
        edits.apply_one(text, edit)
        == "\nint f(void);\nint g(void)\n{\n  x++;\n}\nint f(void)\n{\n  y++;\n}\n"
    )
