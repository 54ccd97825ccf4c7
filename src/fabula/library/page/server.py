"""The server of a store: one page, a few calls, pictures and videos in parts. FastAPI; needs the extra `web`.

    GET  /api/store                     what there is: clips, videos, people, the embedder and how weak it is
    GET  /api/videos?q=&limit=          videos by name
    GET  /api/video/KEY                 one video: its strip of clips, who is seen when
    GET  /api/search?q=&limit=&video=&person=&min_length=&max_length=&min_probability=
    POST /api/export                    a kept list as a submission or as clips
    GET  /thumb/CLIP.jpg                a clip's picture
    GET  /video/KEY                     a video, in parts
    GET  /clip/KEY?start=&end=          a stretch of a video that browsers do not play, as one that they do

Whoever asks names a clip by number and a video by its key (catalogue.py), never a file. On this machine alone anybody
may ask; bound elsewhere, only who has the token of the link that is printed at the start. A store that changes while it
is served is looked at again every second: the next answer is of the new rows, and says so by its version; one that was
embedded anew is opened anew, or, where its embedder cannot be had, said to be another.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import HTTPException, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from fabula.core.errors import FabulaError
from fabula.documents.fields import JsonDict
from fabula.library.find import Searcher
from fabula.library.page.cut import can_cut
from fabula.library.page.desk import FIRST, NO_CUT, Desk
from fabula.library.page.export import check_length, read_moments, write_submission, zip_clips
from fabula.library.query import LETTERS
from fabula.web.binding import LOOPBACK, Binding
from fabula.web.guard import App, Guard
from fabula.web.pages import add_routes, make_pages, read_json, send_file

MOST = 100  # moments of an answer
LISTED = 50  # videos of a list
WAITING = 200  # searches that may wait for those under way
PAGE = {
    "/": ("library.page", "page.html", "text/html"),
    "/icon.svg": ("library.page", "icon.svg", "image/svg+xml"),
    "/page.css": ("library.page", "page.css", "text/css"),
    "/page.js": ("library.page", "page.js", "text/javascript"),
    "/player.js": ("library.page", "player.js", "text/javascript"),
    "/kept.js": ("library.page", "kept.js", "text/javascript"),
    "/elements.js": ("report", "elements.js", "text/javascript"),
}


def read_count(text: str | None, usual: int, most: int) -> int:
    if text in (None, ""):
        return usual
    if len(text) > 6 or not text.isascii() or not text.isdigit() or not 1 <= int(text) <= most:
        raise HTTPException(422, f"limit is a whole number from 1 to {most}")
    return int(text)


def read_number(text: str | None, what: str, most: float) -> float | None:
    if text in (None, ""):
        return None
    try:
        value = float(text[:30])
    except ValueError:
        value = math.nan
    if not 0 <= value <= most:
        raise HTTPException(422, f"{what} is a number from 0 to {most:g}")
    return value


def read_where(request: Request) -> JsonDict:
    """The filters of a search."""
    params = request.query_params
    names = {kind: tuple(n for n in params.getlist(kind) if n) for kind in ("video", "person")}
    if any(len(values) > 20 or any(len(n) > LETTERS for n in values) for values in names.values()):
        raise HTTPException(422, "at most 20 videos and 20 people can be named")
    least, most = (read_number(params.get(f"{end}_length"), f"{end}_length", 1e6) for end in ("min", "max"))
    if least is not None and most is not None and least > most:
        raise HTTPException(422, "the least length is more than the most")
    return {
        "videos": names["video"] or None,
        "people": names["person"] or None,
        "length": (least, most) if (least, most) != (None, None) else None,
        "min_probability": read_number(params.get("min_probability"), "min_probability", 1.0),
    }


def needs_token(binding: Binding) -> bool:
    return binding.origin is not None or binding.host not in LOOPBACK


def make_app(reopen: Callable[[], Searcher], binding: Binding, token: str | None = None) -> App:
    """The server's application, guarded. `reopen` opens the store with all that it takes to ask it."""
    if token is None and needs_token(binding):
        raise ValueError("bound elsewhere without a token")
    desk = Desk(reopen, binding, token)
    app = make_pages("fabula search", PAGE)

    async def ask(request: Request, call: Callable[..., Any], *arguments: object) -> Any:
        """A call for whoever may ask; what they can mend is said."""
        desk.enter(request, request.cookies.get(desk.cookie, ""))
        try:
            return await run_in_threadpool(call, *arguments)
        except FabulaError as error:
            raise HTTPException(422, desk.plain(str(error))) from None

    async def start(request: Request) -> Response:
        token = request.query_params.get("token", "")
        desk.enter(request, token)
        return desk.send_cookie(None if desk.token is None else token)  # where nobody needs one, none is set

    async def store(request: Request) -> object:
        return await ask(request, desk.store)

    async def videos(request: Request) -> object:
        words, limit = request.query_params.get("q", "")[:LETTERS], request.query_params.get("limit")
        return await ask(request, desk.videos, words, read_count(limit, FIRST, LISTED))

    async def video(request: Request, key: str) -> object:
        return await ask(request, desk.video, key)

    async def search(request: Request) -> object:
        desk.enter(request, request.cookies.get(desk.cookie, ""))
        text, limit = request.query_params.get("q", ""), read_count(request.query_params.get("limit"), 20, MOST)
        where = read_where(request)
        if desk.waiting >= WAITING:
            raise HTTPException(503, "too many searches at once; try again", {"Retry-After": "1"})
        desk.waiting += 1
        try:
            async with desk.searching:
                return await ask(request, desk.search, text, limit, where)
        finally:
            desk.waiting -= 1

    async def thumb(request: Request, clip: int) -> Response:
        if not 0 <= clip < 1 << 62:
            raise HTTPException(404, "no such picture")
        raw = await ask(request, desk.thumb, clip)
        named = "v" in request.query_params  # the page names the store's version: the same address, the same picture
        return Response(raw, 200, {"Cache-Control": f"private, max-age={86_400 if named else 0}"}, "image/jpeg")

    async def film(request: Request, key: str) -> Response:
        return send_file(request, await ask(request, desk.playable, key))

    async def clip(request: Request, key: str) -> Response:
        start, end = (read_number(request.query_params.get(name), name, 1e6) for name in ("start", "end"))
        if start is None or end is None or start >= end:
            raise HTTPException(422, "a clip has a start and an end after it")
        async with desk.previewing:  # searches must not wait behind films that are cut
            return send_file(request, await ask(request, desk.preview, key, start, end))

    async def export(request: Request) -> Response:
        desk.enter(request, request.cookies.get(desk.cookie, ""))
        sent = await read_json(request)
        now = await ask(request, desk.refresh)
        marks = await ask(request, read_moments, sent, now)
        form = sent.get("as") if isinstance(sent, dict) else None
        if form == "submission":
            body = await ask(request, write_submission, marks)
            return Response(body, 200, attached("submission.jsonl"), "application/jsonl")
        if form != "clips":
            raise HTTPException(422, "a list is exported as submission or as clips")
        if not can_cut():
            raise HTTPException(501, NO_CUT)
        await ask(request, check_length, marks)
        if desk.cutting.locked():
            raise HTTPException(
                503, "clips are being cut for another user; try again in a minute", {"Retry-After": "30"}
            )

        async def pieces() -> AsyncIterator[bytes]:
            async with desk.cutting:
                chunks = zip_clips(marks, now, desk.plain)
                try:
                    while (piece := await run_in_threadpool(next, chunks, None)) is not None:
                        yield piece
                finally:  # who asked may have gone
                    chunks.close()

        return StreamingResponse(pieces(), 200, attached("clips.zip"), "application/zip")

    gets: dict[str, Callable[..., object]] = {
        "/start": start,
        "/api/store": store,
        "/api/videos": videos,
        "/api/video/{key}": video,
        "/api/search": search,
        "/thumb/{clip}.jpg": thumb,
        "/video/{key}": film,
        "/clip/{key}": clip,
    }
    add_routes(app, "GET", gets)
    add_routes(app, "POST", {"/api/export": export})
    return Guard(app, binding, doors=("/", "/start"))


def attached(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}
