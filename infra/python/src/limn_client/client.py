"""The client of a node: a method an address."""

from __future__ import annotations

import os
import ssl
from datetime import date, datetime, timezone
from types import TracebackType
from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional, Sequence, Type, TypeVar, Union

from ._decode import Decoded, decode
from ._arrow import ARROW, table_of
from ._errors import LimnError, late_error
from ._http import Answer, Transport
from .answers import (
    AskAnswer,
    CellsAnswer,
    Described,
    Diff,
    Examples,
    History,
    JoinsAnswer,
    Listing,
    SearchAnswer,
    SimilarAnswer,
    Snapshots,
    SqlAnswer,
    Status,
    Suggestions,
    TableDetail,
    TableLine,
    Tree,
    Verdict,
    link,
)

if TYPE_CHECKING:
    import pyarrow

A = TypeVar("A", bound=Decoded)


class Client:
    """Asks a limn node.

    ::

        client = Client("https://limn.example.org", api_key="limn_…")
        for hit in client.search("which customers left last year?"):
            print(hit.name, hit.score)

    One client may be used by many threads. It keeps connections open; ``close()``, or a ``with`` block, ends them.

    :param url: where the node is. A path is kept: ``https://example.org/limn`` asks at ``/limn/v1/…``.
    :param api_key: the key that ``limn keys add`` printed; without it, that of ``LIMN_API_KEY``. ``""`` sends none.
    :param timeout: how many seconds an answer may take. A node gives up after 60 itself, and says so.
    :param connect_timeout: how many seconds a connection may take.
    :param retries: how often a request is sent again when the node says when (``Retry-After`` of 429, 503); 0 is never.
    :param max_wait: how many seconds may be waited for that in all. A node that asks for more is not waited for.
    :param ssl_context: how to speak TLS, such as with an authority of your own. Certificates are verified without it.
    :param proxy: ``http://HOST:PORT``; without it, as ``HTTPS_PROXY``, ``HTTP_PROXY``, ``NO_PROXY`` say; ``""`` is none.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:7700",
        *,
        api_key: Optional[str] = None,
        timeout: float = 70.0,
        connect_timeout: float = 10.0,
        retries: int = 3,
        max_wait: float = 60.0,
        ssl_context: Optional[ssl.SSLContext] = None,
        proxy: Optional[str] = None,
    ) -> None:
        key = os.environ.get("LIMN_API_KEY") if api_key is None else api_key
        self._transport = Transport(
            url,
            key=key or None,
            timeout=timeout,
            connect_timeout=connect_timeout,
            retries=retries,
            max_wait=max_wait,
            ssl_context=ssl_context,
            proxy=proxy,
        )

    # From a question to tables

    def search(
        self,
        question: str,
        *,
        mode: Optional[str] = None,
        k: Optional[int] = None,
        alpha: Optional[float] = None,
        candidates: Optional[int] = None,
        blocks: Optional[int] = None,
        judge: Optional[bool] = None,
        prefix: Optional[str] = None,
        format: Optional[str] = None,
        column_type: Optional[str] = None,
        min_rows: Optional[int] = None,
        max_rows: Optional[int] = None,
        modified_after: Union[date, str, None] = None,
        modified_before: Union[date, str, None] = None,
        preview_rows: Optional[int] = None,
    ) -> SearchAnswer:
        """Finds the tables that answer a question.

        :param question: the question in plain words.
        :param mode: ``"set"`` for the tables that answer it together, and how they join; ``"tables"`` for tables one by one. If
            nothing is said, those that the first one joins and needs come right behind it.
        :param k: how many tables are wanted: 1 to 1000 (5); of a set 1 to 20 (as many as are worth it).
        :param alpha: the share of the words' side in the score, 0 (meaning alone) to 1 (words alone).
        :param candidates: candidates that each side gives for each table wanted.
        :param blocks: how many texts are given of each table: 0 to 10 (3); with 0 there is the ranking alone, sooner.
        :param judge: whether a language model judges the first tables, where the node has one. Takes seconds.
        :param prefix: only tables at this path or below it.
        :param format: only tables of this format, such as ``csv``.
        :param column_type: only tables with a column of this type, such as ``integer``.
        :param min_rows: only tables with at least so many rows.
        :param max_rows: only tables with at most so many rows.
        :param modified_after: only tables that were changed at this time or later: a ``datetime`` with its time zone, or a
            ``date``, which begins at midnight UTC.
        :param modified_before: only tables that were changed before this time, likewise.
        :param preview_rows: how many rows are shown of each table, with the columns that match: 0 to 10 (0).
        """
        asked = _given(
            q=question,
            mode=mode,
            k=k,
            alpha=alpha,
            candidates=candidates,
            blocks=blocks,
            judge=judge,
            prefix=prefix,
            format=format,
            column_type=column_type,
            min_rows=min_rows,
            max_rows=max_rows,
            modified_after=_time("modified_after", modified_after),
            modified_before=_time("modified_before", modified_before),
            preview_rows=preview_rows,
        )
        # Sent in a body: addresses are what proxies keep in their logs, and shorten.
        json = self._transport.send("POST", "/v1/search", body=asked).json()
        answer = decode(SearchAnswer, json)
        return link(answer, self, _question=answer.question, _snapshot=answer.snapshot)

    def suggest(self, text: str, *, limit: Optional[int] = None) -> Suggestions:
        """Names of tables and columns that go on as the last word of a text does; ``limit`` of them, 1 to 50 (8)."""
        return self._get(Suggestions, "/v1/suggest", q=text, limit=limit)

    def examples(self) -> Examples:
        """Questions to begin with, from the lake's own words."""
        return self._get(Examples, "/v1/examples")

    def feedback(
        self,
        question: str,
        table: str,
        verdict: Verdict,
        *,
        lake: Optional[str] = None,
        snapshot: Optional[int] = None,
        comment: Optional[str] = None,
    ) -> None:
        """Reports to the node's operator whether a table was what a question wanted. ``hit.feedback("right")`` is shorter.

        :param verdict: ``"right"`` or ``"wrong"``.
        :param snapshot: the snapshot that was asked.
        """
        said = _given(question=question, table=table, verdict=verdict, lake=lake, snapshot=snapshot, comment=comment)
        self._transport.send("POST", "/v1/feedback", body=said, repeatable=False)

    # What the lake holds

    def table(self, name: str, *, lake: Optional[str] = None, why: Optional[bool] = None) -> TableDetail:
        """What is known of a table: columns with their profiles, sampled rows, texts, files.

        :param name: its path in its lake.
        :param lake: the lake's URL, where several lakes have a table of this name.
        :param why: whether ``why`` says why it is a table and how its files are read.
        :raises NotFoundError: where there is none that the key may see.
        """
        return self._get(TableDetail, "/v1/table", table=name, lake=lake, why=why)

    def describe(
        self, name: str, text: str, *, lake: Optional[str] = None, replaces: Optional[str] = None
    ) -> Described:
        """Writes a description of a table. Needs the right ``describe``, and a node that takes descriptions.

        :param text: the text; ``""`` takes the one back that it replaces.
        :param replaces: the registered text that it takes the place of; without it the text is added.
        """
        said = _given(table=name, text=text, lake=lake, replaces=replaces)
        json = self._transport.send("PUT", "/v1/table/description", body=said, repeatable=False).json()
        return link(decode(Described, json), self)

    def rows(
        self,
        name: str,
        *,
        lake: Optional[str] = None,
        columns: Union[Sequence[str], str, None] = None,
        sort: Optional[str] = None,
        descending: Optional[bool] = None,
        offset: Optional[int] = None,
        limit: Optional[int] = None,
    ) -> SqlAnswer:
        """Rows of a table to look at, read from the lake. Needs the right ``rows``.

        ``truncated`` says whether there are more behind them.

        :param columns: only these columns.
        :param sort: the column that they are sorted by; without it they come as the files have them.
        :param descending: whether the greatest comes first.
        :param offset: how many rows are passed over.
        :param limit: how many, 1 to 1000 (50).
        """
        asked = _given(
            table=name,
            lake=lake,
            columns=columns if columns is None or isinstance(columns, str) else ",".join(map(_in_csv, columns)),
            sort=sort,
            descending=_truth(descending),
            offset=offset,
            limit=limit,
        )
        return self._sql(self._transport.send("GET", "/v1/table/rows", asked))

    def sql(
        self,
        sql: str,
        *,
        lake: Optional[str] = None,
        max_rows: Optional[int] = None,
        timeout_s: Optional[int] = None,
    ) -> SqlAnswer:
        """The answer to a statement of SQL that reads, over the tables that the key may see. Needs the right ``rows``.

        ::

            client.sql('SELECT "town", avg("depth") FROM "lakes/depths" GROUP BY 1').to_pandas()

        :param sql: one statement. A table is called by its name in double quotes.
        :param lake: only tables of the lake of this URL, where several lakes have a table of one name.
        :param max_rows: how many rows at most; the node has a limit of its own. ``truncated`` says whether there are more.
        :param timeout_s: how many seconds it may take; likewise.
        """
        asked = _given(sql=sql, lake=lake, max_rows=max_rows, timeout_s=timeout_s)
        return self._sql(self._transport.send("POST", "/v1/sql", body=asked))

    def sql_arrow(
        self,
        sql: str,
        *,
        lake: Optional[str] = None,
        max_rows: Optional[int] = None,
        timeout_s: Optional[int] = None,
    ) -> pyarrow.Table:
        """As :meth:`sql`, with the columns' own types, and sooner where there are many rows.

        The table's metadata says what to know of it: ``limn.truncated`` (``true`` where there are more rows) and ``limn.notes``.

        :raises ImportError: without pyarrow (``pip install limn-client[arrow]``).
        """
        asked = _given(sql=sql, lake=lake, max_rows=max_rows, timeout_s=timeout_s)
        return table_of(lambda: self._transport.send("POST", "/v1/sql", body=asked, accept=ARROW).body)

    def cells(
        self,
        question: str,
        *,
        tables: Optional[Sequence[str]] = None,
        lake: Optional[str] = None,
        mode: Optional[str] = None,
        prefix: Optional[str] = None,
        k: Optional[int] = None,
        timeout_s: Optional[int] = None,
    ) -> CellsAnswer:
        """The columns and cells of tables that SQL for a question needs, spelled as the tables have them.

        ::

            prompt = client.cells("which customers from Basel left?", tables=["crm/customers"]).text

        Without the right ``rows`` there are columns alone.

        :param question: the question in plain words.
        :param tables: the names of the tables, at most 10; without them the first 5 that a search finds.
        :param lake: their lake's URL, where several lakes have tables of these names.
        :param mode: ``"set"`` for the tables that answer the question together, where none are named.
        :param prefix: only tables at this path or below it, where none are named.
        :param k: columns for each part of the question, and cells for each run of its words: 1 to 50 (5).
        :param timeout_s: how many seconds reading the tables may take; the node has a limit of its own.
        """
        named = None if tables is None else list(tables)
        asked = _given(q=question, tables=named, lake=lake, mode=mode, prefix=prefix, k=k, timeout_s=timeout_s)
        return decode(CellsAnswer, self._transport.send("POST", "/v1/cells", body=asked).json())

    def ask(
        self,
        question: Optional[str] = None,
        *,
        tables: Optional[Sequence[str]] = None,
        lake: Optional[str] = None,
        prefix: Optional[str] = None,
        plan: Any = None,
        sql: Optional[str] = None,
        plan_only: Optional[bool] = None,
        budget_tokens: Optional[int] = None,
    ) -> AskAnswer:
        """The answer to a question, with the plan, the rows that prove it and what it cost. Needs the rights ``ask`` and ``rows``.

        ::

            answer = client.ask("how many customers from Basel left?")
            print(answer.answer, answer.citations)
            answer.plan["stages"][0]["sql"]["statement"] += " LIMIT 3"
            client.ask(plan=answer.plan)

        :param question: the question in plain words; it may be left out with a plan.
        :param tables: the tables to answer from, at most 10; without them those that answer the question together.
        :param lake: only tables of the lake of this URL, where several lakes have a table of one name.
        :param prefix: only tables at this path or below it, where none are named.
        :param plan: a plan to run, such as an edited one of an answer (``docs/plan.md``).
        :param sql: a statement that answers instead; it may have semantic functions (``docs/plan.md``).
        :param plan_only: whether the plan is not run: what it will cost is said.
        :param budget_tokens: how many tokens running the plan may take; the node has a limit of its own.
        """
        named = None if tables is None else list(tables)
        asked = _given(
            q=question,
            tables=named,
            lake=lake,
            prefix=prefix,
            plan=plan,
            sql=sql,
            plan_only=plan_only,
            budget_tokens=budget_tokens,
        )
        return decode(AskAnswer, self._transport.send("POST", "/v1/ask", body=asked).json())

    def similar(self, name: str, *, lake: Optional[str] = None, k: Optional[int] = None) -> SimilarAnswer:
        """Tables that are like one; ``k`` of them, 1 to 100 (5)."""
        return self._get(SimilarAnswer, "/v1/table/similar", table=name, lake=lake, k=k)

    def joins(
        self,
        name: str,
        *,
        lake: Optional[str] = None,
        other: Optional[str] = None,
        kind: Optional[str] = None,
    ) -> JoinsAnswer:
        """What a table joins with, its copies, parts and unions.

        :param other: another table of its lake: then the answer is the way of joins there, of four at most.
        :param kind: only partners of this kind: ``join``, ``copy``, ``subset`` or ``union``.
        """
        return self._get(JoinsAnswer, "/v1/joins", table=name, lake=lake, kind=kind, **{"with": other})

    def history(self, name: str, *, lake: Optional[str] = None, limit: Optional[int] = None) -> History:
        """What became of a table in the last ``limit`` snapshots, 1 to 200 (20)."""
        return self._get(History, "/v1/table/history", table=name, lake=lake, limit=limit)

    def tables(
        self,
        *,
        prefix: Optional[str] = None,
        q: Optional[str] = None,
        format: Optional[str] = None,
        column_type: Optional[str] = None,
        min_rows: Optional[int] = None,
        max_rows: Optional[int] = None,
        modified_after: Union[date, str, None] = None,
        modified_before: Union[date, str, None] = None,
        family: Optional[str] = None,
        fold: Optional[bool] = None,
        sort: Optional[str] = None,
        descending: Optional[bool] = None,
        facets: Optional[bool] = None,
        after: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Listing:
        """A part of the list of all tables. :meth:`iter_tables` goes through all of it.

        :param q: only tables with each of these words in their name, their description or the name of a column.
        :param family: only tables of this family: the ``id`` of one that was listed.
        :param fold: whether tables of one folder with the same columns, three or more, are one line.
        :param sort: ``name``, ``rows``, ``columns`` or ``modified`` (``name``).
        :param descending: whether the order is turned round.
        :param facets: whether the tables are counted by format, folder, age and rows, too.
        :param after: where to go on: the ``next`` of the part before.
        :param limit: how many, 1 to 1000 (100).

        The other filters are those of :meth:`search`.
        """
        return self._get(
            Listing,
            "/v1/tables",
            prefix=prefix,
            q=q,
            format=format,
            column_type=column_type,
            min_rows=min_rows,
            max_rows=max_rows,
            modified_after=_time("modified_after", modified_after),
            modified_before=_time("modified_before", modified_before),
            family=family,
            fold=_truth(fold),
            sort=sort,
            descending=_truth(descending),
            facets=_truth(facets),
            after=after,
            limit=limit,
        )

    def iter_tables(
        self, *, prefix: Optional[str] = None, format: Optional[str] = None, page: int = 1000
    ) -> Iterator[TableLine]:
        """All tables in the order of their lakes and names, fetched in parts of ``page`` as they are needed."""
        after = None
        while True:
            part = self.tables(prefix=prefix, format=format, after=after, limit=page)
            yield from part
            if part.next is None or part.next == after:
                return
            after = part.next

    def tree(self, prefix: Optional[str] = None, *, after: Optional[str] = None, limit: Optional[int] = None) -> Tree:
        """What lies in a folder; at the top without one.

        :param after: where to go on: the ``next`` of the answer before.
        :param limit: how many folders and tables are given at once, 1 to 1000 (1000).
        """
        return self._get(Tree, "/v1/tree", prefix=prefix, after=after, limit=limit)

    # What became of it

    def diff(
        self,
        *,
        since: Optional[str] = None,
        older: Optional[int] = None,
        newer: Optional[int] = None,
        prefix: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Diff:
        """What differs between two snapshots; without numbers, between the newest and the last that differs from it.

        :param since: how long ago, such as ``1d`` or ``12h``, in place of ``older``.
        :param older: the older snapshot's number.
        :param newer: the newer snapshot's number (the newest).
        :param prefix: only tables at this path or below it.
        :param limit: how many tables of each list are given, 1 to 10000 (1000).
        """
        asked = {"from": older, "since": since, "to": newer, "prefix": prefix, "limit": limit}
        return self._get(Diff, "/v1/diff", **asked)

    def snapshots(self) -> Snapshots:
        """The snapshots that there are, newest first, at most 100."""
        return self._get(Snapshots, "/v1/snapshots")

    def events(self, events: Any) -> None:
        """Hands events of the lake's store (S3, EventBridge), as JSON, to the watcher. Needs the right ``admin``."""
        # What comes twice does no harm: a watcher looks where events point, and believes nothing else of them.
        self._transport.send("POST", "/v1/events", body=events)

    # How the node is

    def status(self) -> Status:
        """How the index and the node are, and what the key may do."""
        return self._get(Status, "/v1/status")

    def is_live(self) -> bool:
        """Whether a node runs at the address, however busy. Needs no key, and sends none."""
        return self._health("/health/live")

    def is_ready(self) -> bool:
        """Whether the node can answer. Needs no key, and sends none."""
        return self._health("/health/ready")

    def metrics(self) -> str:
        """What Prometheus reads, in the format OpenMetrics. Needs the right ``admin``."""
        return self._transport.send("GET", "/metrics").body.decode("utf-8", "replace")

    # The client itself

    @property
    def url(self) -> str:
        """Where the node is."""
        return self._transport.url

    def close(self) -> None:
        """Ends the connections that are kept. The client may be used again."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self.url!r}{', api_key=…' if self._transport.has_key else ''})"

    def __reduce__(self) -> Any:
        raise TypeError("a client is not pickled: it has a key and connections; make one where it is needed")

    def _get(self, kind: Type[A], path: str, /, **asked: Any) -> A:
        json = self._transport.send("GET", path, _given(**asked)).json()
        return link(decode(kind, json), self)

    def _sql(self, answer: Answer) -> SqlAnswer:
        json = answer.json()
        late = late_error(json, answer.request_id)
        if late is not None:
            raise late
        return decode(SqlAnswer, json)

    def _health(self, path: str) -> bool:
        try:
            return self._transport.send("GET", path, with_key=False).status == 204
        except LimnError:
            return False


def _given(**asked: Any) -> Dict[str, Any]:
    """What was said, as it is sent. What was not, the node decides."""
    return {name: value for name, value in asked.items() if value is not None}


def _truth(said: Any) -> Any:
    """As an address has it."""
    return str(said).lower() if isinstance(said, bool) else said


def _in_csv(name: str) -> str:
    """A name as CSV has it."""
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def _time(what: str, time: Union[date, str, None]) -> Optional[str]:
    if time is None or isinstance(time, str):
        return time
    if not isinstance(time, datetime):
        time = datetime(time.year, time.month, time.day, tzinfo=timezone.utc)
    if time.utcoffset() is None:
        raise ValueError(
            f"{what} has no time zone: say which is meant, as datetime(…, tzinfo=timezone.utc) or by .astimezone()"
        )
    return time.isoformat()
