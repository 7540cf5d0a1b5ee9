"""Answers to statements of SQL, and rows of tables."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Field, Rows, Shown, cell, counted, extra

if TYPE_CHECKING:
    import pyarrow

#: Kinds of columns, by their type's word; all others are texts.
_KINDS = {"integer": "whole", "float": "number", "boolean": "truth"}
#: How a time of a zone ends: its distance from UTC.
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_NESTED = ("list", "struct", "map")


@dataclass(frozen=True)
class SqlColumn(Decoded):
    """A column of an answer."""

    _NAMES = {"data_type": "type"}

    name: str
    #: Its type in a word: ``integer``, ``float``, ``decimal``, ``boolean``, ``date``, ``timestamp``, ``text``, ...
    data_type: str


@dataclass(frozen=True)
class SqlRead(Decoded):
    """What a statement has read of the lakes."""

    #: Requests to their stores.
    requests: int
    #: Bytes of objects.
    bytes: int


@dataclass(frozen=True)
class ErrorDetail(Decoded):
    """Why an answer ended before its end."""

    code: str
    message: str
    remedy: str


@dataclass(frozen=True, repr=False)
class SqlAnswer(Rows[Tuple[Any, ...]], Decoded):
    """Rows: a value a column. Dates, times, decimals and bytes are texts; ``None`` where there is no value."""

    #: The columns, in order.
    columns: Tuple[SqlColumn, ...]
    rows: Tuple[Tuple[Any, ...], ...]
    #: Whether there are more rows, which a limit left out.
    truncated: bool
    #: What to know of the answer, a line each.
    notes: Tuple[str, ...]
    #: What was read of the lakes.
    read: Optional[SqlRead]
    #: Why the rows end before their end; an answer that does so is raised.
    error: Optional[ErrorDetail]

    def _items(self) -> Sequence[Tuple[Any, ...]]:
        return self.rows

    def _fields(self) -> Sequence[Field[Any]]:
        def field(place: int) -> Field[Any]:
            column = self.columns[place]
            kind = _KINDS.get(column.data_type, "text")
            if column.data_type in _NESTED:
                return Field(column.name, kind, lambda row: None if row[place] is None else json.dumps(row[place]))
            return Field(column.name, kind, lambda row: row[place])

        return tuple(map(field, range(len(self.columns))))

    def to_arrow(self) -> pyarrow.Table:
        """The answer as an Arrow table, with dates, times, decimals and bytes as such.

        ``client.sql_arrow(…)`` has the columns' own types, of few rows and of many.

        :raises ImportError: without pyarrow (``pip install limn-client[arrow]``).
        """
        pa = extra("pyarrow", "arrow")
        columns = [
            _arrow(pa, column.data_type, [row[place] for row in self.rows]) for place, column in enumerate(self.columns)
        ]
        table: pyarrow.Table = pa.Table.from_arrays(columns, names=[column.name for column in self.columns])
        return table

    def _shown(self) -> Sequence[Shown]:
        header = tuple(column.name for column in self.columns)
        lines = [[cell(value) for value in row] for row in self.rows]
        title = f"{counted(len(self), 'row')}{' of more' if self.truncated else ''}"
        right = [column.name for column in self.columns if column.data_type in ("integer", "float", "decimal")]
        return (Shown(title, header, lines, self.notes, right=right),)


def _arrow(pa: Any, word: str, values: List[Any]) -> Any:
    """A column of Arrow; ``word`` is its type."""
    if word == "integer":
        # Those that are too large for the one fit the other, or the node writes them in another way.
        is_large = any(value is not None and value > 2**63 - 1 for value in values)
        return pa.array(values, type=pa.uint64() if is_large else pa.int64())
    if word == "float":
        return pa.array([None if value is None else float(value) for value in values], type=pa.float64())
    if word == "boolean":
        return pa.array(values, type=pa.bool_())
    if word == "decimal":
        return pa.array([None if value is None else Decimal(value) for value in values])
    if word == "binary":
        return pa.array([None if value is None else bytes.fromhex(value) for value in values], type=pa.binary())
    if word in _NESTED or word == "null":
        return pa.array(values)
    texts = pa.array(values, type=pa.string())
    if word == "date":
        return texts.cast(pa.date32())
    if word == "timestamp":
        known = [value for value in values if value is not None]
        is_fine = any(len(_ZONE.sub("", value).partition(".")[2]) > 6 for value in known)
        has_zone = any(_ZONE.search(value) for value in known)
        return texts.cast(pa.timestamp("ns" if is_fine else "us", tz="UTC" if has_zone else None))
    return texts
