"""What a node answers, as typed, frozen objects.

Lists are sequences (``for hit in answer``, ``answer[0]``, ``len(answer)``), show themselves as a table in a terminal
and in a notebook, and become one of pandas or Arrow. Whatever is a table has a ``name`` (its path in its lake) and
goes on to what else is known of it: ``hit.table()``, ``hit.similar()``, ``hit.history()``.

Times are in UTC. A newer node may tell more than these fields: it is in ``raw``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, Sequence, Tuple, TypeVar, cast

from ._decode import Told
from ._rows import Displayed, Field, Rows, Shown, Tabular, cell, counted
from ._text import marked, printable, shortened

if TYPE_CHECKING:
    from .client import Client

A = TypeVar("A", bound=Told)
#: Whether a table is what was wanted.
Verdict = Literal["right", "wrong"]


class _Linked(Told):
    """Something that knows the client it came by. It is pickled without it, as a client has a key."""

    def __getstate__(self) -> Dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_client"}

    @property
    def _asked(self) -> Client:
        client = self.__dict__.get("_client")
        if client is None:
            raise RuntimeError(
                "this was copied from another process, and knows no client any more; give its name to one: "
                "client.table(it.name, lake=it.lake)"
            )
        return cast("Client", client)


class _TableRef(_Linked):
    _NAMES = {"name": "table"}

    name: str
    lake: str

    def table(self) -> TableDetail:
        """What is known of the table: columns with their profiles, sampled rows, texts, files."""
        return self._asked.table(self.name, lake=self.lake)

    def similar(self, *, k: Optional[int] = None) -> SimilarAnswer:
        """Tables that are like it; ``k`` of them (5)."""
        return self._asked.similar(self.name, lake=self.lake, k=k)

    def history(self, *, limit: Optional[int] = None) -> History:
        """What became of it in the last ``limit`` (20) snapshots."""
        return self._asked.history(self.name, lake=self.lake, limit=limit)


def link(told: A, client: Client, **more: Any) -> A:
    """Lets what was told, and what is in it, know the client it came by."""
    if isinstance(told, _Linked):
        object.__setattr__(told, "_client", client)
        for name, value in more.items():
            object.__setattr__(told, name, value)
    for value in told.__dict__.values():
        for item in value if isinstance(value, tuple) else ():
            if isinstance(item, Told):
                link(item, client, **more)
    return told


# Tables


@dataclass(frozen=True, repr=False)
class TableLine(Displayed, _TableRef):
    """A table in a list."""

    #: Its path in its lake.
    name: str
    #: The lake's URL.
    lake: str
    #: The URL of its file or folder.
    location: str
    #: The format of its files.
    format: str
    #: Its rows, if they are known.
    rows: Optional[int]
    #: Whether they were counted, and not estimated.
    rows_exact: bool
    #: The number of its columns.
    column_count: int
    #: When its newest file was written.
    modified: Optional[datetime]
    #: Why its newest version could not be read: then this is the last that could.
    error: Optional[str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({printable(', '.join([repr(self.name), *self._about()]))})"

    def _about(self) -> List[str]:
        rows = "rows not counted" if self.rows is None else f"{_rows(self)} row{'' if self.rows == 1 else 's'}"
        return [rows, counted(self.column_count, "column"), self.format]

    def _shown(self) -> Sequence[Shown]:
        about = self._about()
        if self.modified is not None:
            about.append(f"changed {_minute(self.modified)}")
        notes = [self.location]
        if self.error:
            notes.append(f"its newest version cannot be read: {self.error}")
        return (Shown(f"{self.name}: {', '.join(about)}", (), (), notes),)


_LINE_FIELDS: Tuple[Field[Any], ...] = (
    Field("table", "text", lambda it: it.name),
    Field("format", "text", lambda it: it.format),
    Field("rows", "whole", lambda it: it.rows),
    Field("rows_exact", "truth", lambda it: it.rows_exact),
    Field("column_count", "whole", lambda it: it.column_count),
    Field("modified", "time", lambda it: it.modified),
    Field("lake", "text", lambda it: it.lake),
    Field("location", "text", lambda it: it.location),
    Field("error", "text", lambda it: it.error),
)


def _rows(table: TableLine) -> str:
    return "" if table.rows is None else ("" if table.rows_exact else "~") + cell(table.rows)


def _day(time: Optional[datetime]) -> str:
    return "" if time is None else f"{time:%Y-%m-%d}"


def _minute(time: Optional[datetime]) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


@dataclass(frozen=True)
class ColumnLine(Told):
    """A column in a search result."""

    name: str
    #: Its type, such as ``integer``.
    data_type: str
    #: What a language model says of it.
    narration: Optional[str]


@dataclass(frozen=True)
class Frequent(Told):
    """A frequent value."""

    value: str
    #: How often it occurs in the rows that were looked at.
    count: int


@dataclass(frozen=True)
class ColumnDetail(ColumnLine):
    """A column with its profile."""

    #: The share of empty cells, 0 to 1.
    null_share: float
    #: Distinct values.
    distinct: int
    #: Whether they were counted.
    distinct_exact: bool
    #: The least value.
    min: Optional[str]
    #: The greatest value.
    max: Optional[str]
    #: The most frequent values.
    frequent: Tuple[Frequent, ...]
    #: Whether all rows were looked at.
    profile_exact: bool


@dataclass(frozen=True)
class ContextText(Told):
    """A text about a table."""

    #: Where it is from: a path in the lake, or ``registered``.
    source: str
    text: str


@dataclass(frozen=True)
class FileDetail(Told):
    """A file of a table."""

    #: Its path in the lake.
    path: str
    #: Its length in bytes.
    size: int
    #: When it was written.
    modified: Optional[datetime]
    #: Its rows, if they are known.
    rows: Optional[int]
    #: Why it could not be read.
    error: Optional[str]


@dataclass(frozen=True, repr=False)
class Profile(Rows[ColumnDetail]):
    """A table's columns, a line each."""

    #: The table's name.
    table: str
    columns: Tuple[ColumnDetail, ...]

    def _items(self) -> Sequence[ColumnDetail]:
        return self.columns

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("column", "text", lambda it: it.name),
            Field("data_type", "text", lambda it: it.data_type),
            Field("null_share", "number", lambda it: it.null_share),
            Field("distinct", "whole", lambda it: it.distinct),
            Field("distinct_exact", "truth", lambda it: it.distinct_exact),
            Field("min", "text", lambda it: it.min),
            Field("max", "text", lambda it: it.max),
            Field("frequent", "texts", lambda it: [value.value for value in it.frequent]),
            Field("profile_exact", "truth", lambda it: it.profile_exact),
            Field("narration", "text", lambda it: it.narration),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (
                it.name,
                it.data_type,
                f"{it.null_share:.0%}",
                ("" if it.distinct_exact else "~") + cell(it.distinct),
                shortened(cell(it.min), 20),
                shortened(cell(it.max), 20),
                ", ".join(shortened(value.value, 20) for value in it.frequent[:3]),
                cell(it.narration),
            )
            for it in self.columns
        ]
        header = ("column", "type", "empty", "distinct", "least", "greatest", "frequent", "what it is")
        title = f"{self.table}: {counted(len(self), 'column')}"
        return (Shown(title, header, lines, right=("empty", "distinct"), wide=("frequent", "what it is")),)


