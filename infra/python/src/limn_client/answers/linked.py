"""Answers that go on: they know the client that they came by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, TypeVar, cast

from .._decode import Decoded

if TYPE_CHECKING:
    from ..client import Client
    from .changes import History
    from .search import JoinsAnswer, SimilarAnswer
    from .tables import TableDetail

A = TypeVar("A", bound=Decoded)


class Linked(Decoded):
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


class TableRef(Linked):
    _NAMES = {"name": "table"}

    name: str
    lake: str

    def table(self) -> TableDetail:
        """What is known of the table: columns with their profiles, sampled rows, texts, files."""
        return self._asked.table(self.name, lake=self.lake)

    def similar(self, *, k: Optional[int] = None) -> SimilarAnswer:
        """Tables that are like it; ``k`` of them (5)."""
        return self._asked.similar(self.name, lake=self.lake, k=k)

    def joins(self, *, kind: Optional[str] = None) -> JoinsAnswer:
        """What it joins with, its copies, parts and unions."""
        return self._asked.joins(self.name, lake=self.lake, kind=kind)

    def history(self, *, limit: Optional[int] = None) -> History:
        """What became of it in the last ``limit`` (20) snapshots."""
        return self._asked.history(self.name, lake=self.lake, limit=limit)


def link(answer: A, client: Client, **more: Any) -> A:
    """Gives an answer, and what is in it, the client it came by."""
    if isinstance(answer, Linked):
        object.__setattr__(answer, "_client", client)
        for name, value in more.items():
            object.__setattr__(answer, name, value)
    for value in answer.__dict__.values():
        for item in value if isinstance(value, tuple) else ():
            if isinstance(item, Decoded):
                link(item, client, **more)
    return answer
