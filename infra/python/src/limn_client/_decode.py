"""JSON to typed objects.

A node may be newer than this client: what it adds is left out of the typed fields and stays in
``raw``. What it writes differently is an error that says where.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from datetime import datetime, timedelta, timezone
from typing import (
    Any,
    ClassVar,
    Dict,
    Mapping,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from ._errors import NotUnderstoodError

T = TypeVar("T")

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))")


class Decoded:
    """A part of a node's answer."""

    #: Fields that have another name in JSON.
    _NAMES: ClassVar[Mapping[str, str]] = {}

    @property
    def raw(self) -> Mapping[str, Any]:
        """The JSON that this was made of, with whatever this client does not know yet."""
        return cast(Mapping[str, Any], self.__dict__.get("_raw", {}))


def json_name(kind: Type[Any], field: str) -> str:
    """The name of a field of an answer in JSON."""
    names: Mapping[str, str] = kind._NAMES
    return names.get(field, field)


def decode(kind: Type[T], value: Any) -> T:
    """Makes an object of this kind.

    :raises NotUnderstoodError: where the JSON is not of this kind.
    """
    return cast(T, _decode(kind, value, kind.__name__))


#: Of every kind of answer: its fields, their names in JSON, and their types.
_PLANS: Dict[Type[Any], Sequence[Tuple[str, str, Any]]] = {}


def _plan(kind: Type[Any]) -> Sequence[Tuple[str, str, Any]]:
    plan = _PLANS.get(kind)
    if plan is None:
        types: Dict[str, Any] = get_type_hints(kind)
        plan = _PLANS[kind] = [(it.name, json_name(kind, it.name), types[it.name]) for it in fields(kind)]
    return plan


def _decode(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin = get_origin(kind)
    if origin is Union:  # Optional: the only union there is.
        inner = next(it for it in get_args(kind) if it is not type(None))
        return None if value is None else _decode(inner, value, where)
    if origin is tuple:
        item = get_args(kind)[0]
        if not isinstance(value, list):
            raise _not_understood(where, "a list", value)
        return tuple(_decode(item, it, f"{where}[{place}]") for place, it in enumerate(value))
    if is_dataclass(kind):
        return _object(cast(Type[Any], kind), value, where)
    if kind is datetime:
        return _time(value, where)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise _not_understood(where, {"str": "a text", "bool": "true or false"}.get(kind.__name__, "a number"), value)
    return value


def _object(kind: Type[Any], value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise _not_understood(where, "an object", value)
    known = {}
    for name, json, of in _plan(kind):
        if json in value:
            known[name] = _decode(of, value[json], f"{where}.{json}")
        elif get_origin(of) is tuple:
            known[name] = ()
        elif get_origin(of) is Union:
            known[name] = None
        else:
            raise _not_understood(f"{where}.{json}", "something", None)
    made = kind(**known)
    object.__setattr__(made, "_raw", value)
    return made


def _time(value: Any, where: str) -> datetime:
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise _not_understood(where, "a time (RFC 3339)", value)
    year, month, day, hour, minute, second, fraction, sign, hours, minutes = found.groups()
    micro = int((fraction or "0").ljust(6, "0")[:6])
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0)) * (-1 if sign == "-" else 1)
    try:
        # A leap second is the last of its minute: datetime knows none.
        time = datetime(
            int(year), int(month), int(day), int(hour), int(minute), min(int(second), 59), micro, timezone(offset)
        )
        return time.astimezone(timezone.utc)
    except (ValueError, OverflowError):
        raise _not_understood(where, "a time (RFC 3339)", value) from None


def _not_understood(where: str, wanted: str, value: Any) -> NotUnderstoodError:
    got = {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}.get(type(value), repr(value))
    return NotUnderstoodError(
        f"the answer has {got} at {where}, where {wanted} belongs",
        "not_understood",
        "compare the versions of node and client: Client.status().version and limn_client.__version__",
    )
