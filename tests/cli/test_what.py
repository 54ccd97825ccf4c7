"""The options of what to score: the same words in every verb, handed on as they were typed."""

import importlib

import pytest
from fabula.verbs import score

from fabula.cli._what import WHAT

VERBS = ("score", "serve", "compare", "protocols", "diagnose")


@pytest.mark.parametrize("verb", VERBS)
def test_a_shared_option_says_the_same_everywhere(verb):
    command = importlib.import_module(f"fabula.cli.{verb}").command
    assert command.params[0].param_type_name == "argument" and command.params[1].name == "refs"
    for option in command.params:
        if option.name in WHAT and (verb, option.name) != ("diagnose", "task"):
            flags, settings = WHAT[option.name]
            assert (tuple(option.opts), option.help) == (flags, settings["help"])


def test_score_takes_every_one_of_them():
    assert set(WHAT) <= set(score.__annotations__)


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
        (("--sets", "refs.json"), "--sets says nothing to the task dense; it is for identity"),
        (("--people", "Harry"), "--people says nothing to the task dense"),
        (("--task", "identity", "--repair", "swap"), "--repair says nothing to the task identity"),
        (("--task", "captions", "--format", "submission"), "--format says nothing to the task captions"),
        (("--task", "captions", "--refs-format", "coco"), "--refs-format says nothing to the task captions"),
        (("--task", "regions", "--strict"), "--strict says nothing to the task regions"),
        (("--protocol", "soda-2021", "--repair", "swap"), "--repair is not heeded by soda-2021"),
        (("--protocol", ""), "nothing follows --protocol"),
        (("--format", ""), "nothing follows --format"),
        (("--repair", ""), "nothing follows --repair"),
        (("--seed", 0), "without --ci there are no intervals, and --seed would not be heeded; add --ci"),
        (("--method", "bca", "--level", 0.9, "--resamples", 9), "--resamples, --level, --method would not be heeded"),
    ],
)
def test_an_option_that_would_not_be_heeded_is_refused(fabula, typed, said):
    ran = fabula("score", "preds.json", "--refs", "refs.json", *typed)
    assert ran.code == 2 and said in ran.err and ran.err.count("\n") == 1


def test_protocols_refuse_it_too(fabula):
    ask = ("protocols", "preds.json", "--refs", "refs.json")
    assert "--people says nothing to the task dense" in fabula(*ask, "--people", "Harry").err
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
