"""The study's server: one page, a few calls, clips in parts. FastAPI over one SQLite file; needs the extra `web`.

A token opens one rater's booklet and nothing else. The page is told neither systems nor which questions are checks.
The answer to a question is taken only after

    it was shown to this rater, earlier questions being answered        the server's clock
    its clip was fetched by this rater
    and so much time has passed since as playing it takes (nine tenths)

What happened before the screen meanwhile no server can know: a program that fetches the clip and waits is not told
from a person. For that there are checks, gold questions and the rule of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from fastapi import HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool

from fabula.core.errors import SpecError
from fabula.documents.fields import JsonDict
from fabula.studies.design import Slot
from fabula.studies.forms import Field
from fabula.studies.store import ID, RefusedError, Store
from fabula.web.binding import Binding
from fabula.web.guard import App, Guard
from fabula.web.limits import Buckets
from fabula.web.media import find_fault
from fabula.web.pages import TokenDesk, add_routes, make_pages, read_json, send_file
from fabula.web.tokens import hash_token, looks_right

PLAYED = 0.9  # of a clip's length must have passed: clocks and ends of clips are not exact
SKIPS = 3  # clips that do not play, of one rater …
SKIPPED = 0.1  # … and of her booklet, that may be skipped
LONGEST_ID = 64  # characters
NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
RATE, BURST = 20.0, 60  # calls of one rater
ASSETS = {
    "/": ("studies", "page.html", "text/html"),
    "/page.js": ("studies", "page.js", "text/javascript"),
    "/page.css": ("studies", "page.css", "text/css"),
}


class Desk(TokenDesk):
    """State shared by the calls: the store, the raters, their rate limits."""

    def __init__(self, store: Store, binding: Binding) -> None:
        super().__init__(binding, f"fabula-{store.id}", store.clock)
        self.store, self.often = store, Buckets(RATE, BURST, store.clock)
        self.raters = store.tokens()
        self.booklets: dict[int, list[Slot]] = {}
        for slot in store.slots():
            self.booklets.setdefault(slot.rater, []).append(slot)
        self.fetched = set(store.events("fetched"))

    def know(self, request: Request, token: str) -> int:
        """The rater of a token; wrong ones are few before they cost time."""
        rater = self.raters.get(hash_token(token)) if looks_right(token) else None
        if rater is None:
            raise self.refuse_token(request, "this link is not known; open the link that you received")
        return rater

    def rater(self, request: Request) -> int:
        """Who asks. A call too many is refused with the seconds to wait."""
        rater = self.know(request, request.cookies.get(self.cookie, ""))
        if wait := self.often.take(rater):
            raise HTTPException(429, "too many calls", {"Retry-After": str(int(wait) + 1)})
        return rater

    def slot(self, rater: int, place: object) -> Slot:
        booklet = self.booklets[rater]
        if type(place) is not int or not 0 <= place < len(booklet):
            raise HTTPException(404, "no such question")
        return booklet[place]

    def open_slot(self, rater: int, place: object) -> Slot:
        """One that may be looked at: consent was given, and all before it are done."""
        slot = self.slot(rater, place)
        if self.store.when(rater, -1, "consent") is None:
            raise HTTPException(409, "consent comes first")
        if slot.place > self.store.next_place(rater):
            raise HTTPException(409, "earlier questions come first")
        return slot

    # calls

    def state(self, rater: int) -> JsonDict:
        plan, count = self.store.plan, len(self.booklets[rater])
        place = self.store.next_place(rater)
        state = {
            "title": plan.title,
            "intro": plan.intro,
            "guide": self.store.form.guide,
            "consent": plan.consent,
            "contact": plan.contact,
            "simulated": self.store.simulated,
            "agreed": self.store.when(rater, -1, "consent") is not None,
            "next": place,
            "of": count,
            "done": place >= count,
        }
        if place >= count and plan.rater_id and self.store.rater_id(rater) is None:
            state |= {"rater_id": plan.rater_id}  # before the code
        elif place >= count:
            code = self.store.code(rater)
            state |= {"code": code, "return_url": plan.return_url.replace("{code}", code)}
        return state

    def agree(self, rater: int) -> JsonDict:
        self.store.note(rater, -1, "consent")
        return self.state(rater)

    def identify(self, rater: int, text: object) -> JsonDict:
        """What the rater answers to the plan's question for an id."""
        if not self.store.plan.rater_id or self.store.next_place(rater) < len(self.booklets[rater]):
            raise HTTPException(409, "no id is asked for now")
        if not isinstance(text, str) or not 0 < len(text.strip()) <= LONGEST_ID or not text.isprintable():
            raise HTTPException(422, f"an id has 1 to {LONGEST_ID} characters")
        self.store.note(rater, -1, ID + text.strip())
        return self.state(rater)

    def question(self, rater: int, place: int) -> JsonDict:
        slot = self.open_slot(rater, place)
        self.store.note(rater, place, "shown")
        item, form = self.store.items[slot.item], self.store.form
        texts = [item.descriptions[s] for s in slot.order]
        if slot.role == "check":
            texts = write_check(form.fields(len(slot.order)), slot.expect or {}, len(slot.order))
        return {
            "place": place,
            "of": len(self.booklets[rater]),
            "lead": form.lead,
            "clip": {"src": f"/media/{place}", "start": item.start, "end": item.end},
            "descriptions": texts,
            "fields": [f.to_dict() for f in form.fields(len(slot.order))],
            "distinct": form.name == "rank",
            "played": self.store.when(rater, place, "played") is not None,
            "answer": self.store.latest(rater, place),
        }

    def play(self, rater: int, place: object) -> JsonDict:
        """Check the page's claim that the clip was played."""
        slot = self.open_slot(rater, place)
        shown = self.store.when(rater, slot.place, "shown")
        if shown is None or (rater, slot.place) not in self.fetched:
            raise HTTPException(409, "the clip was not fetched")
        wait = shown + PLAYED * self.store.items[slot.item].length - self.store.clock()
        if wait > 0 and self.store.when(rater, slot.place, "played") is None:
            raise HTTPException(425, "the clip cannot have been played yet", {"Retry-After": f"{wait:.2f}"})
        self.store.note(rater, slot.place, "played")
        return {"played": True}

    def skip(self, rater: int, place: object) -> JsonDict:
        """Skip a clip that does not play. Only a few may be skipped."""
        slot = self.open_slot(rater, place)
        skipped = [p for r, p in self.store.events("skipped") if r == rater and p != slot.place]
        if len(skipped) >= max(SKIPS, int(SKIPPED * len(self.booklets[rater]))):
            raise HTTPException(409, "too many clips were skipped; please write to the person who sent you the link")
        self.store.note(rater, slot.place, "skipped")
        return self.state(rater)

    def answer(self, rater: int, place: object, nonce: object, answer: object) -> JsonDict:
        slot = self.open_slot(rater, place)
        if not isinstance(nonce, str) or not NONCE.fullmatch(nonce):
            raise HTTPException(422, "no nonce")
        try:
            checked = self.store.form.check(answer, len(slot.order))
            new = self.store.add(rater, slot.place, nonce, checked)
        except SpecError as error:
            raise HTTPException(422, str(error)) from None
        except RefusedError as error:
            raise HTTPException(409, str(error)) from None
        return {"saved": True, "new": new} | self.state(rater)

    def fetch(self, rater: int, place: int) -> Slot:
        slot = self.open_slot(rater, place)
        if (rater, place) not in self.fetched and self.store.when(rater, place, "shown") is not None:
            self.store.note(rater, place, "fetched")
            self.fetched.add((rater, place))
        return slot