@dataclass(frozen=True, repr=False)
class Preview(Rows[Tuple[Optional[str], ...]]):
    """Sampled rows of a table: a text a cell, ``None`` where it is empty."""

    #: The table's name.
    table: str
    #: Names of the columns.
    columns: Tuple[str, ...]
    rows: Tuple[Tuple[Optional[str], ...], ...]

    def _items(self) -> Sequence[Tuple[Optional[str], ...]]:
        return self.rows

    def _fields(self) -> Sequence[Field[Any]]:
        def value(place: int) -> Field[Any]:
            return Field(self.columns[place], "text", lambda row: row[place] if place < len(row) else None)

        return tuple(map(value, range(len(self.columns))))

    def _shown(self) -> Sequence[Shown]:
        lines = [[cell(value) for value in row] for row in self.rows]
        title = f"{self.table}: {counted(len(self), 'sampled row')}"
        return (Shown(title, self.columns, lines),)


@dataclass(frozen=True, repr=False)
class TableDetail(TableLine):
    """What is known of a table."""

    #: The snapshot that this is from.
    snapshot: int
    #: Its columns, in order.
    columns: Tuple[ColumnDetail, ...]
    #: Sampled rows: a cell a column, ``None`` where it is empty.
    sample: Tuple[Tuple[Optional[str], ...], ...]
    #: Texts about it.
    contexts: Tuple[ContextText, ...]
    #: Its files, at most 100.
    files: Tuple[FileDetail, ...]
    #: How many files it has.
    file_count: int
    #: When it was described.
    indexed: Optional[datetime]
    #: Whether a language model has yet to describe columns.
    awaits_narration: bool
    #: Whether values of rows are told; without them, sample, ranges and frequent values are empty.
    previews: bool

    @property
    def profile(self) -> Profile:
        """The columns as a table: ``detail.profile.to_pandas()``."""
        return Profile(self.name, self.columns)

    @property
    def preview(self) -> Preview:
        """The sampled rows as a table: ``detail.preview.to_pandas()``."""
        return Preview(self.name, tuple(column.name for column in self.columns), self.sample)

    def _shown(self) -> Sequence[Shown]:
        (about,) = super()._shown()
        texts = [f"{text.source}: {shortened(text.text, 500)}" for text in self.contexts]
        shown = [replace(about, notes=[*about.notes, *texts])]
        if self.columns:
            shown.extend(self.profile._shown())
        if self.sample:
            shown.extend(self.preview._shown())
        return shown

    # The whole, not the line.
    __repr__ = Displayed.__repr__


