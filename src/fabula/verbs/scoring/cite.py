"""fabula.cite: a bibliography of what was used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from fabula import __version__
from fabula import metrics as metric_room
from fabula.benchmarks import Protocol
from fabula.benchmarks import room as protocol_room
from fabula.core.errors import SpecError
from fabula.core.papers import PAPERS, find_paper
from fabula.core.registry import close_to
from fabula.data.result import Result
from fabula.metrics import Metric

JUDGES = "Zheng et al., NeurIPS 2023"
LEANS = {
    "cider": "Vedantam et al., CVPR 2015",
    "meteor": "Denkowski & Lavie, WMT 2014",
    "spice": "Anderson et al., ECCV 2016",
}


def cite(*used: str | Path | Metric | Protocol | Result) -> str:
    """BibTeX of metrics and protocols (by name, or themselves), of a result, or of a saved one (its .json).

    A metric brings the papers of what it leans on: SODA_c that of METEOR. Fabula itself comes last.

    Examples:

        >>> print(fabula.cite("SODA_c").splitlines()[1])
        @inproceedings{fujita2020soda,
    """
    named: dict[str, list[str]] = {}  # paper → what of ours follows it
    for what in used:
        for paper, why in list_papers(what):
            some = named.setdefault(paper, [])
            some += [why] if why not in some else []
    entries = [f"% {', '.join(why)}\n{find_paper(paper).bibtex()}" for paper, why in named.items() if paper in PAPERS]
    entries += [f"% {', '.join(why)}: {paper}\n" for paper, why in named.items() if paper not in PAPERS]
    return "\n".join([*entries, OURS])


OURS = f"""% the program that made the numbers; say its version and the signatures
@software{{fabula,
  title = {{{{Fabula: scores, matches, trains and builds data for systems that tell the story of a video}}}},
  author = {{{{The Fabula authors}}}},
  version = {{{__version__}}},
}}
"""


def list_papers(used: str | Path | Metric | Protocol | Result) -> Iterator[tuple[str, str]]:
    """Papers, each with what follows it."""
    if isinstance(used, Protocol):
        yield used.paper, f"protocol {used.name} ({used.repository}, {used.commit})"
        yield from of_metrics(used.metrics)
    elif isinstance(used, Result):
        if used.protocol != "default":
            yield from list_papers(protocol_room.get(used.protocol))
        yield from of_metrics(metric_room.metric(score.signature.split("|")[0]) for score in used.scores.values())
    elif isinstance(used, str | Path):
        yield from list_papers(load(Path(used)) if str(used).endswith(".json") else find(str(used)))
    else:
        yield from of_metrics([used])


def load(path: Path) -> Result:
    from fabula.evaluate.saved import load_result

    saved = load_result(path)
    if saved is None:
        raise SpecError(f"{path} is no result; name metrics, protocols, or what fabula score --json wrote")
    return saved


def of_metrics(some: Iterable[Metric]) -> Iterator[tuple[str, str]]:
    for metric in some:
        if metric.paper:
            yield metric.paper, metric.name
        if metric.uses_llm:
            yield JUDGES, "a language model as a judge"
        for name in (*sorted(metric.depends_on), str(metric.param("text", ""))):
            if name in LEANS:
                yield LEANS[name], name.upper() if name != "cider" else "CIDEr"


def find(name: str) -> Metric | Protocol:
    """A protocol or a metric of this name; a spec with settings is a metric."""
    found: Protocol | None = protocol_room.find(name)
    if found is not None:
        return found
    try:
        return metric_room.metric(name)
    except SpecError:
        if not any(c in name for c in "(@"):
            names = [*protocol_room.names(), *metric_room.room.names()]
            raise SpecError(f"no metric or protocol is called {name!r}; {close_to(name, names)}") from None
        raise
