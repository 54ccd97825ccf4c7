"""What raters are asked: six forms, the first two that of VERIFIED's study (Listing 1) in our own words.

    richer       two descriptions: which tells more of what stays, which more of what happens, how right each is (1–5)
    yes-no       as printed there: does description 2, always the target's, tell more of what stays (0, 1), more of what
                 happens (0, 1), how right is it (1–5)
    preference   two descriptions: which is better
    rank         all systems' descriptions: put in order
    scale        one description: 1–5 on each scale
    true         one description of a span: is it true?

An answer is a number a field. Fields are said by position (description 1, 2, …), so that neither page nor rater knows a
system; `told` turns them into what was said of each system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict

Answer = Mapping[str, int]

ACCURACY = {
    5: "All of it is right; where it is vague, the clip allows it.",
    4: "Something does not fit, but it matters little.",
    3: "Something does not fit, and it matters.",
    2: "Much is wrong; only the rough subject fits.",
    1: "It is about something else.",
}
SCALES: dict[str, tuple[str, str, dict[int, str]]] = {
    "accuracy": ("How right is it?", "Judge what it says, not what it leaves out.", ACCURACY),
    "detail": (
        "How much of the clip does it tell?",
        "",
        {5: "All that matters.", 4: "Most of it.", 3: "About half.", 2: "Little.", 1: "Next to nothing."},
    ),
    "fluency": (
        "How well does it read?",
        "",
        {5: "Like careful writing.", 4: "Well.", 3: "Understandable.", 2: "Hard to follow.", 1: "Not as language."},
    ),
}
STATIC = (
    "Which tells more of what stays the same?",
    "Place, things, colours, sizes, writing, who is there, what stands where: what single pictures show.",
)
DYNAMIC = (
    "Which tells more of what happens?",
    "Movements, changes, what comes or goes, who does what with whom, in which direction: what only the clip shows.",
)
YES_NO = {
    "static": "Does description 2 tell more of what stays the same than description 1?",
    "dynamic": "Does description 2 tell more of what happens than description 1?",
}
GUIDE = """\
You will see clips, each with two descriptions. Description 1 is short. The question is always about description \
2: does it tell more than description 1, and is what it tells right?

What stays the same is what a single picture of the clip can show: the place, the things in it and their colours \
and sizes, writing, how old or young somebody is, what stands beside what.

What happens is what only the clip as a whole can show: movements and their direction, something that comes, \
goes or changes, a turn of the camera, who does what with whom, and how.

An example. Description 1: “A woman waters plants.”
“A woman in a yellow coat waters the plants on a narrow balcony” adds the coat and the balcony. One picture \
shows both, so it tells more of what stays (1) and not of what happens (0).
“A woman waters the plants one after the other, then hands the can to a child” adds an order and something \
between two people. No single picture shows that, so it tells more of what happens (1) and not of what stays \
(0).