# From a question to tables


@dataclass(frozen=True)
class Block(Told):
    """A text that made a table match."""

    #: What it is made of: ``schema``, ``rows``, ``context`` or ``cells``.
    kind: str
    text: str
    #: The question's words as they stand in it.
    words: Tuple[str, ...]
    #: How well it matches, for the order of the texts.
    score: float


@dataclass(frozen=True)
class Modes(Told):
    """The ways in which a question was answered."""

    #: By its words.
    lexical: bool
    #: By its meaning.
    semantic: bool
    #: By a language model's verdicts.
    judge: bool


@dataclass(frozen=True, repr=False)
class Hit(TableLine):
    """A table that was found."""

    #: Its first columns.
    columns: Tuple[ColumnLine, ...]
    #: ``α·lexical + (1−α)·semantic``. It compares tables of one answer, and says nothing across questions.
    score: float
    #: The words' side: 0 to 1 among this question's candidates.
    lexical: float
    #: The meaning's side, likewise.
    semantic: float
    #: The judge's word; ``None`` where there was none.
    judged: Optional[bool]
    #: The texts that made it match, best first.
    blocks: Tuple[Block, ...]

    def _about(self) -> List[str]:
        return [f"score {cell(self.score)}", *super()._about()]

    def _shown(self) -> Sequence[Shown]:
        lines = [(it.kind, marked(shortened(it.text, 300), it.words)) for it in self.blocks]
        (about,) = super()._shown()
        return (replace(about, header=("because of its", "text"), lines=lines),)

    def feedback(self, verdict: Verdict, *, comment: Optional[str] = None) -> None:
        """Says whether this table is what the question wanted: ``"right"`` or ``"wrong"``."""
        question, snapshot = self.__dict__["_question"], self.__dict__["_snapshot"]
        self._asked.feedback(question, self.name, verdict, lake=self.lake, snapshot=snapshot, comment=comment)


@dataclass(frozen=True, repr=False)
class SearchAnswer(Rows[Hit], _Linked):
    """The tables found, best first."""

    #: The question as asked.
    question: str
    #: The snapshot that was searched.
    snapshot: int
    #: The tables, best first.
    results: Tuple[Hit, ...]
    #: What took part.
    modes: Modes
    #: The number of tables among which was searched.
    tables_searched: int
    #: What there is to know besides: words that occur nowhere, why nothing was found.
    notes: Tuple[str, ...]
    #: How long the node took, in milliseconds.
    took_ms: float

    def _items(self) -> Sequence[Hit]:
        return self.results

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            _LINE_FIELDS[0],
            Field("score", "number", lambda it: it.score),
            Field("lexical", "number", lambda it: it.lexical),
            Field("semantic", "number", lambda it: it.semantic),
            Field("judged", "truth", lambda it: it.judged),
            *_LINE_FIELDS[1:],
            Field("columns", "texts", lambda it: [column.name for column in it.columns]),
            Field("because", "text", lambda it: it.blocks[0].text if it.blocks else None),
        )

    def _shown(self) -> Sequence[Shown]:
        header: Tuple[str, ...] = ("", "table", "score", "judged", "rows", "columns", "changed", "because")
        lines: List[Tuple[str, ...]] = []
        for place, hit in enumerate(self.results, 1):
            because = marked(shortened(hit.blocks[0].text, 300), hit.blocks[0].words) if hit.blocks else ""
            judged = {None: "", True: "relevant", False: "not relevant"}[hit.judged]
            about = (_rows(hit), cell(hit.column_count), _day(hit.modified), because)
            lines.append((cell(place), hit.name, cell(hit.score), judged, *about))
        if not self.modes.judge:
            header, lines = (*header[:3], *header[4:]), [(*line[:3], *line[4:]) for line in lines]
        found = f"{len(self):,} of {counted(self.tables_searched, 'table')}, {self.took_ms:.0f} ms"
        right = ("", "score", "rows", "columns")
        return (Shown(f"{self.question}: {found}", header, lines, self.notes, right, ("because",)),)


