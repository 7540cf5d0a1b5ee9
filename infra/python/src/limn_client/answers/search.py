"""From a question to tables: what was found, and why; suggestions, and tables like one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, List, Literal, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Field, Rows, Shown, cell, counted
from .._text import marked, shortened
from .linked import Linked
from .tables import LINE_FIELDS, ColumnLine, TableLine, day, row_count

#: Whether a table is what was wanted.
Verdict = Literal["right", "wrong"]


@dataclass(frozen=True)
class Block(Decoded):
    """A text that made a table match."""

    #: What it is made of: ``schema``, ``rows``, ``context`` or ``cells``.
    kind: str
    text: str
    #: The question's words as they stand in it.
    words: Tuple[str, ...]
    #: How well it matches, for the order of the texts.
    score: float


@dataclass(frozen=True)
class Modes(Decoded):
    """The ways in which a question was answered."""

    #: By its words.
    lexical: bool
    #: By its meaning.
    semantic: bool
    #: By a language model's verdicts.
    judge: bool


@dataclass(frozen=True)
class MatchingColumn(Decoded):
    """A column of a table that was found."""

    name: str
    data_type: str
    #: Whether its name, its description or a value matches.
    matches: bool


@dataclass(frozen=True)
class Matching(Decoded):
    """The columns and rows of a table that match; where less matches, the first of the others beside them."""

    #: At most six columns, in the table's order.
    columns: Tuple[MatchingColumn, ...]
    #: Sampled rows, those that match first: a cell a column, ``None`` where it is empty.
    rows: Tuple[Tuple[Optional[str], ...], ...]


@dataclass(frozen=True)
class JoinedBy(Decoded):
    """The join that brings a table behind another."""

    #: The table before it.
    partner: str
    #: Its own columns by which they join.
    columns: Tuple[str, ...]
    #: The partner's, in the same order.
    partner_columns: Tuple[str, ...]
    #: What its place counts more than its score; ``None`` where an older node does not say.
    bonus: Optional[float]


@dataclass(frozen=True)
class ScoreShare(Decoded):
    """One term of a score: the contributions of all of them sum to it."""

    #: What it is of: ``formula_words`` and ``formula_meaning`` are the formula's two sides; ``meaning``, ``covered``, ``name`` and
    #: ``contexts`` are features; ``named`` is what is missing to 1 where the question names the table.
    name: str
    #: The side's or the feature's value: 0 to 1.
    value: float
    #: What the value counts.
    weight: float
    #: The product of both.
    contribution: float


@dataclass(frozen=True, repr=False)
class Hit(TableLine):
    """A table that was found."""

    #: Its first columns.
    columns: Tuple[ColumnLine, ...]
    #: ``α·lexical + (1−α)·semantic``, with what name and contexts add. It compares tables of one answer, and says nothing across questions.
    score: float
    #: How likely it answers the question, whatever else was found: ``"strong"``, ``"weak"`` or ``"unlikely"``; ``None`` where an
    #: older node does not say.
    grade: Optional[str]
    #: The share of the question's words that it has, by how rare they are: 0 to 1; ``None`` likewise.
    covered: Optional[float]
    #: How close it is to the question in meaning, from -1 to 1; ``None`` likewise, and where it has no vectors.
    cosine: Optional[float]
    #: The words' side: 0 to 1 among this question's candidates.
    lexical: float
    #: The meaning's side, likewise.
    semantic: float
    #: The share of the words of the table's own name that the question has, 0 to 1; ``None`` where an older node does not say.
    name_match: Optional[float]
    #: The share of the question's words that texts about the table have; ``None`` likewise.
    context_match: Optional[float]
    #: What the score is the sum of; ``None`` where an older node does not say.
    shares: Optional[Tuple[ScoreShare, ...]]
    #: The judge's word; ``None`` where there was none.
    judged: Optional[bool]
    #: What the table has of the question as a whole: ``table orders``, ``file orders.csv``, ``column promo_code``,
    #: ``code A-17``. Tables that have a name of it come first.
    exact: Tuple[str, ...]
    #: The names of its copies in its lake: tables of equal content, which it stands for.
    copies: Tuple[str, ...]
    #: The join that brings it right behind the first table; ``None`` of all others, and where an older node does not say.
    joined: Optional[JoinedBy]
    #: The texts that made it match, best first.
    blocks: Tuple[Block, ...]
    #: Columns and rows that match, where ``preview_rows`` were asked for.
    preview: Optional[Matching]
    #: The family that it belongs to, if it does: tables of one folder with the same columns.
    family: Optional[str]

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


@dataclass(frozen=True)
class SetColumn(Decoded):
    """A column of a table of a set."""

    table: str
    #: The URL of its lake.
    lake: str
    column: str


@dataclass(frozen=True)
class SetJoin(Decoded):
    """How two tables of a set join."""

    #: The column that refers.
    left: SetColumn
    #: The column that is referred to.
    right: SetColumn
    #: The other columns of a key of several, each left and right.
    more: Tuple[Tuple[str, ...], ...]
    #: Rows of the left side to rows of the right: ``1:1``, ``n:1``, ``n:m`` or ``unknown``.
    cardinality: str
    #: The share of the left column's values that the right one has, at least; ``None`` where that is not known.
    containment: Optional[float]
    #: Why they are thought to join.
    evidence: str
    #: How well they join, 0 to 1.
    score: float


@dataclass(frozen=True)
class SetPlan(Decoded):
    """How the tables of a set join."""

    #: What the question was read as.
    parts: Tuple[str, ...]
    #: One join for each table but the first, each to a table that is there already.
    joins: Tuple[SetJoin, ...]
    #: A statement that joins the tables, for ``sql``; of those that are connected.
    sql: str
    #: Where rows multiply.
    warnings: Tuple[str, ...]
    #: Tables of the set that nothing connects to the first.
    disconnected: Tuple[str, ...]
    #: How much better another set of this size may be, as a share: 0 unless there was no time to look at all of them.
    gap: float


@dataclass(frozen=True, repr=False)
class SearchAnswer(Rows[Hit], Linked):
    """The tables found, best first."""

    #: The question as asked.
    question: str
    #: The snapshot that was searched.
    snapshot: int
    #: What its tables are scored by: ``"learned"``, limn's formula with limn's own weights; ``"tuned"``, with the index's own (`limn tune`);
    #: ``"formula"``, without any; ``None`` where an older node does not say.
    ranking: Optional[str]
    #: The best grade of its tables; ``None`` without any, and where an older node does not say.
    grade: Optional[str]
    #: The tables, best first; of a set in the order of its plan.
    results: Tuple[Hit, ...]
    #: How the tables of a set join; ``None`` where no set was asked for.
    plan: Optional[SetPlan]
    #: What took part.
    modes: Modes
    #: The number of tables among which was searched.
    tables_searched: int
    #: The number of tables that there are, with those that could never be read; ``None`` where an older node does not say.
    tables: Optional[int]
    #: What there is to know besides: words that occur nowhere, why nothing was found.
    notes: Tuple[str, ...]
    #: How long the node took, in milliseconds.
    took_ms: float

    def _items(self) -> Sequence[Hit]:
        return self.results

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            LINE_FIELDS[0],
            Field("score", "number", lambda it: it.score),
            Field("grade", "text", lambda it: it.grade),
            Field("lexical", "number", lambda it: it.lexical),
            Field("semantic", "number", lambda it: it.semantic),
            Field("judged", "truth", lambda it: it.judged),
            Field("copies", "texts", lambda it: list(it.copies)),
            *LINE_FIELDS[1:],
            Field("columns", "texts", lambda it: [column.name for column in it.columns]),
            Field("because", "text", lambda it: it.blocks[0].text if it.blocks else None),
        )

    def _shown(self) -> Sequence[Shown]:
        header: Tuple[str, ...] = ("", "table", "grade", "judged", "rows", "columns", "changed", "because")
        lines: List[Tuple[str, ...]] = []
        for place, hit in enumerate(self.results, 1):
            because = marked(shortened(hit.blocks[0].text, 300), hit.blocks[0].words) if hit.blocks else ""
            judged = {None: "", True: "relevant", False: "not relevant"}[hit.judged]
            about = (row_count(hit), cell(hit.column_count), day(hit.modified), because)
            lines.append((cell(place), hit.name, hit.grade or cell(hit.score), judged, *about))
        if not self.modes.judge:
            header, lines = (*header[:3], *header[4:]), [(*line[:3], *line[4:]) for line in lines]
        found = f"{len(self):,} of {counted(self.tables_searched, 'table')}, {self.took_ms:.0f} ms"
        right = ("", "rows", "columns")
        return (Shown(f"{self.question}: {found}", header, lines, self.notes, right, ("because",)),)


@dataclass(frozen=True)
class Examples(Decoded):
    """Questions to begin with, from the lake's own words."""

    questions: Tuple[str, ...]


