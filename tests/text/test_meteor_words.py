"""Words of METEOR: the synsets of irregular forms, and dots that no published run can bear."""

import pytest

from fabula.core.errors import InputError
from fabula.text import meteor
from fabula.text.meteor.align import synsets_of
from fabula.text.meteor.index import IRREGULAR
from fabula.text.meteor.norm import MOST_DOTS, normalise


def test_an_irregular_form_has_the_synsets_of_its_base():
    index = meteor.open_index()
    for form, base in (("mice", "mouse"), ("children", "child"), ("geese", "goose"), ("went", "go"), ("ran", "run")):
        assert index.word_flags[index.words[form]] & IRREGULAR
        assert synsets_of(base, index) and synsets_of(base, index) <= synsets_of(form, index), form
    assert synsets_of("dogs", index) >= synsets_of("dog", index) > frozenset()
    assert synsets_of("qzxj", index) == frozenset()


def test_dots_that_spell_out_the_mark_are_refused():
    dots = "." * MOST_DOTS
    with pytest.raises(InputError, match=f"DOTMULTI and more than {MOST_DOTS} dots in a row; shorten the dots"):
        normalise(f"a DOTMULTI {dots}..", (), ())
    assert normalise(f"a DOTMULTI {dots[5:]}", (), ()) and normalise(f"a {dots}", (), ())
