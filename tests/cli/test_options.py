"""Options: declared once, the same words in every verb and in the library, handed on as they were typed."""

import importlib
import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner

import fabula as package
from fabula.core.errors import SpecError
from fabula.core.options import MUST, Options, option, read_keywords
from fabula.evaluate.options import WHERE, ScoreOptions
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.command_line import find_modules
from fabula.verbs.terminal.console import Several
from fabula.verbs.terminal.flags import flags, typed

JUDGES = tuple(o.name for o in JudgeOptions.options())
VERBS = {
    "score": (),
    "serve": WHERE,
    "compare": ("work", "resume"),
    "protocols": ("protocol", "metrics", "strict", *WHERE),
    "diagnose": (
        *("task", "protocol", "metrics", "strict", "tok", "ids", "sets", "people", "fps", "frames", "scale"),
        *("image_sizes", *WHERE, *JUDGES),
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_shared_option_says_the_same_everywhere(verb):
    command = importlib.import_module(find_modules()[verb]).command
    assert command.params[0].param_type_name == "argument" and command.params[1].opts == ["-r", "--refs"]
    flagged = {option.name: option for option in command.params}
    for o in ScoreOptions.options():
        if o.name not in VERBS[verb]:
            assert flagged[o.name].opts == [*o.about.flags, o.flag]
            assert flagged[o.name].help == o.about.help


@pytest.mark.parametrize("verb", ["score", "compare", "protocols", "diagnose"])
def test_a_library_call_takes_the_flags_of_its_verb(verb):
    call = getattr(package, verb)
    keywords = inspect.signature(call).parameters
    for o in ScoreOptions.options():
        if o.name not in VERBS[verb]:
            assert keywords[o.name].default == o.default and keywords[o.name].annotation == o.hint
            assert f"{o.name}: {o.about.help}" in call.__doc__
        elif (verb, o.name) != ("diagnose", "task"):
            assert o.name not in keywords
            with pytest.raises(TypeError, match=f"unexpected keyword argument '{o.name}'"):
                getattr(package, verb)(["a", "b"], ["c"], **{o.name: "x"})


def test_every_field_of_score_options_is_an_option():
    assert [o.name for o in ScoreOptions.options()] == list(ScoreOptions.__dataclass_fields__)


# Flags from a class -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Painting(Options):
    colours: tuple[str, ...] = option((), "Comma separated.", "-c", parts=True)
    brush: Literal["thin", "wide"] = option("thin", "Kind of brush.", shows_default=True)
    coats: int = option(1, "How often.", at_least=1)
    dries: float | None = option(None, "Hours.")
    frame: bool = option(False, "Put it into a frame.")
    size: tuple[str, str] | None = option(None, "Width and height.", metavar="W H")
    models: tuple[Path, ...] = option((), "Who sits.", several=True)
    title: str | None = option(None, "What it is called.")
    price: int = option(3, "Not for the command line.", library_only=True)


def paint(*words: str, kind: type[Options] = Painting, **how):
    """What a verb is handed, or what the user is told."""
    got = []

    @click.command(cls=Several)
    @flags(kind, into="options", **how)
    def verb(options):
        got.append((options, typed(kind)))

    done = CliRunner().invoke(verb, words)
    if isinstance(done.exception, SpecError):
        raise done.exception
    return got[0] if got else done


def test_nothing_typed_is_the_default():
    assert paint() == (Painting(), [])


def test_every_type():
    given = ("-c", "red, blue", "--brush", "wide", "--coats", "2", "--dries", "1.5", "--frame", "--size", "3", "4")
    made, said = paint(*given, "--models", "a", "b", "--title", "Sea")
    assert made == Painting(
        colours=("red", "blue"),
        brush="wide",
        coats=2,
        dries=1.5,
        frame=True,
        size=("3", "4"),
        models=(Path("a"), Path("b")),
        title="Sea",
    )
    assert said == ["--colours", "--brush", "--coats", "--dries", "--frame", "--size", "--models", "--title"]


def test_an_option_of_names_may_be_said_again():
    assert paint("-c", "red", "--colours", "blue,green")[0] == Painting(colours=("red", "blue", "green"))
    assert paint("-c", "red", "--title", "Sea", "-c", "blue")[0] == Painting(colours=("red", "blue"), title="Sea")
    with pytest.raises(SpecError, match="nothing follows --colours"):
        paint("-c", "red", "-c", "")


def test_metrics_said_again_are_added():
    made, _ = paint("-m", "SODA_c", "--metrics", "PRF@0.5,mIoU", kind=ScoreOptions, only=("metrics",))
    assert made.metrics == "SODA_c,PRF@0.5,mIoU"
    assert paint(kind=ScoreOptions, only=("metrics",))[0].metrics is None


@pytest.mark.parametrize("words", [("--brush", "fat"), ("--coats", "0"), ("--dries", "long"), ("--price", "2")])
def test_what_does_not_fit_is_refused(words):
    assert paint(*words).exit_code == 2


@pytest.mark.parametrize("flag", ["--colours", "--title"])
def test_a_variable_that_is_not_set_is_refused(flag):
    with pytest.raises(SpecError, match=f"nothing follows {flag}; name something, or leave it out"):
        paint(flag, " ")


def test_a_verb_may_leave_out_and_say_otherwise():
    assert "no such option" in paint("--frame", without=("frame",)).stderr.lower()
    assert "no such option" in paint("--frame", only=("coats",)).stderr.lower()
    assert paint(defaults={"coats": 7})[0] == Painting(coats=7)
    helped = paint("--help", help={"coats": "Layers."}).stdout
    assert (
        "Layers." in helped and "How often." not in helped and "[default: thin]" in helped and "--price" not in helped
    )


def test_as_it_was_typed():
    assert paint("--coats", "2", as_typed=True, only=("coats", "dries"))[0] == {"coats": 2}


def test_a_new_option_is_one_line():
    @dataclass(frozen=True, kw_only=True)
    class More(ScoreOptions):
        mood: str = option("calm", "How it is looked at.", "-q")

    made, said = paint("-q", "sharp", "-m", "mIoU", kind=More)
    assert (made.mood, made.metrics, said) == ("sharp", "mIoU", ["--metrics", "--mood"])
    assert read_keywords("score", {"mood": "x"}, More).mood == "x"
    with pytest.raises(TypeError, match="did you mean 'mood'"):
        read_keywords("score", {"moood": "x"}, More)


def test_an_option_that_must_be_given():
    @dataclass(frozen=True, kw_only=True)
    class Out(Options):
        out: Path = option(MUST, "Where.", "-o")

    assert "Missing option '-o' / '--out'" in paint(kind=Out).stderr
    assert paint("-o", "x", kind=Out)[0] == Out(out=Path("x"))
    with pytest.raises(TypeError, match=r"write\(\) needs the keyword argument 'out'"):
        read_keywords("write", {}, Out)


# What has no effect is refused ---------------------------------------------------------------------------------------


def test_compare_reads_the_format_and_repairs_that_score_reads(fabula, tmp_path):
    (tmp_path / "turned.json").write_text('{"v_a": {"timestamps": [[10, 0], [12, 30]], "sentences": ["one", "two"]}}')
    (tmp_path / "other.json").write_text((tmp_path / "preds.json").read_text())
    wanted = ("preds.json", "other.json", "--refs", "turned.json", "--metrics", "mIoU", "--resamples", 10)
    assert fabula("compare", *wanted).code == 2  # a reversed reference is an error, as in score
    assert fabula("compare", *wanted, "--repair", "swap").code == 0
    ran = fabula("compare", *wanted, "--repair", "swap", "--format", "activitynet")
    assert ran.code == 2 and "preds.json" in ran.err


SEEDED = {
    "score": ("preds.json", "--refs", "refs.json", "-m", "mIoU", "--ci"),
    "compare": ("preds.json", "other.json", "--refs", "refs.json", "-m", "mIoU"),
    "diagnose": ("preds.json", "--refs", "refs.json", "-m", "SODA_d"),
    "stress": ("mIoU", "--corpus", "refs.json", "--ways", "shift"),
}


@pytest.mark.parametrize("verb", SEEDED)
def test_a_seed_below_0_is_refused(fabula, tmp_path, verb):
    (tmp_path / "other.json").write_text((tmp_path / "preds.json").read_text())
    ran = fabula(verb, *SEEDED[verb], "--seed", -1)
    assert (ran.code, ran.err) == (2, "fabula: error: seed -1; it is a whole number from 0 on\n")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("--sets", "refs.json"), "--sets has no effect for task dense; it applies to identity"),
        (("--people", "Harry"), "--people has no effect for task dense"),
        (("--task", "identity", "--repair", "swap"), "--repair has no effect for task identity"),
        (("--task", "captions", "--format", "submission"), "--format has no effect for task captions"),
        (("--task", "captions", "--refs-format", "coco"), "--refs-format has no effect for task captions"),
        (("--task", "captions", "--repair", "swap"), "--repair has no effect for task captions"),
        (("--protocol", "soda-2021", "--repair", "swap"), "--repair has no effect with soda-2021"),
        (("--protocol", ""), "nothing follows --protocol"),
        (("--format", ""), "nothing follows --format"),
        (("--repair", ""), "nothing follows --repair"),
        (("--seed", 0), "--seed only applies with --ci"),
        (("--method", "bca", "--level", 0.9, "--resamples", 9), "--resamples, --level, --method only apply with --ci"),
    ],
)
def test_an_option_without_effect_is_refused(fabula, typed, said):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *typed)
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1


