"""What a lake holds: the list of its tables, and its folders."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Displayed, Field, Rows, Shown, cell, counted
from .linked import Linked
from .tables import LINE_FIELDS, TableLine, day, row_count


def listed(tables: Sequence[TableLine], title: str, notes: Sequence[str] = ()) -> Shown:
    lines = [(it.name, it.format, row_count(it), cell(it.column_count), day(it.modified)) for it in tables]
    header = ("table", "format", "rows", "columns", "changed")
    return Shown(title, header, lines, notes, right=("rows", "columns"))


@dataclass(frozen=True)
class ValueCount(Decoded):
    """How many tables have a value."""

    value: str
    count: int


@dataclass(frozen=True)
class SinceCount(Decoded):
    """How many tables changed in the last days."""

    days: int
    count: int


@dataclass(frozen=True)
class RowsCount(Decoded):
    """How many tables have about so many rows."""

    min: int
    max: Optional[int]
    count: int


@dataclass(frozen=True)
class Facets(Decoded):
    """How many tables there are of each kind. Each list counts the tables that fit all filters but the list's own."""

    formats: Tuple[ValueCount, ...]
    folders: Tuple[ValueCount, ...]
    modified: Tuple[SinceCount, ...]
    rows: Tuple[RowsCount, ...]


@dataclass(frozen=True)
class FamilyLine(Decoded):
    """A family in a list: tables of one folder with the same columns."""

    #: What a list of its tables is asked for by.
    id: str
    #: What their names have in common, with a star for the rest.
    name: str
    #: How many of its tables fit the filters.
    count: int
    #: Their rows together, if all are known.
    rows: Optional[int]
    #: Whether all were counted.
    rows_exact: bool
    #: When the newest of their files was written.
    modified: Optional[datetime]


@dataclass(frozen=True, repr=False)
class ListedTable(TableLine):
    """A table in a list."""

    #: The names of its first columns, at most six.
    columns: Optional[Tuple[str, ...]]
    #: Its family, if it is the line of one.
    family: Optional[FamilyLine]


@dataclass(frozen=True, repr=False)
class Listing(Rows[ListedTable], Decoded):
    """Tables in an order: a part of a list."""

    _NAMES = {"total": "count"}

    tables: Tuple[ListedTable, ...]
    #: Where the next part begins, for ``client.tables(after=…)``; ``None`` at the end.
    next: Optional[str]
    #: How many tables there are in all.
    total: int
    #: How many there are of each kind, where it was asked for.
    facets: Optional[Facets]

    def _items(self) -> Sequence[ListedTable]:
        return self.tables

    def _fields(self) -> Sequence[Field[Any]]:
        return LINE_FIELDS

    def _shown(self) -> Sequence[Shown]:
        return (listed(self.tables, f"{len(self):,} of {counted(self.total, 'table')}"),)


@dataclass(frozen=True)
class Folder(Linked):
    """A folder of a lake."""

    name: str
    #: Its path.
    path: str
    #: Tables below it, at whatever depth.
    tables: int
    #: What its README says first, if it has one.
    description: Optional[str]
    #: The names of the first tables below it.
    first: Optional[Tuple[str, ...]]
    #: When the newest file below it was written.
    modified: Optional[datetime]

    def tree(self) -> Tree:
        """What lies in it."""
        return self._asked.tree(self.path)


@dataclass(frozen=True, repr=False)
class Tree(Displayed, Decoded):
    """What lies in a folder."""

    #: The folder's path.
    prefix: str
    #: Tables below it, at whatever depth.
    count: int
    #: The folders in it.
    folders: Tuple[Folder, ...]
    #: The tables in it.
    tables: Tuple[TableLine, ...]
    #: Where the next answer begins, for ``after``, if there is more than is given at once; ``None`` at the end.
    next: Optional[str]

    def _shown(self) -> Sequence[Shown]:
        title = f"{self.prefix or 'all lakes'}: {counted(self.count, 'table')}"
        if self.next is not None:
            title += "; not all of them are listed at once"
        folders = [(f"{it.name}/", cell(it.tables)) for it in self.folders]
        shown = [Shown(title, ("folder", "tables"), folders, right=("tables",))]
        if self.tables:
            shown.append(listed(self.tables, f"{counted(len(self.tables), 'table')} in it"))
        return shown
