"""What our servers share: the page's files, routes, JSON that is sent, who holds a token, files in parts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from importlib.resources import files
from pathlib import Path

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.responses import RedirectResponse, StreamingResponse

from fabula.web.binding import Binding
from fabula.web.failures import answer_failures
from fabula.web.guard import find_address
from fabula.web.limits import Buckets
from fabula.web.media import describe, find_part, read_part

WRONG_RATE, WRONG_BURST = 0.2, 20  # wrong tokens from one address


class TokenDesk:
    """Base of what the calls of a server share: the cookie that carries a token, and a limit on wrong ones."""

    def __init__(self, binding: Binding, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.binding, self.wrong = binding, Buckets(WRONG_RATE, WRONG_BURST, clock)
        self.cookie = ("__Host-" if binding.secure else "") + name

    def refuse_token(self, request: Request, message: str) -> HTTPException:
        """Wrong tokens are few before they cost time."""
        if wait := self.wrong.take(find_address(request.scope, self.binding)):
            return HTTPException(429, "too many tries", {"Retry-After": str(int(wait) + 1)})
        return HTTPException(401, message)

    def send_cookie(self, token: str | None) -> Response:
        """To the page, with the token as a cookie where one is needed."""
        away = RedirectResponse("/", 303)
        if token is not None:
            away.set_cookie(self.cookie, token, httponly=True, samesite="lax", secure=self.binding.secure, path="/")
        return away


def make_pages(title: str, assets: Mapping[str, tuple[str, str, str]]) -> FastAPI:
    """An application that sends the page's files, by address: package, file and kind of each."""
    app = FastAPI(title=title, docs_url=None, redoc_url=None, openapi_url=None)
    answer_failures(app)

    def add(path: str, body: bytes, kind: str) -> None:
        async def send() -> Response:
            return Response(body, media_type=f"{kind}; charset=utf-8")

        app.get(path)(send)

    for path, (package, name, kind) in assets.items():
        add(path, files(f"fabula.{package}").joinpath(name).read_bytes(), kind)
    return app


def add_routes(app: FastAPI, method: str, routes: Mapping[str, Callable[..., object]]) -> None:
    """Annotations are words here (PEP 563) and FastAPI reads them from the module of a call, where Request is."""
    for path, call in routes.items():
        app.add_api_route(path, call, methods=[method], response_model=None)


async def read_json(request: Request) -> object:
    """What was sent; 400 where it is not JSON."""
    try:
        sent: object = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise HTTPException(400, "not JSON") from None
    return sent


def send_file(request: Request, path: Path) -> Response:
    """A file, or the part of it that a player requests."""
    try:
        size = path.stat().st_size
    except OSError:
        raise HTTPException(404, "the video is not there") from None
    part = find_part(request.headers.get("range"), size) if size else None
    if part is None:
        return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
    status, headers = describe(path, part)
    return StreamingResponse(read_part(path, part), status, headers)
