"""What a server says where its own machine fails: a full disk, a damaged file. One line in the log, no traceback."""

from __future__ import annotations

import errno
import logging
import sqlite3

from fastapi import FastAPI
from fastapi.responses import JSONResponse

from fabula.core.errors import FabulaError
from fabula.core.printable import one_line

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
AGAIN = {"Retry-After": "5"}  # pages send it again; room may have been made by then


def is_full(error: Exception) -> bool:
    if isinstance(error, OSError):
        return error.errno in FULL
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL


def answer_failures(app: FastAPI) -> None:
    """507 where the disk is full, 503 where something else is refused by the machine; nothing of it was written."""

    async def answer(request: object, error: Exception) -> JSONResponse:
        full = is_full(error)
        what = "the disk is full; make room" if full else f"a call could not be answered: {one_line(str(error))}"
        logging.getLogger("uvicorn.error").error("%s", what)
        message = "the server has no room left; it tries again" if full else "the server cannot do this now"
        return JSONResponse({"detail": message}, 507 if full else 503, AGAIN)

    for kind in (OSError, sqlite3.Error, FabulaError):
        app.add_exception_handler(kind, answer)