def write_check(fields: Sequence[Field], expect: dict[str, int], count: int) -> list[str]:
    """The words of an attention check: the first description says what to answer."""
    demands = []
    for f in fields:
        label = dict(f.options)[expect[f.name]]
        demands.append(f"“{f.legend}”: {label.partition(':')[0]}")
    sentence = "This is a check that descriptions are read. Whatever the clip shows, answer " + "; ".join(demands) + "."
    return [sentence, *["Please answer as the first description says."] * (count - 1)]


def make_app(store: Store, binding: Binding) -> App:
    """The server's application, guarded."""
    desk = Desk(store, binding)
    app = make_pages("fabula study", ASSETS)

    async def start(request: Request) -> Response:
        token = request.query_params.get("token", "")
        desk.know(request, token)
        return desk.send_cookie(token)

    async def state(request: Request) -> object:
        return await run_in_threadpool(desk.state, desk.rater(request))

    async def question(request: Request, place: int) -> object:
        return await run_in_threadpool(desk.question, desk.rater(request), place)

    async def media(request: Request, place: int) -> Response:
        slot = await run_in_threadpool(desk.fetch, desk.rater(request), place)
        clip = store.clips / store.items[slot.item].clip
        if await run_in_threadpool(find_fault, clip, store.clips) is not None:
            raise HTTPException(404, "the clip is gone")
        return send_file(request, clip)

    def post(call: Callable[[int, JsonDict], JsonDict]) -> Callable[[Request], object]:
        async def answer(request: Request) -> object:
            rater, sent = desk.rater(request), await read_json(request)
            if not isinstance(sent, dict):
                raise HTTPException(400, "not a JSON object")
            return await run_in_threadpool(call, rater, sent)

        return answer

    gets: dict[str, Callable[..., object]] = {
        "/start": start,
        "/api/state": state,
        "/api/question/{place}": question,
        "/media/{place}": media,
    }
    add_routes(app, "GET", gets)
    posts: dict[str, Callable[[int, JsonDict], JsonDict]] = {
        "/api/consent": lambda rater, sent: desk.agree(rater),
        "/api/id": lambda rater, sent: desk.identify(rater, sent.get("id")),
        "/api/played": lambda rater, sent: desk.play(rater, sent.get("place")),
        "/api/skip": lambda rater, sent: desk.skip(rater, sent.get("place")),
        "/api/answer": lambda rater, sent: desk.answer(rater, sent.get("place"), sent.get("nonce"), sent.get("answer")),
    }
    add_routes(app, "POST", {path: post(call) for path, call in posts.items()})
    return Guard(app, binding, doors=("/", "/start"))
