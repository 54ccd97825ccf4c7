"""fabula.compare: is the difference between systems more than luck?"""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from fabula.core.errors import SpecError
from fabula.core.notes import Progress, silent
from fabula.core.options import split_keywords, with_options
from fabula.documents.objects import is_texts
from fabula.evaluate.base import Shelf
from fabula.evaluate.clusters import cluster_results
from fabula.evaluate.clusters import name as name_groups
from fabula.evaluate.inputs import take_both, take_refs, take_sets, take_systems
from fabula.evaluate.options import ScoreOptions
from fabula.evaluate.request import make_request, run_request
from fabula.stats.compare import Comparison
from fabula.stats.compare import compare as compare_rows
from fabula.stats.resampling import Clusters, PairedTest
from fabula.verbs.keywords import CompareKeywords, Data, Systems

WITHOUT = ("work", "resume")  # of ScoreOptions: a folder holds one run, and here are several


@with_options(PairedTest, Clusters, ScoreOptions, without=WITHOUT)
def compare(
    systems: Systems,
    refs: Data = (),
    *,
    options: ScoreOptions | None = None,
    testing: PairedTest | None = None,
    progress: Progress = silent,
    **keywords: Unpack[CompareKeywords],
) -> Comparison:
    """Two or more systems on the same references: scores with intervals, differences with intervals and p-values.

    Systems are named by the mapping's keys, or by their files; each may be whatever `fabula.score` takes. A difference
    is marked where its p-value, corrected over all pairs of systems (Holm), is below `alpha`. Options are given one by
    one, or as objects.

    Examples:

        >>> seen = fabula.compare(demo.SYSTEMS, list(demo.REFERENCES.values()), metrics="SODA_d", resamples=200)
        >>> [(duel.b, round(duel.delta, 2)) for duel in seen.lines["SODA_d"].duels if duel.a == "good"]
        [('over_segmenting', -0.33), ('out_of_order', -0.02)]
    """
    hands = (testing or PairedTest(), Clusters(), options or ScoreOptions())
    testing, grouped, options = split_keywords("compare", keywords, *hands, without=WITHOUT)
    options, named = take_sets(options), take_systems(systems)
    if len(named) < 2:
        raise SpecError("one system is no comparison; name two or more prediction files")
    shelf: Shelf = {}  # references are read once
    refs = refs if any(map(is_texts, named.values())) else take_refs(refs, options)
    both = {name: take_both(system, refs, options, f"system {name}") for name, system in named.items()}
    asked = {name: make_request(*found, options, progress) for name, found in both.items()}
    results = {name: run_request(replace(request, shelf=shelf)) for name, request in asked.items()}
    first = next(iter(results.values()))
    for name, result in results.items():
        if result.task != first.task:
            raise SpecError(
                f"{name} was read as {result.task}, {next(iter(results))} as {first.task}; say which: --task"
            )
    by, drawn = grouped.cluster, ""
    if by is not None:
        results, n = cluster_results(results, by, [p for p, _ in both.values()], next(iter(both.values()))[1])
        first, drawn = next(iter(results.values())), f"{name_groups(by)}:{n}"
    tables = {
        label: {name: (r.rows[label], first.metrics[label]) for name, r in results.items()} for label in first.scores
    }
    seen = compare_rows(
        tables,
        scales={label: s.scale for label, s in first.scores.items()},
        signatures={label: s.signature for label, s in first.scores.items()},
        how=testing,
        wide=by is not None,
    )
    return replace(
        seen,
        clusters=drawn,
        warnings=(*(f"{name}: {w}" for name, r in results.items() for w in r.warnings), *seen.warnings),
    )
