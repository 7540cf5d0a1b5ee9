"""What became of a lake: snapshots, the history of a table, the difference of two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Displayed, Field, Rows, Shown, Tabular, cell, counted
from .linked import TableRef
from .tables import minute


@dataclass(frozen=True)
class SnapshotInfo(Decoded):
    """A snapshot."""

    #: Its number.
    snapshot: int
    #: When it was published.
    published: Optional[datetime]


@dataclass(frozen=True, repr=False)
class Snapshots(Rows[SnapshotInfo], Decoded):
    """The snapshots that there are, newest first, at most 100."""

    snapshots: Tuple[SnapshotInfo, ...]

    def _items(self) -> Sequence[SnapshotInfo]:
        return self.snapshots

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("snapshot", "whole", lambda it: it.snapshot),
            Field("published", "time", lambda it: it.published),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [(str(it.snapshot), minute(it.published)) for it in self.snapshots]
        title = counted(len(self), "snapshot")
        return (Shown(title, ("snapshot", "published"), lines, right=("snapshot",)),)


@dataclass(frozen=True)
class Moment(Decoded):
    """A snapshot that changed a table."""

    snapshot: int
    #: When it was published.
    published: Optional[datetime]
    #: ``appeared``, ``renamed``, ``changed``, ``described_anew`` or ``vanished``.
    change: str
    #: What differs, where it changed or was renamed, in words.
    detail: Tuple[str, ...]


@dataclass(frozen=True, repr=False)
class History(Rows[Moment], Decoded):
    """What became of a table, newest first."""

    #: The table's name.
    table: str
    lake: str
    #: The snapshots that changed it.
    history: Tuple[Moment, ...]
    #: The oldest snapshot that was looked at.
    back_to: int
    #: Whether that is the index's first.
    is_whole: bool

    def _items(self) -> Sequence[Moment]:
        return self.history

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("snapshot", "whole", lambda it: it.snapshot),
            Field("published", "time", lambda it: it.published),
            Field("change", "text", lambda it: it.change),
            Field("detail", "texts", lambda it: list(it.detail)),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (str(it.snapshot), minute(it.published), it.change.replace("_", " "), "; ".join(it.detail))
            for it in self.history
        ]
        back = "the index's first snapshot" if self.is_whole else f"snapshot {self.back_to}"
        title = f"{self.table}: {counted(len(self), 'change')} back to {back}"
        return (Shown(title, ("snapshot", "published", "change", "detail"), lines, right=("snapshot",)),)


@dataclass(frozen=True)
class ColumnChange(Decoded):
    """A column that differs."""

    #: Its name; the new one, where it was renamed.
    column: str
    #: ``added``, ``dropped``, ``renamed`` or ``retyped``.
    change: str
    #: Name or type before.
    before: Optional[str]
    #: Name or type after.
    after: Optional[str]


@dataclass(frozen=True)
class TableDiff(TableRef):
    """A table that differs."""

    #: Its path in its lake.
    name: str
    lake: str
    #: What became of its columns.
    columns: Tuple[ColumnChange, ...]
    #: Rows before, if they are known.
    rows_before: Optional[int]
    #: Rows after, if they are known.
    rows_after: Optional[int]
    #: Texts about it that are new.
    contexts_added: int
    #: Texts about it that were removed.
    contexts_removed: int
    #: Why it cannot be read since; empty where it can be again.
    unreadable: Optional[str]
    #: The names of removed tables whose files it has.
    replaces: Tuple[str, ...]


@dataclass(frozen=True)
class TableRename(Decoded):
    """A table that has another name."""

    _NAMES = {"old_name": "from", "new_name": "to"}

    #: The name before.
    old_name: str
    #: The name now.
    new_name: str
    lake: str


@dataclass(frozen=True)
class _Change:
    change: str
    table: str
    before: Optional[str]
    lake: str
    rows_before: Optional[int]
    rows_after: Optional[int]
    columns: Tuple[str, ...]


@dataclass(frozen=True)
class Counts(Decoded):
    """How many tables differ, by what became of them."""

    #: New ones.
    appeared: int
    #: Those with another name.
    renamed: int
    #: Those that are other than they were.
    changed: int
    #: Those that were removed.
    vanished: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.appeared + self.renamed + self.changed + self.vanished


@dataclass(frozen=True, repr=False)
class Diff(Displayed, Tabular[_Change], Decoded):
    """What differs between two snapshots."""

    _NAMES = {"older": "from", "newer": "to"}

    #: The older snapshot.
    older: int
    #: The newer snapshot.
    newer: int
    #: How many there are of each kind; the lists hold the first of them.
    counts: Counts
    #: Tables that are new.
    appeared: Tuple[TableDiff, ...]
    #: Tables of which only the name changed.
    renamed: Tuple[TableRename, ...]
    #: Tables that are other than they were.
    changed: Tuple[TableDiff, ...]
    #: Tables that were removed.
    vanished: Tuple[TableDiff, ...]

    def _items(self) -> Sequence[_Change]:
        of_kinds = (("appeared", self.appeared), ("changed", self.changed), ("vanished", self.vanished))
        changes = [
            _Change(
                kind,
                it.name,
                None,
                it.lake,
                it.rows_before,
                it.rows_after,
                tuple(f"{column.column} {column.change}" for column in it.columns),
            )  # fmt: skip
            for kind, tables in of_kinds
            for it in tables
        ]
        changes.extend(_Change("renamed", it.new_name, it.old_name, it.lake, None, None, ()) for it in self.renamed)
        return changes

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("change", "text", lambda it: it.change),
            Field("table", "text", lambda it: it.table),
            Field("name_before", "text", lambda it: it.before),
            Field("rows_before", "whole", lambda it: it.rows_before),
            Field("rows_after", "whole", lambda it: it.rows_after),
            Field("columns", "texts", lambda it: list(it.columns)),
            Field("lake", "text", lambda it: it.lake),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (
                it.change,
                it.table,
                cell(it.rows_before),
                cell(it.rows_after),
                f"was {it.before}" if it.before else ", ".join(it.columns),
            )
            for it in self._items()
        ]
        verb = "differs" if self.counts.total == 1 else "differ"
        title = f"snapshot {self.older} to {self.newer}: {counted(self.counts.total, 'table')} {verb}"
        if len(lines) < self.counts.total:
            title += f", {len(lines)} of them are listed"
        header = ("change", "table", "rows before", "after", "columns")
        return (Shown(title, header, lines, right=("rows before", "after")),)
