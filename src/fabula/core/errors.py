"""The error tree. Every failure a user can cause is a FabulaError; the command line turns it into one line and exit 2.

FabulaError
├── InputError      a file, a video or a field is not what it should be: says file, place, what was seen, what to do
├── SpecError       a metric, protocol, task or option name that does not exist or does not fit
├── MatrixError     a matrix that cannot be matched: says where the bad entry is
├── MissingExtra    an optional dependency is absent: says the pip line
├── KernelError     the compiled kernels were demanded and are not there
├── CacheError      a cached index cannot be built, read or written
└── GateError       a number is below what was asked of it: the command line ends with exit code 3
"""

from __future__ import annotations

from fabula.core.printable import LONGEST, cut, fit, one_line, printable


class FabulaError(Exception):
    """Something a user can mend; the message says how, on one line of limited length, whatever stood in the file."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


class InputError(FabulaError):
    """`file: video 'x': field: seen …; what to do`."""

    def __init__(
        self,
        problem: str,
        *,
        file: object = None,
        video: object = None,
        field: str | None = None,
        hint: str | None = None,
        noun: str = "video",
    ) -> None:
        if (rename := getattr(file, "rename_place", None)) is not None:  # what was given in memory has no lines
            field = rename(field)
        file = getattr(file, "path", file)  # a document of a file is named by its path
        self.problem, self.file, self.video, self.field, self.hint = problem, file, video, field, hint
        whose = [f"{noun} {shown(video)}"] if video is not None else []
        named = [] if file is None else [str(file)]
        texts = [*named, *whose, *([field] if field else []), problem, *([hint] if hint else [])]
        parts = fit([printable(text) for text in texts], LONGEST - 2 * (len(texts) - 1), len(named))
        super().__init__(": ".join(parts[:-1]) + f"; {parts[-1]}" if hint else ": ".join(parts))


class SpecError(FabulaError):
    """A name that does not exist, or a value that does not fit it."""


class MatrixError(FabulaError):
    """A matrix with an entry that no matching can use."""


class MissingExtra(FabulaError):  # noqa: N818  (reads better than MissingExtraError)
    """An optional dependency is absent."""

    def __init__(self, what: str, extra: str) -> None:
        self.what, self.extra = what, extra
        from fabula.core.plugins import pip_line  # read the installed package's metadata only when something is absent

        super().__init__(f"{what} needs the extra [{extra}]; install it with: {pip_line(extra)}")

    def __reduce__(self) -> tuple[type[MissingExtra], tuple[str, str]]:
        return type(self), (self.what, self.extra)  # it may come from another process


class KernelError(FabulaError):
    """The compiled kernels were demanded and are not there."""


class CacheError(FabulaError):
    """A cached index cannot be built, read or written."""


class GateError(FabulaError):
    """A number is below what was asked of it, or a system worse than another."""


def shown(value: object, limit: int = 60) -> str:
    """The repr of what was seen, short enough for one line."""
    try:
        text = printable(repr(value[: limit * 4] if isinstance(value, str) else value))
    except (ValueError, RecursionError, MemoryError):  # an integer of more than 4,300 digits, or lists without end
        text = f"<{type(value).__name__}>"
    return cut(text, limit)
