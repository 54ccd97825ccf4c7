"""The fill-in-the-blanks evaluator of LSMDC (Park et al., ECCV 2020), which MICap uses too."""

from __future__ import annotations

from fabula.benchmarks.base import Protocol
from fabula.metrics.identity import fitb

PROTOCOL = Protocol(
    name="lsmdc-fillin",
    task="identity",
    paper="Park et al., ECCV 2020",
    repository="github.com/jamespark3922/lsmdc-fillin",
    commit="1e42016",
    metrics=(fitb.Metric(labels="exact", short="shift"),),
    quirks=(
        "Ids are the text between commas: of '[1, 1]' it reads '[1' and ' 1]', two people.",
        "The ids of a set are laid end to end: a clip with one too few moves all that follow it in the set.",
        "A lone '_' where the references have a blank counts as an id.",
        "It ends where ids are wanting at the end of a set, where clips stand in another order, or where no blank is "
        "guessed right; here the first is an error that names the clip, the second is met by name, the third counts 0.",
    ),
)
