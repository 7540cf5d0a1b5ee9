"""The columns and cells of tables that SQL for a question needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Field, Rows, Shown, cell, counted


@dataclass(frozen=True)
class TableColumn(Decoded):
    """A column that the question may need."""

    _NAMES = {"data_type": "type"}

    name: str
    #: Its type in a word: ``integer``, ``float``, ``date``, ``text``, ...
    data_type: str
    #: The least and the greatest value of numbers, dates and times, as texts.
    range: Optional[Tuple[str, ...]]
    #: The most frequent values of texts: all where there are few.
    frequent: Optional[Tuple[str, ...]]
    #: Whether ``frequent`` are all values.
    all: Optional[bool]
    #: How well it matches the question, 0 to 1.
    score: float


@dataclass(frozen=True)
class Cell(Decoded):
    """A cell that the question may mean."""

    column: str
    #: Its value, spelled as the table has it.
    value: str
    #: How it is found: ``exact``, ``normalised`` (but for case, accents and spaces), ``fuzzy`` or ``vector`` (in other words).
    match: str
    #: How many rows have it; ``None`` where that was not counted.
    count: Optional[int]


@dataclass(frozen=True)
class TableCells(Decoded):
    """What is given of a table."""

    #: Its name.
    table: str
    #: The URL of its lake.
    lake: str
    #: Its rows, if they are known.
    rows: Optional[int]
    #: Whether they were counted, and not estimated.
    rows_exact: bool
    #: The columns that the question may need, in the table's order.
    columns: Tuple[TableColumn, ...]
    #: The cells that the question may mean, the best first.
    cells: Tuple[Cell, ...]
    #: Tokens of its part of the text.
    tokens: int


@dataclass(frozen=True)
class JoinedColumn(Decoded):
    """A column of a join."""

    table: str
    #: The URL of its lake.
    lake: str
    column: str


@dataclass(frozen=True)
class CellsJoin(Decoded):
    """How two tables may join."""

    #: The column that refers.
    left: JoinedColumn
    #: The column that is referred to.
    right: JoinedColumn
    #: The other columns of a key of several, left and right; ``None`` where there are none.
    more: Optional[Tuple[Tuple[str, ...], ...]]
    #: Rows of the left side to rows of the right: ``1:1``, ``n:1``, ``n:m`` or ``unknown``.
    cardinality: str
    #: Why they are thought to join.
    evidence: str


@dataclass(frozen=True)
class Tokens(Decoded):
    """How much there is to read."""

    #: Tokens of the text.
    text: int
    #: The model whose tokens are counted.
    model: str


@dataclass(frozen=True, repr=False)
class CellsAnswer(Rows[TableCells], Decoded):
    """The columns and cells that SQL for a question needs. ``text`` is all of it as a language model reads it."""

    #: The question.
    question: str
    #: The snapshot that was asked.
    snapshot: int
    #: The tables, in the order in which they were named or found.
    tables: Tuple[TableCells, ...]
    #: How these tables may join.
    joins: Tuple[CellsJoin, ...]
    #: All of it as a program reads it: names and values spelled as SQL has them.
    text: str
    tokens: Tokens
    #: What to know of the answer, a line each.
    notes: Tuple[str, ...]

    def _items(self) -> Sequence[TableCells]:
        return self.tables

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("table", "text", lambda it: it.table),
            Field("lake", "text", lambda it: it.lake),
            Field("rows", "whole", lambda it: it.rows),
            Field("columns", "texts", lambda it: [column.name for column in it.columns]),
            Field("cells", "texts", lambda it: [found.value for found in it.cells]),
            Field("tokens", "whole", lambda it: it.tokens),
        )

    def _shown(self) -> Sequence[Shown]:
        lines: List[List[str]] = []
        for table in self.tables:
            for column in table.columns:
                found = ", ".join(it.value for it in table.cells if it.column == column.name)
                holds = " to ".join(column.range) if column.range else ", ".join(column.frequent or ())
                lines.append([table.table, column.name, column.data_type, cell(found), cell(holds)])
        title = f"{self.question}: {counted(len(self), 'table')}, {counted(self.tokens.text, 'token')}"
        return (Shown(title, ("table", "column", "type", "matches", "holds"), lines, self.notes),)
