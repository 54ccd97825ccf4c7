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

import json
import re
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, StreamingResponse

from fabula.core.errors import SpecError
from fabula.studies.design import Slot
from fabula.studies.store import RefusedError, Store
from fabula.web.binding import Binding
from fabula.web.failures import answer_failures
from fabula.web.guard import App, Guard, find_address
from fabula.web.limits import Buckets
from fabula.web.media import describe, find_fault, find_part, read_part
from fabula.web.tokens import hash_token, looks_right

PLAYED = 0.9  # of a clip's length must have passed: clocks and ends of clips are not exact
SKIPS = 3  # clips that do not play, of one rater …
SKIPPED = 0.1  # … and of her booklet, that may be skipped
NONCE = re.compile(r"[0-9a-f]{32}", re.ASCII)
RATE, BURST = 20.0, 60  # calls of one rater
WRONG_RATE, WRONG_BURST = 0.2, 20  # wrong tokens from one address
ASSETS = {
    "/": ("page.html", "text/html"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.css": ("page.css", "text/css"),
}


class Desk:
    """State shared by the calls: the store, the raters, their rate limits."""

    def __init__(self, store: Store, binding: Binding) -> None:
        self.store, self.binding = store, binding
        self.raters = store.tokens()
        self.booklets: dict[int, list[Slot]] = {}
        for slot in store.slots():
            self.booklets.setdefault(slot.rater, []).append(slot)
        self.often, self.wrong = (Buckets(*of, store.clock) for of in ((RATE, BURST), (WRONG_RATE, WRONG_BURST)))
        self.fetched = set(store.events("fetched"))
        self.cookie = ("__Host-" if binding.secure else "") + f"fabula-{store.id}"

    def know(self, request: Request, token: str) -> int:
        """The rater of a token; wrong ones are few before they cost time."""
        rater = self.raters.get(hash_token(token)) if looks_right(token) else None
        if rater is None:
            if wait := self.wrong.take(find_address(request.scope, self.binding)):
                raise HTTPException(429, "too many tries", {"Retry-After": str(int(wait) + 1)})
            raise HTTPException(401, "this link is not known; open the link that you received")
        return rater

    def rater(self, request: Request) -> int:
        """Who asks. A call too many is refused with the seconds to wait."""
        rater = self.know(request, request.cookies.get(self.cookie, ""))
        if wait := self.often.take(rater):
            raise HTTPException(429, "too many calls", {"Retry-After": str(int(wait) + 1)})
        return rater

    def slot(self, rater: int, place: Any) -> Slot:
        booklet = self.booklets[rater]
        if type(place) is not int or not 0 <= place < len(booklet):
            raise HTTPException(404, "no such question")
        return booklet[place]

    def open_slot(self, rater: int, place: Any) -> Slot:
        """One that may be looked at: consent was given, and all before it are done."""
        slot = self.slot(rater, place)
        if self.store.when(rater, -1, "consent") is None:
            raise HTTPException(409, "consent comes first")
        if slot.place > self.store.next_place(rater):
            raise HTTPException(409, "earlier questions come first")
        return slot

    # calls

    def state(self, rater: int) -> dict[str, Any]:
        plan, count = self.store.plan, len(self.booklets[rater])
        place = self.store.next_place(rater)
        state = {
            "title": plan.title,
            "intro": plan.intro,
            "consent": plan.consent,
            "contact": plan.contact,
            "simulated": self.store.simulated,
            "agreed": self.store.when(rater, -1, "consent") is not None,
            "next": place,
            "of": count,
            "done": place >= count,
        }
        if place >= count:
            code = self.store.code(rater)
            state |= {"code": code, "return_url": plan.return_url.replace("{code}", code)}
        return state

    def agree(self, rater: int) -> dict[str, Any]:
        self.store.note(rater, -1, "consent")
        return self.state(rater)

    def question(self, rater: int, place: int) -> dict[str, Any]:
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

    def play(self, rater: int, place: Any) -> dict[str, Any]:
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

    def skip(self, rater: int, place: Any) -> dict[str, Any]:
        """Skip a clip that does not play. Only a few may be skipped."""
        slot = self.open_slot(rater, place)
        skipped = [p for r, p in self.store.events("skipped") if r == rater and p != slot.place]
        if len(skipped) >= max(SKIPS, int(SKIPPED * len(self.booklets[rater]))):
            raise HTTPException(409, "too many clips were skipped; please write to the person who sent you the link")
        self.store.note(rater, slot.place, "skipped")
        return self.state(rater)

    def answer(self, rater: int, place: Any, nonce: Any, answer: Any) -> dict[str, Any]:
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


def write_check(fields: Any, expect: dict[str, int], count: int) -> list[str]:
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
    app = FastAPI(title="fabula study", docs_url=None, redoc_url=None, openapi_url=None)
    answer_failures(app)
    assets = {
        path: (files("fabula.studies").joinpath(name).read_bytes(), kind) for path, (name, kind) in ASSETS.items()
    }

    def send_asset(path: str) -> Callable[[], Any]:
        async def sent() -> Response:
            body, kind = assets[path]
            return Response(body, media_type=f"{kind}; charset=utf-8")

        return sent

    for path in assets:
        app.get(path)(send_asset(path))

    async def start(request: Request) -> Response:
        token = request.query_params.get("token", "")
        desk.know(request, token)
        away = RedirectResponse("/", 303)
        away.set_cookie(desk.cookie, token, httponly=True, samesite="lax", secure=binding.secure, path="/")
        return away

    async def state(request: Request) -> Any:
        return await run_in_threadpool(desk.state, desk.rater(request))

    async def question(request: Request, place: int) -> Any:
        return await run_in_threadpool(desk.question, desk.rater(request), place)

    async def media(request: Request, place: int) -> Response:
        slot = await run_in_threadpool(desk.fetch, desk.rater(request), place)
        clip = store.clips / store.items[slot.item].clip
        if await run_in_threadpool(find_fault, clip, store.clips) is not None:
            raise HTTPException(404, "the clip is gone")
        size = clip.stat().st_size
        part = find_part(request.headers.get("range"), size)
        if part is None:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
        status, headers = describe(clip, part)
        return StreamingResponse(read_part(clip, part), status, headers)

    async def post(request: Request, call: Callable[[int, dict[str, Any]], Any]) -> Any:
        rater = desk.rater(request)
        try:
            sent = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise HTTPException(400, "not JSON") from None
        if not isinstance(sent, dict):
            raise HTTPException(400, "not a JSON object")
        return await run_in_threadpool(call, rater, sent)

    async def agree(request: Request) -> Any:
        return await post(request, lambda rater, sent: desk.agree(rater))

    async def played(request: Request) -> Any:
        return await post(request, lambda rater, sent: desk.play(rater, sent.get("place")))

    async def skip(request: Request) -> Any:
        return await post(request, lambda rater, sent: desk.skip(rater, sent.get("place")))

    async def answer(request: Request) -> Any:
        def save(rater: int, sent: dict[str, Any]) -> dict[str, Any]:
            return desk.answer(rater, sent.get("place"), sent.get("nonce"), sent.get("answer"))

        return await post(request, save)

    # annotations are words here (PEP 563) and FastAPI reads them from the module, where Request is
    app.add_api_route("/start", start, methods=["GET"], response_model=None)
    app.add_api_route("/api/state", state, methods=["GET"], response_model=None)
    app.add_api_route("/api/question/{place}", question, methods=["GET"], response_model=None)
    app.add_api_route("/media/{place}", media, methods=["GET"], response_model=None)
    for path, call in (("consent", agree), ("played", played), ("skip", skip), ("answer", answer)):
        app.add_api_route(f"/api/{path}", call, methods=["POST"], response_model=None)
    return Guard(app, binding, doors=("/", "/start"))