Some words belong to both kinds; go by your own understanding. Judge what description 2 says. That it leaves \
something out is no fault."""


@dataclass(frozen=True, slots=True)
class Field:
    """One question field of a form."""

    name: str  # of the field in the answer: accuracy_2
    measure: str  # what it measures: accuracy
    position: int  # of the description it is about; 0: all of them
    legend: str
    help: str
    options: tuple[tuple[int, str], ...]

    def to_dict(self) -> JsonDict:
        return {"name": self.name, "legend": self.legend, "help": self.help, "options": [list(o) for o in self.options]}


class SystemRating(NamedTuple):
    """The rating of one system in an answer."""

    measure: str
    system: str
    position: int
    value: float


@dataclass(frozen=True, slots=True)
class Form:
    """A kind of question. `shown`: how many descriptions at once; 0: those of all systems."""

    name: str
    shown: int
    lead: str
    choices: tuple[str, ...] = ()  # measures that choose one of two
    scales: tuple[str, ...] = ()  # measures with 1–5 for each description
    ties: bool = True
    yes_no: tuple[str, ...] = ()  # measures of description 2, the target's, with 0 or 1
    guide: str = ""  # instructions, before the first question

    @property
    def fixed(self) -> bool:
        """Whether the target always stands last and is the only one that is judged."""
        return bool(self.yes_no)

    def fields(self, count: int) -> tuple[Field, ...]:
        """Of a question with so many descriptions."""
        return tuple(self.list_fields(count))

    def list_fields(self, count: int) -> Iterator[Field]:
        words = {"static": STATIC, "dynamic": DYNAMIC, "better": ("Which describes the clip better?", "")}
        neither = {"better": "Equally good"}
        for measure in self.choices:
            options = [(1, "Description 1"), (2, "Description 2")]
            if self.ties or measure != "better":
                options.append((0, neither.get(measure, "Neither tells more")))
            yield Field(measure, measure, 0, *words[measure], tuple(options))
        for measure in self.yes_no:
            options = [(1, "1: Yes"), (0, "0: No")]
            yield Field(f"{measure}_2", measure, 2, YES_NO[measure], words[measure][1], tuple(options))
        for measure in self.scales:
            legend, help, steps = SCALES[measure]
            for p in range(2 if self.fixed else 1, count + 1):
                whose = f"Description {p}: {legend[0].lower()}{legend[1:]}" if count > 1 else legend
                yield Field(
                    f"{measure}_{p}", measure, p, whose, help, tuple((v, f"{v}: {t}") for v, t in steps.items())
                )
        if self.name == "rank":
            places = tuple((v, "best" if v == 1 else "last" if v == count else str(v)) for v in range(1, count + 1))
            for p in range(1, count + 1):
                yield Field(
                    f"rank_{p}", "rank", p, f"Description {p}: which place?", "Each place is given once.", places
                )
        if self.name == "true":
            options = [(1, "Yes, all it says is true of this clip"), (0, "No, something it says is not")]
            yield Field("true_1", "true", 1, "Is the description true?", "", tuple(options))

    def check(self, answer: object, count: int) -> dict[str, int]:
        """The answer, if it is one to this form: each field once, each with one of its options."""
        fields = {f.name: f for f in self.fields(count)}
        if not isinstance(answer, dict) or set(answer) != set(fields):
            raise SpecError(f"an answer has the fields {', '.join(fields)}")
        for name, value in answer.items():
            if type(value) is not int or value not in [v for v, _ in fields[name].options]:
                raise SpecError(f"{name}: no such option")
        if self.name == "rank" and len(set(answer.values())) < count:
            raise SpecError("each place is given once")
        return dict(answer)

    def ratings(self, answer: Answer, order: Sequence[str]) -> Iterator[SystemRating]:
        """The rating of each system in an answer; `order`: the systems in the order shown."""
        for f in self.fields(len(order)):
            value = answer[f.name]
            if f.position:
                yield SystemRating(f.measure, order[f.position - 1], f.position, float(value))
                continue
            for p, system in enumerate(order, 1):
                tie = 0.5 if f.measure == "better" else 0.0
                yield SystemRating(f.measure, system, p, tie if value == 0 else float(value == p))

    def code(self, name: str, answer: Answer, order: Sequence[str], systems: Sequence[str]) -> float:
        """A field's answer free of positions, for agreement: the chosen system's number, between them for neither."""
        value = answer[name]
        if name not in self.choices:
            return float(value)
        places = [systems.index(system) for system in order]
        return sum(places) / len(places) if value == 0 else float(places[value - 1])

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(f.measure for f in self.fields(2 if self.shown != 1 else 1)))

    def is_share(self, measure: str) -> bool:
        return measure in (*self.choices, *self.yes_no, "true")


def make_form(name: str, scales: Sequence[str] = (), ties: bool = True) -> Form:
    if name not in FORMS:
        raise SpecError(f"no form is called {name!r}; there are: {', '.join(FORMS)}")
    for scale in scales:
        if scale not in SCALES:
            raise SpecError(f"no scale is called {scale!r}; there are: {', '.join(SCALES)}")
    if scales and name not in ("scale", "richer", "yes-no"):
        raise SpecError(f"scales are for the forms scale, richer and yes-no, not for {name}")
    form = FORMS[name]
    return replace(form, scales=tuple(scales) or form.scales, ties=ties)


FORMS = {
    "richer": Form(
        "richer", 2, "Watch the clip, then compare the two descriptions.", ("static", "dynamic"), ("accuracy",)
    ),
    "yes-no": Form(
        "yes-no",
        2,
        "Watch the clip, then judge description 2.",
        yes_no=("static", "dynamic"),
        scales=("accuracy",),
        guide=GUIDE,
    ),
    "preference": Form("preference", 2, "Watch the clip, then say which description is better.", ("better",)),
    "rank": Form("rank", 0, "Watch the clip, then put the descriptions in order, the best first."),
    "scale": Form("scale", 1, "Watch the clip, then judge the description.", (), ("accuracy",)),
    "true": Form("true", 1, "Watch the clip. Is the description true of it?"),
}
