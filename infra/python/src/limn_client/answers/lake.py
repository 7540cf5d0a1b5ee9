"""What a lake holds: the list of its tables, and its folders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

from .._decode import Told
from .._rows import Displayed, Field, Rows, Shown, cell, counted
from .linked import Linked
from .tables import LINE_FIELDS, TableLine, day, row_count


def listed(tables: Sequence[TableLine], title: str, notes: Sequence[str] = ()) -> Shown:
    lines = [(it.name, it.format, row_count(it), cell(it.column_count), day(it.modified)) for it in tables]
    header = ("table", "format", "rows", "columns", "changed")
    return Shown(title, header, lines, notes, right=("rows", "columns"))


@dataclass(frozen=True, repr=False)
class Listing(Rows[TableLine], Told):
    """Tables in the order of their lakes and names: a part of a list."""

    _NAMES = {"total": "count"}

    tables: Tuple[TableLine, ...]
    #: Where the next part begins, for ``client.tables(after=…)``; ``None`` at the end.
    next: Optional[str]
    #: How many tables there are in all.
    total: int

    def _items(self) -> Sequence[TableLine]:
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

    def tree(self) -> Tree:
        """What lies in it."""
        return self._asked.tree(self.path)


@dataclass(frozen=True, repr=False)
class Tree(Displayed, Told):
    """What lies in a folder."""

    #: The folder's path.
    prefix: str
    #: Tables below it, at whatever depth.
    count: int
    #: The folders in it.
    folders: Tuple[Folder, ...]
    #: The tables in it.
    tables: Tuple[TableLine, ...]
    #: Where the next answer begins, for ``after``, if there is more than is told at once; ``None`` at the end.
    next: Optional[str]

    def _shown(self) -> Sequence[Shown]:
        title = f"{self.prefix or 'all lakes'}: {counted(self.count, 'table')}"
        if self.next is not None:
            title += "; not all of them are told at once"
        folders = [(f"{it.name}/", cell(it.tables)) for it in self.folders]
        shown = [Shown(title, ("folder", "tables"), folders, right=("tables",))]
        if self.tables:
            shown.append(listed(self.tables, f"{counted(len(self.tables), 'table')} in it"))
        return shown