@dataclass(frozen=True)
class Suggestion(Linked):
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
class Suggestions(Rows[Suggestion], Decoded):
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
    #: Whether it is a copy: a table of equal content.
    copy: bool
    #: The names of further copies of it in its lake, which it stands for.
    copies: Tuple[str, ...]

    def _about(self) -> List[str]:
        return [f"similarity {cell(self.similarity)}", *super()._about()]


@dataclass(frozen=True, repr=False)
class SimilarAnswer(Rows[SimilarTable], Decoded):
    """Tables that are like one, the most alike first."""

    #: The one's name.
    table: str
    lake: str
    results: Tuple[SimilarTable, ...]

    def _items(self) -> Sequence[SimilarTable]:
        return self.results

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            LINE_FIELDS[0],
            Field("similarity", "number", lambda it: it.similarity),
            Field("copy", "truth", lambda it: it.copy),
            Field("copies", "texts", lambda it: list(it.copies)),
            *LINE_FIELDS[1:],
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (it.name, cell(it.similarity), row_count(it), cell(it.column_count), day(it.modified))
            for it in self.results
        ]
        title = f"{counted(len(self), 'table')} like {self.table}"
        header = ("table", "similarity", "rows", "columns", "changed")
        return (Shown(title, header, lines, right=("similarity", "rows", "columns")),)


