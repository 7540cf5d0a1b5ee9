"""Tables: as lines of lists, and all that is known of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple

from .._arrow import quoted
from .._decode import Decoded
from .._rows import Displayed, Field, Rows, Shown, cell, counted
from .._text import printable, shortened
from .linked import TableRef

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, repr=False)
class TableLine(Displayed, TableRef):
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
    #: What it is, in a line: the first sentence of a text about it, if there is one.
    description: Optional[str]
    #: Why its newest version could not be read: then this is the last that could.
    error: Optional[str]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({printable(', '.join([repr(self.name), *self._about()]))})"

    def _about(self) -> List[str]:
        rows = "rows not counted" if self.rows is None else f"{row_count(self)} row{'' if self.rows == 1 else 's'}"
        return [rows, counted(self.column_count, "column"), self.format]

    def _shown(self) -> Sequence[Shown]:
        about = self._about()
        if self.modified is not None:
            about.append(f"changed {minute(self.modified)}")
        notes = [self.location]
        if self.error:
            notes.append(f"its newest version cannot be read: {self.error}")
        return (Shown(f"{self.name}: {', '.join(about)}", (), (), notes),)


LINE_FIELDS: Tuple[Field[Any], ...] = (
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


def row_count(table: TableLine) -> str:
    return "" if table.rows is None else ("" if table.rows_exact else "~") + cell(table.rows)


def day(time: Optional[datetime]) -> str:
    return "" if time is None else f"{time:%Y-%m-%d}"


def minute(time: Optional[datetime]) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


@dataclass(frozen=True)
class ColumnLine(Decoded):
    """A column in a search result."""

    name: str
    #: Its type, such as ``integer``.
    data_type: str
    #: What a language model says of it.
    narration: Optional[str]


@dataclass(frozen=True)
class Frequent(Decoded):
    """A frequent value."""

    value: str
    #: How often it occurs in the rows that were looked at.
    count: int


@dataclass(frozen=True)
class Pattern(Decoded):
    """A form that values have."""

    #: Its name (``e-mail``), or a shape (``AA-9999``): letters and digits stand for kinds of characters.
    pattern: str
    #: The share of the distinct values that have it, 0 to 1.
    share: float


@dataclass(frozen=True)
class ColumnDetail(ColumnLine):
    """A column with its profile."""

    #: The share of empty cells, 0 to 1.
    null_share: float
    #: Distinct values.
    distinct: int
    #: Whether they were counted.
    distinct_exact: bool
    #: Distinct values as a share of the values that were looked at, 0 to 1, if any were.
    uniqueness: Optional[float]
    #: Whether the column may be what a row is known by.
    likely_key: bool
    #: The forms that the values have, the most common first.
    patterns: Tuple[Pattern, ...]
    #: The least value.
    min: Optional[str]
    #: The greatest value.
    max: Optional[str]
    #: The most frequent values.
    frequent: Tuple[Frequent, ...]
    #: Whether all rows were looked at.
    profile_exact: bool
    #: What contexts say of it.
    description: Optional[str]
    #: How its values are written in the files, where that is not the plain way of ``min``, ``max`` and ``frequent``.
    notation: Optional[str]
    #: Which of the table's files have it, in words, where not all do; in the others' rows it is null.
    in_files: Optional[str]
    #: What it holds that is somebody's own (``e-mail``, ``phone``, ``payment card``, ...), if that was found.
    sensitive: Optional[str]
    #: Whether its values are kept out of the index.
    withheld: bool


@dataclass(frozen=True)
class ContextText(Decoded):
    """A text about a table."""

    #: Where it is from: a path in the lake, or ``registered``.
    source: str
    text: str


@dataclass(frozen=True)
class FileDetail(Decoded):
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
            Field("uniqueness", "number", lambda it: it.uniqueness),
            Field("likely_key", "truth", lambda it: it.likely_key),
            Field("patterns", "texts", lambda it: [form.pattern for form in it.patterns]),
            Field("min", "text", lambda it: it.min),
            Field("max", "text", lambda it: it.max),
            Field("frequent", "texts", lambda it: [value.value for value in it.frequent]),
            Field("profile_exact", "truth", lambda it: it.profile_exact),
            Field("description", "text", lambda it: it.description),
            Field("notation", "text", lambda it: it.notation),
            Field("in_files", "text", lambda it: it.in_files),
            Field("sensitive", "text", lambda it: it.sensitive),
            Field("withheld", "truth", lambda it: it.withheld),
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


@dataclass(frozen=True)
class Reference(Decoded):
    """A foreign key."""

    #: The columns here.
    columns: Tuple[str, ...]
    #: The other table, of the same lake.
    table: str
    #: Its columns, in the same order; empty where they are its primary key.
    to: Tuple[str, ...]


@dataclass(frozen=True)
class DeclaredKeys(Decoded):
    """Keys as a file declares them."""

    #: The columns of the primary key; empty where there is none.
    primary: Tuple[str, ...]
    #: The columns of each other unique key.
    unique: Tuple[Tuple[str, ...], ...]
    #: Foreign keys, to tables that the caller may see.
    references: Tuple[Reference, ...]


def _keys(keys: Optional[DeclaredKeys]) -> List[str]:
    if keys is None:
        return []
    lines = [f"primary key: {', '.join(keys.primary)}"] if keys.primary else []
    lines.extend(f"unique: {', '.join(columns)}" for columns in keys.unique)
    for reference in keys.references:
        to = f" ({', '.join(reference.to)})" if reference.to else ""
        lines.append(f"refers: {', '.join(reference.columns)} to {reference.table}{to}")
    return lines


@dataclass(frozen=True)
class Apart(Decoded):
    """A file that is named like a table's own and is of another."""

    #: The table that it is of.
    table: str
    #: Why it is not of this one.
    explanation: str


