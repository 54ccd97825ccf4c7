"""Encode once, search often: a trained retriever for one video, or for a corpus of them.

m = fabula.moments("runs/xml")
v = m.encode(frames, "film", rate=4)           # or a store's name of it: m.encode(store["film"], "film")
m.find(v, "a man pours oil")                   # → moments, best first
m.find(m.join(v, w), ["a dog", "a cat"])       # → a list of moments for each query
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from fabula.core.errors import InputError, SpecError, shown
from fabula.core.notes import Notes
from fabula.data.moments import Moment, Query
from fabula.documents.fields import JsonObject
from fabula.learn import checkpoint
from fabula.learn.retrieval.bpe import Tokens
from fabula.learn.retrieval.contract import pad_rows
from fabula.learn.retrieval.data import Clips, Words, average_down, pool_clips, scale_rows
from fabula.learn.retrieval.decode import Decoding
from fabula.learn.retrieval.encoded import encode_clips
from fabula.learn.retrieval.queries import encode_queries
from fabula.learn.retrieval.search import Corpus, encode_corpus, join_videos, search_corpus
from fabula.media.stores.features import Features, check_features, must_match

if TYPE_CHECKING:
    from fabula.learn.retrieval.contract import Queries

Extract = Callable[[Path], tuple[ArrayLike, float, float]]  # a video's features [F, C], how many a second, its seconds
Reader = Callable[[str], ArrayLike]  # a query's words [L, E]


class Finder:
    """A trained model, and what it needs to answer queries."""

    def __init__(
        self, run: str | Path, *, device: str = "cpu", extract: Extract | None = None, read: Reader | None = None,
        tokenizer: str | Path | None = None, other_features: bool = False,
    ) -> None:  # fmt: skip
        """`extract` makes features of a video file; `read` of words, for models that take them from a store;
        `tokenizer` is the folder of RoBERTa's tokens, for a HERO that reads them."""
        model, header = checkpoint.load_model(run)
        if getattr(model.config, "scope", None) != "corpus":
            raise InputError(
                f"the model {shown(header['model'])} searches no corpus",
                file=run,
                hint="name a run of fabula train vcmr: xml, reloclnet, hero",
            )
        self.model: Any = model.to(device).eval()
        self.config: Any = model.config
        self.extract, self.read, self.notes = extract, read, Notes()
        if getattr(self.config, "words", "") == "store" and read is None:
            raise SpecError("this model reads features of words: give `read`, which makes them of a text")
        tokens = None if tokenizer is None else Tokens(tokenizer)
        stored = getattr(self.config, "words", "") == "store"
        self.words = None if stored else Words(self.config, notes=self.notes, tokens=tokens)
        about = header.get("about")
        self.recipe = about.get("recipe") if isinstance(about, dict) else None
        self.other_features, self.decoding = other_features, Decoding.of(self.config)

    def check_recipe(self, here: Features | JsonObject) -> None:
        """Refuse features from another extractor than the run's, if the run names its own."""
        if self.recipe is not None:
            must_match(self.recipe, here, allowed=self.other_features, flag="other_features=True")

    def encode(
        self, video: ArrayLike | Tensor | str | Path, name: str | None = None, rate: float | None = None,
        duration: float | None = None,
    ) -> Corpus:  # fmt: skip
        """A video, from its features [F, C] (`rate` a second; one a clip) or, with `extract`, from its file."""
        c = self.config
        if isinstance(video, str | Path):
            if self.extract is None:
                raise InputError(
                    "a video file; this finder reads features",
                    file=video,
                    hint="extract its features first, or give `extract` to fabula.moments",
                )
            name, (video, rate, seconds) = name or Path(video).stem, self.extract(Path(video))
            duration = seconds if duration is None else duration
        name = name or "video"
        frames = check_features(video.cpu().numpy() if isinstance(video, Tensor) else video, name)
        if frames.shape[1] != c.feature_dim:
            raise InputError(
                f"features of {frames.shape[1]} channels; the model takes {c.feature_dim}",
                video=name,
                hint="use the features the model was trained on",
            )
        clips = pool_clips(frames, 1.0 if rate is None else rate * c.clip)
        if getattr(c, "long", "windows") != "windows":
            clips = clips[: c.max_clips] if c.long == "cut" else average_down(clips, c.max_clips)
        rows = torch.from_numpy(np.ascontiguousarray(clips))
        rows = scale_rows(rows) if c.normalize else rows
        seconds = len(rows) * c.clip if duration is None else duration
        return encode_corpus(self.model, [(name, rows, seconds)])

    def encode_all(self, videos: Mapping[str, ArrayLike], rate: float | None = None, *, cache: bool = True) -> Corpus:
        """A corpus of all the videos of a store, or of a mapping from names to features.

        That of a store stays in the cache folder, where `fabula predict vcmr` finds it too; `cache=False`: it does not.
        """
        if isinstance(videos, Features):
            self.check_recipe(videos)
            clips = Clips([videos], self.config, 1 / self.config.clip if rate is None else rate, keep=False)
            sees = getattr(self.config, "pads", "seen") != "hidden"
            size = 1 if sees else 64  # a model that sees pads is shown none
            return encode_clips(self.model, clips, list(videos), {}, size, cache=self.notes if cache else None)
        return self.join(*(self.encode(frames, name, rate) for name, frames in videos.items()))

    def join(self, *corpora: Corpus) -> Corpus:
        """Several encoded videos, or corpora, as one."""
        if not corpora:
            raise SpecError("no video to search")
        if len(corpora) == 1:
            return corpora[0]
        T = max(one.rows.mask.shape[1] for one in corpora)
        starts = np.cumsum([0, *(len(one) for one in corpora[:-1])]).tolist()
        return Corpus(
            [name for one in corpora for name in one.names],
            torch.cat([one.durations for one in corpora]),
            join_videos([one.rows for one in corpora], T),
            torch.cat([one.owner + start for one, start in zip(corpora, starts, strict=True)]),
            torch.cat([one.offset for one in corpora]),
        )

    @overload
    def find(self, where: Corpus, what: str, top: int = 10) -> list[Moment]: ...
    @overload
    def find(self, where: Corpus, what: list[str] | tuple[str, ...], top: int = 10) -> list[list[Moment]]: ...
    def find(self, where: Corpus, what: str | Sequence[str], top: int = 10) -> list[Moment] | list[list[Moment]]:
        """The moments that a sentence speaks of, best first; of several sentences a list each."""
        texts = [what] if isinstance(what, str) else list(what)
        if top < 1:
            raise SpecError(f"top is {top}; it must be at least 1")
        if not texts:
            return []
        text_queries = [Query(i, "", ((0.0, 1.0),), None, text) for i, text in enumerate(texts)]
        queries = encode_queries(self.model, text_queries, self.words) if self.words else self.encode_words(texts)
        d = replace(self.decoding, after_nms=top, before_nms=max(self.decoding.before_nms, top))
        moments: list[list[Moment]] = []
        for _, answers in search_corpus(self.model, queries, where, d):
            assert answers.vcmr is not None
            for video, span, score in zip(*(t.tolist() for t in answers.vcmr), strict=True):
                rows = zip(video, span, score, strict=True)
                moments.append([Moment(s, e, where.names[v], w) for v, (s, e), w in rows if w > 0])
        return moments[0] if isinstance(what, str) else moments

    def encode_words(self, texts: Sequence[str]) -> Queries:
        """Queries whose words another model makes features of."""
        assert self.read is not None
        rows = []
        for text in texts:
            row = check_features(self.read(text), text)
            if row.shape[1] != self.config.query_dim:
                raise InputError(
                    f"words of {row.shape[1]} channels; the model takes {self.config.query_dim}",
                    hint="use the word features the model was trained on",
                )
            vectors = torch.from_numpy(row)[: self.config.max_words]
            rows.append(scale_rows(vectors) if self.config.normalize else vectors)
        words, mask = pad_rows(rows)
        device = next(self.model.parameters()).device
        with torch.inference_mode():
            queries: Queries = self.model.encode_query(words.to(device), mask.to(device))
        return queries