def test_protocols_refuse_it_too(fabula):
    ask = ("protocols", "preds.json", "--refs", "refs.json")
    assert "--people has no effect for task dense" in fabula(*ask, "--people", "Harry").err
    assert "nothing follows --only" in fabula(*ask, "--only", "").err
    ran = fabula(*ask, "--explain", "pss-2022", "pss-2022")
    assert ran.code == 0 and "pss-2022 and pss-2022 give the same numbers here" in ran.out
    assert "nothing follows --ways" in fabula("stress", "mIoU", "--corpus", "refs.json", "--ways", "").err


def test_a_tokeniser_that_a_metric_and_the_option_both_name(fabula):
    wanted = ("score", "preds.json", "--refs", "refs.json", "-m", "SODA_c(tok=none)")
    ran = fabula(*wanted, "--tok", "ptb")
    assert ran.code == 2 and "SODA_c(tok=none) and --tok ptb contradict each other" in ran.err
    assert "tok=none" in fabula(*wanted, "--tok", "none").out


def test_a_tokeniser_that_is_not_the_protocols(fabula):
    wanted = ("score", "preds.json", "--refs", "refs.json", "-p", "soda-2021")
    ran = fabula(*wanted, "--tok", "none")
    assert ran.code == 2 and ran.err.count("\n") == 1
    assert "the protocol soda-2021 has tok=ptb for SODA_a, and --tok none contradicts it" in ran.err
    assert fabula(*wanted, "--tok", "ptb").out == fabula(*wanted).out
    assert fabula(*wanted, "-m", "SODA_c(tok=none)", "--tok", "none").code == 0
    ran = fabula("protocols", "preds.json", "--refs", "refs.json", "--only", "soda-2021", "--tok", "none")
    assert ran.code == 0 and "--tok none contradicts it" in ran.out + ran.err