@dataclass(frozen=True)
class Reading(Decoded):
    """Files that are read alike."""

    #: How many there are.
    files: int
    #: The path of the first one; ``None`` where values are not shown.
    first: Optional[str]
    #: How they are read.
    explanation: str


@dataclass(frozen=True)
class ColumnType(Decoded):
    """A column's type and where it comes from."""

    #: Its name.
    name: str
    #: Its type.
    data_type: str
    #: What it follows from, and how the values are written.
    explanation: str


@dataclass(frozen=True)
class Why(Decoded):
    """Why a table is what it is, and how its files are read."""

    #: What makes its files a table: ``file``, ``alike``, ``declared``, ``partitions`` or ``parts``.
    rule: str
    #: The same in a sentence.
    explanation: str
    #: The entries of ``.limn.yaml`` files that speak of its files, and what they say, a line each.
    declared: Tuple[str, ...]
    #: Files that are named like its own and are of other tables, at most 20.
    apart: Tuple[Apart, ...]
    #: How its files are read, those that are read alike together; at most 20.
    readings: Tuple[Reading, ...]
    #: Where the types of its columns come from, in order.
    columns: Tuple[ColumnType, ...]


@dataclass(frozen=True, repr=False)
class TableDetail(TableLine):
    """What is known of a table."""

    #: The snapshot that this is from.
    snapshot: int
    #: Its columns, in order.
    columns: Tuple[ColumnDetail, ...]
    #: The names of the columns that are likely keys, the likeliest first.
    likely_keys: Tuple[str, ...]
    #: The keys that its file declares; ``None`` where an older node does not say.
    declared_keys: Optional[DeclaredKeys]
    #: How it was read: what was left out, guessed, or seen in part; ``None`` where an older node does not say.
    notes: Optional[Tuple[str, ...]]
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
    #: Whether values of rows are shown; without them, sample, ranges, frequent values and patterns are empty.
    previews: bool
    #: Why it is a table and how its files are read, where that was asked.
    why: Optional[Why]

    @property
    def profile(self) -> Profile:
        """The columns as a table: ``detail.profile.to_pandas()``."""
        return Profile(self.name, self.columns)

    @property
    def preview(self) -> Preview:
        """The sampled rows as a table: ``detail.preview.to_pandas()``."""
        return Preview(self.name, tuple(column.name for column in self.columns), self.sample)

    def to_arrow(self, *, columns: Optional[Sequence[str]] = None, limit: Optional[int] = None) -> pyarrow.Table:
        """Rows of the table, read from the lake, with their types. Needs the right ``rows``.

        The node has a limit of its own: ``limn.truncated`` in the table's metadata says whether there are more rows.

        :param columns: only these columns.
        :param limit: how many rows at most.
        :raises ImportError: without pyarrow (``pip install limn-client[arrow]``).
        """
        chosen = "*" if columns is None else ", ".join(map(quoted, columns))
        statement = f"SELECT {chosen} FROM {quoted(self.name)}"
        return self._asked.sql_arrow(statement, lake=self.lake, max_rows=limit)

    def _shown(self) -> Sequence[Shown]:
        (about,) = super()._shown()
        texts = [f"{text.source}: {shortened(text.text, 500)}" for text in self.contexts]
        shown = [replace(about, notes=[*about.notes, *(self.notes or ()), *_keys(self.declared_keys), *texts])]
        if self.columns:
            shown.extend(self.profile._shown())
        if self.sample:
            shown.extend(self.preview._shown())
        return shown

    # The whole, not the line.
    __repr__ = Displayed.__repr__
