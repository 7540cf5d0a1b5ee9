"""Text of a lake is data: it is shown, and never does anything, in a terminal or in a notebook."""

from __future__ import annotations

import html
import re
from typing import Iterable


def printable(text: str) -> str:
    """The text with whatever moves a terminal's cursor or turns its letters round written out (``\\x1b``)."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def shortened(text: str, most: int) -> str:
    """The text cut to so many characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


class Markup(str):
    """HTML that was made here; every other string is text, and escaped."""

    __slots__ = ()


def escaped(text: str) -> Markup:
    """Text as HTML. Its direction ends with it: letters that run to the left turn no neighbours round."""
    return text if isinstance(text, Markup) else Markup(f"<bdi>{html.escape(text, quote=True)}</bdi>")


def marked(text: str, words: Iterable[str]) -> Markup:
    """Text as HTML with these words in bold."""
    # The longest first: of "rate" and "rates", the text has the longer where both fit.
    known = sorted({word for word in words if word}, key=len, reverse=True)
    if not known:
        return escaped(text)
    parts = re.split(r"(?<!\w)(" + "|".join(map(re.escape, known)) + r")(?!\w)", text)
    bold = (f"<b>{html.escape(part)}</b>" if place % 2 else html.escape(part) for place, part in enumerate(parts))
    return Markup(f"<bdi>{''.join(bold)}</bdi>")
