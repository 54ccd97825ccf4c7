"""Small files that would mean much are refused before they cost anything."""

import time

import pytest

from fabula.core.errors import InputError
from fabula.documents.toml import LARGEST, read_toml


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\nseed = " + "9" * 5000, "not a usable number"),
        ("seed = 0x" + "f" * 5000, "'seed': a whole number of more than 64 bits"),
        ("t = [{a = 1}, {b = 0x" + "f" * 17 + "}]", "'t.b': a whole number"),
        ("x = 1\n" + "a." * 20_000 + "a = 1", "line 2: a key of more than 64 parts"),
        ('"a" . ' * 20_000 + "a = 1", "line 1: a key of more than 64 parts"),
        ("[" + "a." * 20_000 + "a]", "a key of more than 64 parts"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a = " + "{a = " * 3000 + "1" + "}" * 3000, "nested too deeply"),
        ("# " + "x" * LARGEST, "has more than 262,144 bytes"),
        ("a =", "not TOML (Invalid value (at end of document)); mend the file there"),
        (("a" * 1000 + " " * 1000) * 100 + "." * 64, "not TOML"),
        ('"\\' * 100_000, "not TOML"),
        ('a = """' + "\\" * 100_001, "not TOML"),
    ],
)
def test_refused_in_a_line_and_at_once(tmp_path, text, said):
    path = tmp_path / "plan.toml"
    path.write_text(text)
    begun = time.process_time()
    with pytest.raises(InputError) as error:
        read_toml(path)
    assert said in str(error.value) and str(path) in str(error.value) and time.process_time() - begun < 2


def test_prose_with_dots_and_sixty_four_parts_pass(tmp_path):
    path = tmp_path / "plan.toml"
    path.write_text('intro = """Wait... ' + "what. " * 500 + '"""\n' + "a." * 63 + f"a = {2**63 - 1}\n")
    found = read_toml(path)
    assert found["intro"].startswith("Wait... what.")
    for _ in range(63):
        found = found["a"]
    assert found == {"a": 2**63 - 1}


def test_strings_and_comments_are_no_keys(tmp_path):
    path = tmp_path / "plan.toml"
    dots = "a." * 100
    path.write_text(f'a = "{dots}"\nb = \'{dots}\' # {dots}\nc = """\n{dots} \\" """\nd = \'\'\'\n{dots}\'\'\'\n')
    assert len(read_toml(path)["d"]) == 200
    path.write_text(f'c = """\n{dots}"""\n{dots}a = 1')
    with pytest.raises(InputError, match="line 3: a key of more than 64 parts"):
        read_toml(path)
