"""Answers to questions, with the plan, the rows that prove them and what they cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence, Tuple

from .._decode import Decoded
from .._rows import Field, Rows, Shown, cell, counted

#: Kinds of columns, by their type's word; all others are texts.
_KINDS = {"integer": "whole", "float": "number", "boolean": "truth"}
_NUMBERS = ("integer", "float", "decimal")


@dataclass(frozen=True)
class PlanColumn(Decoded):
    """A column of a stage's rows."""

    _NAMES = {"data_type": "type"}

    name: str
    #: Its type in a word: ``integer``, ``float``, ``decimal``, ``boolean``, ``date``, ``timestamp``, ``text``, ...
    data_type: str


@dataclass(frozen=True)
class AskedTable(Decoded):
    """A table that an answer reads."""

    table: str
    #: The URL of its lake.
    lake: str
    #: The snapshot of the index.
    snapshot: int
    #: A fingerprint of its files' versions: equal versions, equal rows.
    version: str
    #: How many files it has.
    files: int


@dataclass(frozen=True)
class Citation(Decoded):
    """Rows that an answer rests on."""

    #: The stage that they are of.
    stage: str
    #: The number of each row among the stage's rows, from 1; for rows behind a count or a sum, among those.
    rows: Tuple[int, ...]
    columns: Tuple[PlanColumn, ...]
    values: Tuple[Tuple[Any, ...], ...]
    #: ``behind`` where the answer counts, sums or groups them, ``cited`` where a model names them.
    kind: str


@dataclass(frozen=True)
class Judged(Decoded):
    """What a model decided in a stage."""

    #: The stage.
    stage: str
    operation: str
    #: The column that the model wrote, if it is one.
    column: Optional[str]
    #: How sure it was, on the average: 0.5 to 1; ``None`` from a model that gives no probabilities.
    sure: Optional[float]
    #: Answers that failed, and are ``None``.
    failed: int


@dataclass(frozen=True)
class StageRows(Decoded):
    """A stage that ran."""

    #: Its name.
    stage: str
    operation: str
    #: Its statement as :meth:`Client.sql` takes it; ``None`` where it reads other stages, or is no SQL.
    sql: Optional[str]
    columns: Tuple[PlanColumn, ...]
    #: How many rows it has.
    row_count: int
    #: The first of them.
    first_rows: Tuple[Tuple[Any, ...], ...]
    #: How long it took.
    seconds: float


@dataclass(frozen=True)
class Told(Decoded):
    """What a plan will cost."""

    #: Questions to a model.
    calls: int
    #: Questions whose answers are kept from before.
    kept: int
    prompt_tokens: int
    #: Tokens of the answers, as many as such answers have as a rule.
    generated_tokens: int
    #: Stages whose questions depend on what a model answers, there or in a stage before: their cost is a guess.
    guessed: Tuple[str, ...]


@dataclass(frozen=True)
class SpentTokens(Decoded):
    """What a model was asked."""

    #: Questions to the model.
    calls: int
    #: Answers that were known already.
    kept: int
    prompt_tokens: int
    generated_tokens: int


@dataclass(frozen=True)
class Cost(Decoded):
    """What an answer costs."""

    #: What was expected before a model was asked to run the plan.
    told: Told
    #: What was spent to run it.
    spent: SpentTokens
    #: What was spent to write the plan.
    writing: SpentTokens
    #: How long all took.
    seconds: float


@dataclass(frozen=True, repr=False)
class AskAnswer(Rows[Tuple[Any, ...]], Decoded):
    """The answer to a question, and its rows: a value a column."""

    question: str
    #: The answer in words; ``None`` where the question cannot be answered, which ``notes`` explain.
    answer: Optional[str]
    columns: Tuple[PlanColumn, ...]
    #: The first 1,000.
    rows: Tuple[Tuple[Any, ...], ...]
    #: Whether there are more rows.
    truncated: bool
    #: The plan that was run, or would be, as JSON: edited, it may be given to :meth:`Client.ask` again.
    plan: Optional[Any]
    #: The tables that it reads.
    tables: Tuple[AskedTable, ...]
    #: The rows that prove it.
    citations: Tuple[Citation, ...]
    #: What a model decided, stage by stage.
    model_judged: Tuple[Judged, ...]
    #: The stages that ran, with their first rows.
    stages: Tuple[StageRows, ...]
    cost: Cost
    #: Whether rows are missing, since files could not be read; ``notes`` name them.
    is_partial: bool
    #: What to know of the answer, a line each.
    notes: Tuple[str, ...]

    def _items(self) -> Sequence[Tuple[Any, ...]]:
        return self.rows

    def _fields(self) -> Sequence[Field[Any]]:
        def field(place: int) -> Field[Any]:
            column = self.columns[place]
            return Field(column.name, _KINDS.get(column.data_type, "text"), lambda row: row[place])

        return tuple(map(field, range(len(self.columns))))

    def _shown(self) -> Sequence[Shown]:
        header = tuple(column.name for column in self.columns)
        lines = [[cell(value) for value in row] for row in self.rows]
        of_more = " of more" if self.truncated else ""
        title = f"{self.answer or 'no answer'} ({counted(len(self), 'row')}{of_more})"
        right = [column.name for column in self.columns if column.data_type in _NUMBERS]
        return (Shown(title, header, lines, self.notes, right=right),)
