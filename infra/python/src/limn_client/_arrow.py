"""Streams of Arrow as a node sends them: rows, and behind them a stream without rows whose schema says how they ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable

from ._errors import NotUnderstoodError
from ._rows import extra

if TYPE_CHECKING:
    import pyarrow

#: The type of such an answer.
ARROW = "application/vnd.apache.arrow.stream"


def table_of(send: Callable[[], bytes]) -> pyarrow.Table:
    """The table that is sent. Nothing is asked without pyarrow."""
    pa = extra("pyarrow", "arrow")
    source = pa.BufferReader(send())
    try:
        table: pyarrow.Table = pa.ipc.open_stream(source).read_all()
        ending = pa.ipc.open_stream(source).schema.metadata or {}
    except pa.ArrowInvalid as error:
        raise NotUnderstoodError(
            f"the answer is no stream of Arrow: {error}",
            "not_understood",
            "compare the versions of node and client: Client.status().version and limn_client.__version__",
        ) from error
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **ending})


def quoted(name: str) -> str:
    """A name as SQL has it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