@dataclass(frozen=True)
class JoinPartner(Decoded):
    """What another table is to a table."""

    #: The table.
    table: str
    #: The other one.
    partner: str
    #: ``join``, ``copy``, ``subset`` or ``union``.
    kind: str
    #: The table's columns, of joins.
    columns: Tuple[str, ...]
    #: The partner's, in the same order.
    partner_columns: Tuple[str, ...]
    #: ``refers_to``, ``referred_by`` or ``neither``.
    direction: str
    #: How many of the table's rows go with how many of the partner's; ``None`` but of joins.
    cardinality: Optional[str]
    #: How sure it is, 0 to 1.
    score: float
    #: The share of the referring side's distinct values that the other side has; ``None`` where values are not shown.
    containment: Optional[float]
    #: That share at least, with 97.5 % confidence.
    containment_low: Optional[float]
    #: The shared values as a share of those of both; ``None`` where values are not shown.
    jaccard: Optional[float]
    #: Why it is there: ``declared``, ``values and names``, ``values`` or ``names``.
    evidence: str


@dataclass(frozen=True, repr=False)
class JoinsAnswer(Rows[JoinPartner], Decoded):
    """What a table joins with, the surest first; or the steps of the way to another table."""

    _NAMES = {"other": "with"}

    table: str
    lake: str
    #: The snapshot that this is from.
    snapshot: int
    #: The other table, where a way was asked for.
    other: Optional[str]
    #: Its partners; ``None`` where a way was asked for.
    partners: Optional[Tuple[JoinPartner, ...]]
    #: The steps of the way that was asked for; ``None`` where there is none.
    path: Optional[Tuple[JoinPartner, ...]]
    #: What there is to know besides.
    notes: Tuple[str, ...]

    def _items(self) -> Sequence[JoinPartner]:
        return self.partners or self.path or ()

    def _fields(self) -> Sequence[Field[Any]]:
        return (
            Field("table", "text", lambda it: it.table),
            Field("partner", "text", lambda it: it.partner),
            Field("kind", "text", lambda it: it.kind),
            Field("columns", "texts", lambda it: list(it.columns)),
            Field("partner_columns", "texts", lambda it: list(it.partner_columns)),
            Field("direction", "text", lambda it: it.direction),
            Field("cardinality", "text", lambda it: it.cardinality),
            Field("score", "number", lambda it: it.score),
            Field("containment", "number", lambda it: it.containment),
            Field("containment_low", "number", lambda it: it.containment_low),
            Field("jaccard", "number", lambda it: it.jaccard),
            Field("evidence", "text", lambda it: it.evidence),
        )

    def _shown(self) -> Sequence[Shown]:
        lines = [
            (it.table, ", ".join(it.columns), it.kind, it.partner, ", ".join(it.partner_columns), it.cardinality or "",
             cell(it.score), it.evidence)
            for it in self._items()
        ]
        title = f"{counted(len(self), 'edge')} of {self.table}"
        header = ("table", "columns", "is", "partner", "its columns", "rows", "score", "why")
        return (Shown(title, header, lines, right=("score",), notes=self.notes),)
