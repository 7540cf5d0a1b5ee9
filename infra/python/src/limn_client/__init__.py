"""The client of limn: finds the right table in a data lake when you ask in plain words.

::

    from limn_client import Client

    client = Client("http://127.0.0.1:7700")
    answer = client.search("how clear is the water in summer?")
    answer                      # a table, in a terminal and in a notebook
    answer[0].table().preview   # sampled rows of the best
    answer.to_pandas()
"""

from ._errors import (
    BadRequestError,
    ForbiddenError,
    LimnError,
    NoAnswerError,
    NotFoundError,
    NotUnderstoodError,
    TooManyRequestsError,
    UnauthorizedError,
    UnavailableError,
)
from ._version import __version__
from .answers import (
    Block,
    ColumnChange,
    ColumnDetail,
    ColumnLine,
    ContextText,
    Counts,
    DeclaredKeys,
    Diff,
    Failure,
    FileDetail,
    Folder,
    Frequent,
    History,
    Hit,
    Judging,
    Listing,
    Modes,
    Moment,
    Pattern,
    Preview,
    Profile,
    Reference,
    SearchAnswer,
    SimilarAnswer,
    SimilarTable,
    SnapshotInfo,
    Snapshots,
    Status,
    Suggestion,
    Suggestions,
    TableDetail,
    TableDiff,
    TableLine,
    TableRename,
    Tree,
    Verdict,
)
from .client import Client

__all__ = [
    "BadRequestError",
    "Block",
    "Client",
    "ColumnChange",
    "ColumnDetail",
    "ColumnLine",
    "ContextText",
    "Counts",
    "DeclaredKeys",
    "Diff",
    "Failure",
    "FileDetail",
    "Folder",
    "ForbiddenError",
    "Frequent",
    "History",
    "Hit",
    "Judging",
    "LimnError",
    "Listing",
    "Modes",
    "Moment",
    "Pattern",
    "NoAnswerError",
    "NotFoundError",
    "NotUnderstoodError",
    "Preview",
    "Profile",
    "Reference",
    "SearchAnswer",
    "SimilarAnswer",
    "SimilarTable",
    "SnapshotInfo",
    "Snapshots",
    "Status",
    "Suggestion",
    "Suggestions",
    "TableDetail",
    "TableDiff",
    "TableLine",
    "TableRename",
    "TooManyRequestsError",
    "Tree",
    "UnauthorizedError",
    "UnavailableError",
    "Verdict",
    "__version__",
]
