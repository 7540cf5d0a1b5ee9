"""What goes wrong, by who can do something about it.

A node says of every error what failed, on what, why, and what to do next; so do the errors here that have
other causes. None of them holds the key.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Type

from ._text import printable


class LimnError(Exception):
    """A request that was not answered.

    :ivar message: what failed, on what, why.
    :ivar code: the kind of the trouble, as the node calls it (``not_found``), or one of this client's own:
        ``no_answer``, ``not_understood``, ``http_502``.
    :ivar remedy: what to do next.
    :ivar status: the status of the HTTP answer; ``None`` where none came.
    :ivar request_id: the request's id, by which the node's operator finds it in the log.
    :ivar retry_after: after how many seconds asking again makes sense, if the node says so.
    """

    def __init__(
        self,
        message: str,
        code: str = "internal",
        remedy: str = "",
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        # All of it, so that the error can be pickled and come out of another process.
        super().__init__(message, code, remedy, status, request_id, retry_after)
        self.message = message
        self.code = code
        self.remedy = remedy
        self.status = status
        self.request_id = request_id
        self.retry_after = retry_after

    def __str__(self) -> str:
        text = self.message
        if self.remedy:
            text += f"; {self.remedy}"
        about = [self.code]
        if self.request_id:
            about.append(f"request {self.request_id}")
        return printable(f"{text} ({', '.join(about)})")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class BadRequestError(LimnError):
    """The request makes no sense to the node: the message says what does not."""


class UnauthorizedError(LimnError):
    """No key was shown, or none that the node knows."""


class ForbiddenError(LimnError):
    """The key has not the right."""


class NotFoundError(LimnError):
    """There is no such thing among what the key may see."""


class TooManyRequestsError(LimnError):
    """The key has sent more requests than it may, and waiting was not allowed or not enough."""


class UnavailableError(LimnError):
    """The node is busy, or cannot read its index or use its model now."""


class NoAnswerError(LimnError):
    """Nothing answers at the address, or not in time, or not as TLS asks."""


class NotUnderstoodError(LimnError):
    """The answer is not one of a limn node, or of one that is too old or too new for this client."""


_BY_STATUS: Dict[int, Type[LimnError]] = {
    400: BadRequestError,
    401: UnauthorizedError,
    403: ForbiddenError,
    404: NotFoundError,
    429: TooManyRequestsError,
    503: UnavailableError,
}


_BY_CODE: Dict[str, Type[LimnError]] = {
    "bad_request": BadRequestError,
    "not_found": NotFoundError,
    "busy": UnavailableError,
    "timeout": UnavailableError,
    "unavailable": UnavailableError,
}


def error_of(status: int, body: Any, request_id: Optional[str], retry_after: Optional[float]) -> LimnError:
    """The error that an answer of another status than success reports."""
    kind = _BY_STATUS.get(status, LimnError)
    code, message, remedy, known_id = _detail(body)
    if code is None or message is None:
        return kind(
            f"the answer has status {status}, and is not one of a limn node",
            f"http_{status}",
            "look at what stands between here and the node: a proxy, or another server at this address",
            status,
            request_id,
            retry_after,
        )
    return kind(message, code, remedy, status, known_id or request_id, retry_after)


def late_error(body: Any, request_id: Optional[str]) -> Optional[LimnError]:
    """The error that ends an answer of success before its end, if one does."""
    if not isinstance(body, dict) or body.get("error") is None:
        return None
    code, message, remedy, _ = _detail(body)
    kind = _BY_CODE.get(code or "", LimnError)
    return kind(message or "the answer ends before its end", code or "internal", remedy, None, request_id)


def _detail(body: Any) -> Tuple[Optional[str], Optional[str], str, Optional[str]]:
    detail = body.get("error") if isinstance(body, dict) else None
    if not isinstance(detail, dict):
        return None, None, "", None

    def text(within: Dict[str, Any], name: str) -> Optional[str]:
        value = within.get(name)
        return value if isinstance(value, str) else None

    return text(detail, "code"), text(detail, "message"), text(detail, "remedy") or "", text(body, "request_id")
