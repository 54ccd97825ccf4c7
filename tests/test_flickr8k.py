"""Kendall's τ-c with people's judgements equals what the official tools give; our τ is scipy's."""

import pytest

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import silent
from fabula.io.judgements import CAPTIONS, CROWD, EXPERT, read_flickr8k
from fabula.text.judges.options import JudgeOptions
from fabula.verbs.trust.meta import MetaOptions, judge_flickr8k, weigh_judged

# ×100, from the official Java and Python tools on the same pairs
OFFICIAL = {"BLEU_4": 30.776, "ROUGE_L": 32.314, "METEOR": 41.822, "CIDEr": 43.891}


def test_kendall_tau_of_the_official_tools(shared_data):
    judged = judge_flickr8k(shared_data / "flickr8k_human", "expert", tuple(OFFICIAL), JudgeOptions(), silent)
    assert len(judged.judgements) == 16_992
    found = weigh_judged(judged, MetaOptions(statistic="tau_c", resamples=20, test="bootstrap"))
    assert (found.judgements, found.segments, found.clusters) == (16_992, 5_664, 1_000)
    taus = {line.metric: line.segment["tau_c"] for line in found.lines}
    assert {name: round(100 * tau.value, 3) for name, tau in taus.items()} == OFFICIAL
    assert all(tau.interval.low < tau.value < tau.interval.high for tau in taus.values())
    scipy = pytest.importorskip("scipy.stats")
    people = [j.value for j in judged.judgements]
    for name, scores in judged.scores.items():
        assert taus[name].value == pytest.approx(scipy.kendalltau(scores, people, variant="c").statistic, abs=1e-12)


@pytest.mark.experiment
def test_spice_with_people(shared_data):
    """Published for the original: 44.9."""
    judged = judge_flickr8k(shared_data / "flickr8k_human", "expert", ("SPICE",), JudgeOptions(), silent)
    found = weigh_judged(judged, MetaOptions(statistic="tau_c", resamples=20))
    assert round(100 * found.lines[0].segment["tau_c"].value, 1) == 44.9


def test_crowds_and_files_that_are_wrong(tmp_path):
    words = "".join(f"{image}#{k}\t{image} words {k}\n" for image in ("a.jpg", "b.jpg") for k in range(5))
    (tmp_path / CAPTIONS).write_text(words)
    (tmp_path / CROWD).write_text("a.jpg\tb.jpg#0\t0.333\t1\t2\na.jpg\ta.jpg#1\t1\t3\t0\n")
    items, judgements = read_flickr8k(tmp_path, "crowd")
    assert [i["cand"] for i in items] == ["b.jpg words 0"] and [j.value for j in judgements] == [0.333]
    assert judgements[0].cluster == "a.jpg"
    with pytest.raises(InputError, match=EXPERT):
        read_flickr8k(tmp_path)
    (tmp_path / EXPERT).write_text("a.jpg\tc.jpg#0\t1\t2\t3\n")
    with pytest.raises(InputError, match="names a caption that is not in"):
        read_flickr8k(tmp_path)
    (tmp_path / EXPERT).write_text("a.jpg\tb.jpg#0\t1\tmany\t3\n")
    with pytest.raises(InputError, match="saw 'many'"):
        read_flickr8k(tmp_path)
    with pytest.raises(SpecError, match="expert and crowd"):
        read_flickr8k(tmp_path, "nobody")