@dataclass(frozen=True)
class Suggestion(_Linked):
    """A name."""

    text: str
    #: What is called so: ``table`` or ``column``.
    kind: str
    #: The table's name, where it is one.
    table: Optional[str]
    #: Its lake.
    lake: Optional[str]
    #: How many tables have the column; 1 for a table.
    tables: int


@dataclass(frozen=True, repr=False)
class Suggestions(Rows[Suggestion], Told):
    """Names that go on as a text does: tables first, then columns."""

    suggestions: Tuple[Suggestion, ...]

    def _items(self) -> Sequence[Suggestion]:
        return self.suggestions

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("text", "text", lambda it: it.text),
            Field("kind", "text", lambda it: it.kind),
            Field("table", "text", lambda it: it.table),
            Field("lake", "text", lambda it: it.lake),
            Field("tables", "whole", lambda it: it.tables),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [(it.text, it.kind, cell(it.tables)) for it in self.suggestions]
        title = counted(len(self), "suggestion")
        return (Shown(title, ("name", "of a", "tables"), lines, right=("tables",)),)


@dataclass(frozen=True, repr=False)
class SimilarTable(TableLine):
    """A table that is like another."""

    #: How alike they are in meaning: a cosine, at most 1.
    similarity: float

    def _about(self) -> List[str]:
        return [f"similarity {cell(self.similarity)}", *super()._about()]


@dataclass(frozen=True, repr=False)
class SimilarAnswer(Rows[SimilarTable], Told):
    """Tables that are like one, the most alike first."""

    #: The one's name.
    table: str
    lake: str
    results: Tuple[SimilarTable, ...]

    def _items(self) -> Sequence[SimilarTable]:
        return self.results

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            _LINE_FIELDS[0],
            Field("similarity", "number", lambda it: it.similarity),
            *_LINE_FIELDS[1:],
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (it.name, cell(it.similarity), _rows(it), cell(it.column_count), _day(it.modified)) for it in self.results
        ]
        title = f"{counted(len(self), 'table')} like {self.table}"
        header = ("table", "similarity", "rows", "columns", "changed")
        return (Shown(title, header, lines, right=("similarity", "rows", "columns")),)


# What a lake holds


def _listed(tables: Sequence[TableLine], title: str, notes: Sequence[str] = ()) -> Shown:
    lines = [(it.name, it.format, _rows(it), cell(it.column_count), _day(it.modified)) for it in tables]
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
        return _LINE_FIELDS

    def _shown(self) -> Sequence[Shown]:
        return (_listed(self.tables, f"{len(self):,} of {counted(self.total, 'table')}"),)


@dataclass(frozen=True)
class Folder(_Linked):
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
    #: Whether there are more of either than are told.
    truncated: bool

    def _shown(self) -> Sequence[Shown]:
        title = f"{self.prefix or 'all lakes'}: {counted(self.count, 'table')}"
        if self.truncated:
            title += "; not all of them are told"
        folders = [(f"{it.name}/", cell(it.tables)) for it in self.folders]
        shown = [Shown(title, ("folder", "tables"), folders, right=("tables",))]
        if self.tables:
            shown.append(_listed(self.tables, f"{counted(len(self.tables), 'table')} in it"))
        return shown


# What became of it


@dataclass(frozen=True)
class SnapshotInfo(Told):
    """A snapshot."""

    #: Its number.
    snapshot: int
    #: When it was published.
    published: Optional[datetime]


@dataclass(frozen=True, repr=False)
class Snapshots(Rows[SnapshotInfo], Told):
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
        lines = [(str(it.snapshot), _minute(it.published)) for it in self.snapshots]
        title = counted(len(self), "snapshot")
        return (Shown(title, ("snapshot", "published"), lines, right=("snapshot",)),)


