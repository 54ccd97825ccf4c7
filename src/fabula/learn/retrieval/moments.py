"""fabula.moments: a trained retriever that is asked for moments by sentences; videos are encoded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fabula.learn import need_learn

if TYPE_CHECKING:
    from fabula.learn.retrieval.finder import Finder


def moments(
    run: str | Path, *, device: str = "cpu", extract: Any = None, read: Any = None,
    tokenizer: str | Path | None = None, other_features: bool = False,
) -> Finder:  # fmt: skip
    """The model of a run or checkpoint of `fabula train vcmr`, to be asked.

        m = fabula.moments("runs/xml")
        v = m.encode(frames, "film")
        m.find(v, "a man pours oil")

    `extract` makes features of a video file: an extractor, as "efficientnet_lite0(fps=2)", or path → ([F, C], features
    per second, seconds). `read` makes features of words, where the model was trained on them: text → [L, E].
    `tokenizer`: the folder of RoBERTa's vocab.json and merges.txt, for a HERO that reads its tokens. An extractor, or a
    store, that makes features in another way than the run's is refused, unless `other_features` says so.

    Examples:

        >>> finder = fabula.moments("runs/xml")
        >>> type(finder).__name__
        'Finder'
    """
    need_learn()
    from fabula.learn.retrieval.finder import Finder

    maker = open_extractor(extract) if isinstance(extract, str) else extract
    finder = Finder(run, device=device, extract=maker, read=read, tokenizer=tokenizer, other_features=other_features)
    if isinstance(extract, str):
        from fabula.media import extractor

        finder.check_recipe(extractor(extract).recipe())
    return finder


def open_extractor(spec: str) -> Callable[[Path], tuple[Any, float, float]]:
    """Features of a video file by one of `fabula list extractors`."""
    from fabula.media import extract_one, extractor

    opened = extractor(spec)

    def extract(path: Path) -> tuple[Any, float, float]:
        frames, seconds = extract_one(path, opened)
        return frames, opened.rate, seconds

    return extract
