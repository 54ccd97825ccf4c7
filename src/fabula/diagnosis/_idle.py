"""Rules that cannot act on these stories, known without scoring: it saves half of the work, and changes no answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from fabula.core.notes import Notes
from fabula.data.ids import reconcile
from fabula.data.stories import Corpus, Story


@dataclass(frozen=True, slots=True)
class Facts:
    """What these files hold that a rule could act on."""

    sets: int
    missing: int
    malformed: int
    unsorted: int
    tied: int  # stories that start and end, or words, order otherwise than starts alone
    longest: int  # most predictions of one video
    ascii_only: bool

    @classmethod
    def of(cls, predictions: Corpus, refs: Sequence[Corpus]) -> Facts:
        videos = dict.fromkeys(v for ref in refs for v in ref)
        predictions = reconcile(predictions, list(videos), Notes())
        stories = [story for corpus in (predictions, *refs) for story in corpus.values()]
        return cls(
            sets=len(refs),
            missing=sum(not predictions.get(v) for v in videos),
            malformed=sum(not e.segment.sound for story in stories for e in story.events),
            unsorted=sum(story.in_order() is not story for story in stories),
            tied=sum(story.order != story.start_order for story in (*stories, *pool_events(refs))),
            longest=max((len(story) for story in predictions.values()), default=0),
            ascii_only=all((e.caption or "").isascii() for story in stories for e in story.events),
        )

    def idle(self, field: str, here: object, there: object) -> bool:
        """True where the rule can change nothing here."""
        match field:
            case "refs" | "best_by":
                return self.sets == 1
            case "missing" | "pairing":
                return self.missing == 0
            case "segments":
                return self.malformed == 0
            case "order":
                return (self.tied if {here, there} == {"time", "start"} else self.unsorted) == 0
            case "nonascii":
                return self.ascii_only
            case "columns":
                return self.longest < 11
            case "top":
                return all(n is None or (isinstance(n, int) and self.longest <= n) for n in (here, there))
        return False


def pool_events(refs: Sequence[Corpus]) -> Iterator[Story]:
    """The events of all sets of each video, as refs=merged reads them."""
    if len(refs) > 1:
        for video in dict.fromkeys(v for ref in refs for v in ref):
            yield Story(video, tuple(event for ref in refs if video in ref for event in ref[video].events))
