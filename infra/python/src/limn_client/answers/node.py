"""How a node is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Displayed, Shown, counted
from .linked import Linked, TableRef
from .tables import minute


@dataclass(frozen=True)
class Failure(TableRef):
    """A table that could not be read."""

    #: Its path in its lake.
    name: str
    lake: str
    #: What failed, on which object, why and what to do.
    error: str


@dataclass(frozen=True)
class Described(Decoded):
    """A description was written."""

    #: The snapshot that is served now, which has it.
    snapshot: int


@dataclass(frozen=True)
class Judging(Decoded):
    """The language model that judges."""

    #: Its name.
    model: str


@dataclass(frozen=True, repr=False)
class Status(Displayed, Linked):
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
    #: What the caller may do: ``search``, ``rows``, ``ask``, ``describe``, ``admin``.
    rights: Tuple[str, ...]
    #: The paths that the caller may see; ``None`` for everything.
    prefixes: Optional[Tuple[str, ...]]
    #: Whether values of rows are shown.
    previews: bool
    #: Whether the caller may write descriptions of tables, here; ``None`` where an older node does not say.
    descriptions: Optional[bool]
    #: Whether the caller may ask for rows of tables, and in SQL, here; ``None`` where an older node does not say.
    sql: Optional[bool]
    #: Whether the caller may have questions answered, here; ``None`` where an older node does not say.
    ask: Optional[bool]

    def _shown(self) -> Sequence[Shown]:
        seen = "everything" if self.prefixes is None else ", ".join(self.prefixes)
        lines = [
            ("snapshot", str(self.snapshot)),
            ("published", minute(self.published)),
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