@dataclass(frozen=True)
class Moment(Told):
    """A snapshot that changed a table."""

    snapshot: int
    #: When it was published.
    published: Optional[datetime]
    #: ``appeared``, ``changed``, ``described_anew`` or ``vanished``.
    change: str
    #: What differs, where it changed, in words.
    detail: Tuple[str, ...]


@dataclass(frozen=True, repr=False)
class History(Rows[Moment], Told):
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
            (str(it.snapshot), _minute(it.published), it.change.replace("_", " "), "; ".join(it.detail))
            for it in self.history
        ]
        back = "the index's first snapshot" if self.is_whole else f"snapshot {self.back_to}"
        title = f"{self.table}: {counted(len(self), 'change')} back to {back}"
        return (Shown(title, ("snapshot", "published", "change", "detail"), lines, right=("snapshot",)),)


@dataclass(frozen=True)
class ColumnChange(Told):
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
class TableDiff(_TableRef):
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
    #: Texts about it that are gone.
    contexts_removed: int
    #: Why it cannot be read since; empty where it can be again.
    unreadable: Optional[str]


@dataclass(frozen=True)
class TableRename(Told):
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


@dataclass(frozen=True, repr=False)
class Diff(Displayed, Tabular[_Change], Told):
    """What differs between two snapshots."""

    _NAMES = {"older": "from", "newer": "to"}

    #: The older snapshot.
    older: int
    #: The newer snapshot.
    newer: int
    #: Tables that are new.
    appeared: Tuple[TableDiff, ...]
    #: Tables of which only the name changed.
    renamed: Tuple[TableRename, ...]
    #: Tables that are other than they were.
    changed: Tuple[TableDiff, ...]
    #: Tables that are gone.
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
        title = f"snapshot {self.older} to {self.newer}: {counted(len(lines), 'table')} differ"
        header = ("change", "table", "rows before", "after", "columns")
        return (Shown(title, header, lines, right=("rows before", "after")),)


# How a node is


@dataclass(frozen=True)
class Failure(_TableRef):
    """A table that could not be read."""

    #: Its path in its lake.
    name: str
    lake: str
    #: What failed, on which object, why and what to do.
    error: str


@dataclass(frozen=True)
class Judging(Told):
    """The language model that judges."""

    #: Its name.
    model: str


@dataclass(frozen=True, repr=False)
class Status(Displayed, _Linked):
    """How the index and the node are. Of tables only those count that the key may see."""

    #: The snapshot that is served.
    snapshot: int
    #: When it was published.
    published: Optional[datetime]
    #: When this node opened it.
    opened: Optional[datetime]
    #: How many seconds ago the index was last looked at.
    seen_s: int
    #: Its tables.
    tables: int
    #: Their columns.
    columns: int
    #: Tables of which the newest version could not be read, at most 100 of them.
    failures: Tuple[Failure, ...]
    #: How many there are.
    failure_count: int
    #: Segments of the index; for those who see all of it.
    segments: Optional[int]
    #: Bytes of the index; likewise.
    index_bytes: Optional[int]
    #: The embedder of the index.
    embedder: str
    #: Who judges, if anybody does.
    judge: Optional[Judging]
    #: limn's version.
    version: str
    #: Seconds since the node was started.
    uptime_s: int
    #: What the caller may do: ``search``, ``rows``, ``admin``.
    rights: Tuple[str, ...]
    #: The paths that the caller may see; ``None`` for everything.
    prefixes: Optional[Tuple[str, ...]]
    #: Whether values of rows are told.
    previews: bool

    def _shown(self) -> Sequence[Shown]:
        seen = "everything" if self.prefixes is None else ", ".join(self.prefixes)
        lines = [
            ("snapshot", str(self.snapshot)),
            ("published", _minute(self.published)),
            ("looked for a newer one", f"{self.seen_s:,} s ago"),
            ("tables", f"{counted(self.tables, 'table')} of {counted(self.columns, 'column')}"),
            ("cannot be read", counted(self.failure_count, "table")),
            ("embedder", self.embedder),
            ("judge", self.judge.model if self.judge else "none"),
            ("limn", f"{self.version}, up for {self.uptime_s:,} s"),
            ("you may", f"{', '.join(self.rights)}; see {seen}"),
        ]
        failures = [f"{it.name}: {it.error}" for it in self.failures]
        return (Shown("the node", ("", " "), lines, failures),)
