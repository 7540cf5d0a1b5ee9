"""What a node answers, as typed, frozen objects.

Lists are sequences (``for hit in answer``, ``answer[0]``, ``len(answer)``), show themselves as a table in a terminal
and in a notebook, and become one of pandas or Arrow. Whatever is a table has a ``name`` (its path in its lake) and
goes on to what else is known of it: ``hit.table()``, ``hit.similar()``, ``hit.history()``.

Times are in UTC. A newer node may send more than these fields: the rest is in ``raw``.
"""

from .changes import ColumnChange, Counts, Diff, History, Moment, SnapshotInfo, Snapshots, TableDiff, TableRename
from .lake import Facets, FamilyLine, Folder, ListedTable, Listing, RowsCount, SinceCount, Tree, ValueCount
from .linked import link
from .node import Described, Failure, Judging, Status
from .search import (
    Block,
    Examples,
    Hit,
    Matching,
    MatchingColumn,
    Modes,
    SearchAnswer,
    SimilarAnswer,
    SimilarTable,
    Suggestion,
    Suggestions,
    Verdict,
)
from .sql import ErrorDetail, SqlAnswer, SqlColumn, SqlRead
from .tables import (
    Apart,
    ColumnDetail,
    ColumnLine,
    ColumnType,
    ContextText,
    DeclaredKeys,
    FileDetail,
    Frequent,
    Pattern,
    Preview,
    Profile,
    Reading,
    Reference,
    TableDetail,
    TableLine,
    Why,
)

__all__ = [
    "Apart",
    "Block",
    "ColumnChange",
    "ColumnDetail",
    "ColumnLine",
    "ColumnType",
    "ContextText",
    "Counts",
    "DeclaredKeys",
    "Described",
    "Diff",
    "ErrorDetail",
    "Examples",
    "Facets",
    "Failure",
    "FamilyLine",
    "FileDetail",
    "Folder",
    "Frequent",
    "History",
    "Hit",
    "Judging",
    "ListedTable",
    "Listing",
    "Matching",
    "MatchingColumn",
    "Modes",
    "Moment",
    "Pattern",
    "Preview",
    "Profile",
    "Reading",
    "Reference",
    "RowsCount",
    "SearchAnswer",
    "SimilarAnswer",
    "SimilarTable",
    "SinceCount",
    "SnapshotInfo",
    "Snapshots",
    "SqlAnswer",
    "SqlColumn",
    "SqlRead",
    "Status",
    "Suggestion",
    "Suggestions",
    "TableDetail",
    "TableDiff",
    "TableLine",
    "TableRename",
    "Tree",
    "ValueCount",
    "Verdict",
    "Why",
    "link",
]
