"""Raw videos in place of a feature store; features are extracted once, like those of the run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fabula.core.errors import InputError, SpecError
from fabula.core.notes import Progress, silent
from fabula.data.stories import Corpus, Story
from fabula.documents.fields import JsonObject
from fabula.media.stores.features import Frames, resize


class RawVideos(Mapping[str, Frames]):
    """Features [T, C] by the stem of a video's name; `corpus` has the durations."""

    def __init__(
        self, paths: Sequence[Path], recipe: JsonObject | None, weights: Path | None, watch: Progress = silent
    ) -> None:
        if recipe is None:
            raise SpecError(
                "the run does not say how its features were made, so features of raw videos cannot be extracted alike; "
                "train on a store of fabula features extract, or give --features"
            )
        for stem, times in Counter(path.stem for path in paths).items():
            if times > 1:
                raise InputError(
                    f"{times} videos have this name", video=stem, hint="rename them, or predict one at a time"
                )
        from fabula.media import extract_one, rebuild  # only where videos are looked at

        extractor = rebuild(recipe, None if weights is None else str(weights))
        self.features: dict[str, Frames] = {}
        stories: dict[str, Story] = {}
        for i, path in enumerate(paths):
            watch(f"looking at {path.name}", i, len(paths))
            self.features[path.stem], duration = extract_one(path, extractor)
            stories[path.stem] = Story(path.stem, (), duration)
        self.corpus = Corpus(stories, name="raw videos")

    def __getitem__(self, video: str) -> Frames:
        return self.features[video]

    def read(self, video: str, frames: int | None = None) -> Frames:
        """[T, C]; with `frames` brought to that length."""
        return self.features[video] if frames is None else resize(self.features[video], frames)

    def __iter__(self) -> Iterator[str]:
        return iter(self.features)

    def __len__(self) -> int:
        return len(self.features)
