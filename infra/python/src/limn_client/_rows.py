"""Answers that are lists: sequences that show themselves as a table in a terminal and in a notebook, and become a
table of pandas or Arrow.
"""

from __future__ import annotations

import importlib
import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Generic, Sequence, Tuple, TypeVar, Union, overload

from ._text import Markup, escaped, printable, shortened

if TYPE_CHECKING:
    import pandas
    import pyarrow

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

#: Lines that are shown at most: in a terminal, in a notebook.
_IN_TEXT, _IN_HTML = 20, 100
#: The width of a text in a terminal.
_WIDTH = 40
#: The width of a line in a terminal.
_LINE = 100

#: Kinds of columns: how pandas calls the type, how Arrow does.
_TYPES: Dict[str, Tuple[str, Callable[[Any], Any]]] = {
    "text": ("string", lambda arrow: arrow.string()),
    "whole": ("Int64", lambda arrow: arrow.int64()),
    "number": ("float64", lambda arrow: arrow.float64()),
    "truth": ("boolean", lambda arrow: arrow.bool_()),
    "time": ("datetime64[us, UTC]", lambda arrow: arrow.timestamp("us", tz="UTC")),
    "texts": ("object", lambda arrow: arrow.list_(arrow.string())),
}


@dataclass(frozen=True)
class Field(Generic[T]):
    """A column of an answer as a table: a name, a kind of ``_TYPES``, and its value in an item."""

    name: str
    kind: str
    value: Callable[[T], Any]


@dataclass(frozen=True)
class Shown:
    """What is shown of an answer: a title, a table, and lines below it. Columns named in ``wide`` are for notebooks."""

    title: str
    header: Sequence[str]
    lines: Sequence[Sequence[str]]
    notes: Sequence[str] = ()
    right: Sequence[str] = ()
    wide: Sequence[str] = ()


class Displayed:
    """Something that shows itself."""

    def _shown(self) -> Sequence[Shown]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return "\n\n".join(map(_as_text, self._shown()))

    def _repr_html_(self) -> str:
        return "".join(map(_as_html, self._shown()))


class Tabular(Generic[T_co]):
    """Something that becomes a table of pandas or Arrow."""

    def _items(self) -> Sequence[T_co]:
        raise NotImplementedError

    def _fields(self) -> Sequence[Field[Any]]:
        raise NotImplementedError

    def to_pandas(self) -> pandas.DataFrame:
        """The answer as a data frame; its columns have the same types however few lines there are.

        :raises ImportError: without pandas (``pip install limn-client[pandas]``).
        """
        pd = extra("pandas")
        columns = [
            pd.Series([it.value(item) for item in self._items()], dtype=_TYPES[it.kind][0]) for it in self._fields()
        ]
        # Not by a dictionary: a lake's table may have two columns of a name.
        frame: pandas.DataFrame = pd.DataFrame(dict(enumerate(columns)), index=range(len(self._items())))
        frame.columns = pd.Index([it.name for it in self._fields()], dtype=object)
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """The answer as an Arrow table; its columns have the same types however few lines there are.

        :raises ImportError: without pyarrow (``pip install limn-client[arrow]``).
        """
        pa = extra("pyarrow", "arrow")
        columns = [
            pa.array([it.value(item) for item in self._items()], type=_TYPES[it.kind][1](pa)) for it in self._fields()
        ]
        table: pyarrow.Table = pa.Table.from_arrays(columns, names=[it.name for it in self._fields()])
        return table


class Rows(Displayed, Tabular[T_co], Sequence[T_co]):
    """An answer that is a list."""

    def __len__(self) -> int:
        return len(self._items())

    @overload
    def __getitem__(self, place: int) -> T_co: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[T_co]: ...

    def __getitem__(self, place: Union[int, slice]) -> Union[T_co, Sequence[T_co]]:
        return self._items()[place]


def extra(module: str, extra: str = "") -> Any:
    """A module that need not be installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        extra = extra or module
        raise ImportError(
            f"{module} is not installed here; install it with: pip install 'limn-client[{extra}]'", name=module
        ) from error


def cell(value: Any) -> str:
    """A value as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return value if isinstance(value, str) else str(value)


def counted(number: int, one: str) -> str:
    """``1 table``, ``2 tables``."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def _as_text(shown: Shown) -> str:
    kept = [place for place, name in enumerate(shown.header) if name not in shown.wide]
    lines = [shown.header, *shown.lines[:_IN_TEXT]] if shown.lines else []
    table = [[shortened(printable(line[place]), _WIDTH) for place in kept] for line in lines]
    widths = [max(_columns(line[at]) for line in table) for at in range(len(kept))] if table else []
    # A table may have a thousand columns.
    fits = next((at for at in range(1, len(kept)) if sum(widths[: at + 1]) + 2 * at > _LINE), len(kept))
    text = [printable(shown.title)]
    for line in table:
        cells = []
        for at, place in enumerate(kept[:fits]):
            space = " " * (widths[at] - _columns(line[at]))
            cells.append(space + line[at] if shown.header[place] in shown.right else line[at] + space)
        text.append("  ".join(cells).rstrip())
    more = [counted(len(shown.lines) - _IN_TEXT, "more line")] if len(shown.lines) > _IN_TEXT else []
    if table and fits < len(kept):
        more.append(counted(len(kept) - fits, "more column"))
    if more:
        text.append(f"… and {', '.join(more)}")
    for note in shown.notes:
        for part in note.splitlines():
            text.extend(textwrap.wrap(printable(part), _LINE))
    return "\n".join(text)


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    return sum(0 if unicodedata.combining(it) else 2 if unicodedata.east_asian_width(it) in "WF" else 1 for it in text)


def _as_html(shown: Shown) -> str:
    def style(name: str) -> str:
        side = "right" if name in shown.right else "left"
        return f' style="text-align:{side};vertical-align:top"'

    html = [f"<div><p>{escaped(shown.title)}</p>"]
    if shown.lines:
        header = "".join(f"<th{style(name)}>{escaped(name)}</th>" for name in shown.header)
        html.append(f"<table><thead><tr>{header}</tr></thead><tbody>")
        for line in shown.lines[:_IN_HTML]:
            cells = zip(shown.header, line)
            html.append(
                "<tr>" + "".join(f"<td{style(name)}>{_short_html(text)}</td>" for name, text in cells) + "</tr>"
            )
        html.append("</tbody></table>")
    if len(shown.lines) > _IN_HTML:
        html.append(f"<p>… and {counted(len(shown.lines) - _IN_HTML, 'more line')}</p>")
    html.extend(f"<p>{escaped(note)}</p>" for note in shown.notes)
    html.append("</div>")
    return "".join(html)


def _short_html(text: str) -> Markup:
    return text if isinstance(text, Markup) else escaped(shortened(text, 300))
