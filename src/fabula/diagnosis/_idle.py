"""Rules that cannot act on these stories, known without scoring: it saves half of the work, and changes no answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fabula.core.notes import Notes
from fabula.data.event_order import count_reordered, pool_stories
from fabula.data.ids import reconcile
from fabula.data.segments import all_sound
from fabula.data.stories import Corpus, Story, join_words


@dataclass(frozen=True, slots=True)
class Facts:
    """What these files hold that a rule could act on."""

    sets: int
    missing: int
    malformed: int  # sets of stories with a segment that is no stretch of time
    unsorted: int  # stories that time orders otherwise than their file
    tied: int  # stories that start and end, or words, order otherwise than starts alone
    longest: int  # most predictions of one video
    ascii_only: bool

    @classmethod
    def of(cls, predictions: Corpus, refs: Sequence[Corpus]) -> Facts:
        videos = dict.fromkeys(v for ref in refs for v in ref)
        predictions = reconcile(predictions, list(videos), Notes())
        stories = [story for corpus in (predictions, *refs) for story in corpus.values()]
        lists = any(
            e.checklist for story in stories if story.last is None for e in story.events
        )  # they order events too
        return cls(
            sets=len(refs),
            missing=sum(not predictions.get(v) for v in videos),
            malformed=sum(not all_sound(corpus) for corpus in (predictions, *refs)),
            unsorted=count_reordered(stories, "file", "time", lists),
            tied=count_reordered([*stories, *pool_events(refs, lists)], "start", "time", lists),
            longest=max((len(story) for story in predictions.values()), default=0),
            ascii_only=all((caption or "").isascii() for caption in join_words(stories)),
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


def pool_events(refs: Sequence[Corpus], keeps_events: bool) -> list[Story]:
    """The events of all sets of each video, as refs=merged reads them."""
    if len(refs) < 2:
        return []
    videos = list(dict.fromkeys(v for ref in refs for v in ref))
    return pool_stories(videos, [[ref[v] for ref in refs if v in ref] for v in videos], "file", keeps_events)
