"""The client has all of docs/openapi.json: every address, every parameter, every field of every answer."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import inspect
import json
from typing import Any, Dict, Iterator, List, Mapping, Tuple

import pytest
from conftest import REPOSITORY

import limn_client
from limn_client import BadRequestError, Client
from limn_client._decode import json_name

API: Dict[str, Any] = json.loads((REPOSITORY / "docs/openapi.json").read_text())
SCHEMAS: Dict[str, Any] = API["components"]["schemas"]

#: The method of every operation, and how it calls parameters that have other names.
METHODS: Dict[str, Tuple[str, Mapping[str, str]]] = {
    "search": ("search", {"q": "question"}),
    "search_by_body": ("search", {"q": "question"}),
    "suggest": ("suggest", {"q": "text"}),
    "feedback": ("feedback", {}),
    "examples": ("examples", {}),
    "set_description": ("describe", {"table": "name"}),
    "table": ("table", {"table": "name"}),
    "similar": ("similar", {"table": "name"}),
    "joins": ("joins", {"table": "name", "with": "other"}),
    "rows": ("rows", {"table": "name"}),
    "sql": ("sql", {}),
    "cells": ("cells", {"q": "question"}),
    "ask": ("ask", {"q": "question"}),
    "history": ("history", {"table": "name"}),
    "tables": ("tables", {}),
    "tree": ("tree", {}),
    "diff": ("diff", {"from": "older", "to": "newer"}),
    "snapshots": ("snapshots", {}),
    "events": ("events", {}),
    "status": ("status", {}),
    "live": ("is_live", {}),
    "ready": ("is_ready", {}),
    "metrics": ("metrics", {}),
}

#: What the client names otherwise, and what it has no use for: bodies of requests and of errors, and words.
TYPES = {"SearchResult": "Hit"}
NO_ANSWERS = {
    "SearchRequest",
    "SearchMode",
    "SqlRequest",
    "CellsRequest",
    "AskRequest",
    "Plan",
    "PlanStage",
    "PlanSource",
    "PlanValueType",
    "SqlStage",
    "SemFilter",
    "SemMap",
    "SemExtract",
    "SemTopK",
    "SemAgg",
    "SemJoin",
    "Cascade",
    "ColumnSpec",
    "Fact",
    "CellMatch",
    "Feedback",
    "Description",
    "Sort",
    "ErrorAnswer",
    "Code",
    "Right",
    "SuggestionKind",
    "Verdict",
    "Grade",
    "Ranking",
}


def operations() -> Iterator[Tuple[str, str, Dict[str, Any]]]:
    for path, methods in API["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def parameters(operation: Dict[str, Any]) -> Dict[str, Any]:
    """What an operation takes: in the address, or as fields of the body."""
    taken = {it["name"]: {**it["schema"], "required": it["required"]} for it in operation.get("parameters", [])}
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in body:
        schema = SCHEMAS[body["$ref"].rsplit("/", 1)[1]]
        for name, of in schema["properties"].items():
            taken[name] = {**of, "required": name in schema.get("required", ())}
    return taken


def test_every_operation_has_a_method_and_every_parameter_an_argument() -> None:
    assert {operation["operationId"] for _, _, operation in operations()} == set(METHODS)
    for _, _, operation in operations():
        method, names = METHODS[operation["operationId"]]
        signature = inspect.signature(getattr(Client, method)).parameters
        for name, schema in parameters(operation).items():
            argument = signature[names.get(name, name)]
            is_required = argument.default is inspect.Parameter.empty
            assert is_required == schema["required"], f"{method}({name})"
        wanted = {names.get(name, name) for name in parameters(operation)} | {"self"}
        if method != "events":
            assert set(signature) == wanted, method


def _outside(schema: Dict[str, Any]) -> List[Any]:
    """Values that a parameter may not have."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "minimum" in schema and "integer" in kinds:
        return [schema["minimum"] - 1, "many"]
    if "number" in kinds:
        return [schema["maximum"] + 0.5, schema["minimum"] - 0.5]
    if "boolean" in kinds:
        return ["perhaps"]
    if schema.get("format") == "date-time":
        return ["yesterday"]
    return []


def test_every_parameter_with_bounds_reaches_the_node(client: Client) -> None:
    """The node refuses what is outside of them, so that it must have got it."""
    tried = 0
    for _, _, operation in operations():
        method, names = METHODS[operation["operationId"]]
        taken = parameters(operation)
        needed = {
            "q": "water",
            "table": "hydrology/secchi",
            "question": "water",
            "verdict": "right",
            "text": "water",
            "sql": "SELECT 1",
        }
        given = {names.get(name, name): needed[name] for name in taken if taken[name]["required"]}
        for name, schema in taken.items():
            for value in _outside(schema):
                with pytest.raises(BadRequestError):
                    getattr(client, method)(**{**given, names.get(name, name): value})
                tried += 1
    assert tried > 20


def properties(schema: Dict[str, Any]) -> Dict[str, Any]:
    if "$ref" in schema:
        return properties(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]])
    found: Dict[str, Any] = dict(schema.get("properties", {}))
    for part in schema.get("allOf", []):
        found.update(properties(part))
    return found


def required(schema: Dict[str, Any]) -> List[str]:
    if "$ref" in schema:
        return required(SCHEMAS[schema["$ref"].rsplit("/", 1)[1]])
    return [*schema.get("required", []), *(name for part in schema.get("allOf", []) for name in required(part))]


def test_every_field_of_every_answer_is_there() -> None:
    for name, schema in SCHEMAS.items():
        if name in NO_ANSWERS:
            continue
        kind = getattr(limn_client, TYPES.get(name, name))
        mine = {json_name(kind, it.name): it for it in dataclasses.fields(kind)}
        assert set(mine) == set(properties(schema)), name
        for field in set(mine) - set(required(schema)):
            assert "Optional" in str(mine[field].type), f"{name}.{field} may be missing"


def test_an_answer_s_json_is_all_in_its_fields(client: Client) -> None:
    """What the real node answers has no field that the description, and so the client, lacks."""
    answers: List[Any] = [
        client.search("water"),
        client.table("hydrology/secchi"),
        client.status(),
        client.diff(),
        client.tree(),
        client.cells("water"),
    ]
    for answer in answers:
        kind = type(answer)
        assert set(answer.raw) <= {json_name(kind, it.name) for it in dataclasses.fields(kind)}


def test_the_version_is_the_node_s() -> None:
    assert limn_client.__version__ == API["info"]["version"]
    about = importlib.metadata.metadata("limn-client")
    assert about["Version"] == limn_client.__version__ and about["Name"] == "limn-client"
    assert about["License-Expression"] == "Apache-2.0"
    needs = importlib.metadata.requires("limn-client") or []
    assert needs and all("extra ==" in need for need in needs), "nothing is needed but Python"
    files = {str(file) for file in importlib.metadata.files("limn-client") or []}
    assert "limn_client/py.typed" in files and any(name.endswith("LICENSE") for name in files)


def test_the_licence_is_the_repository_s() -> None:
    assert (REPOSITORY / "infra/python/LICENSE").read_bytes() == (REPOSITORY / "LICENSE").read_bytes()


def test_everything_public_is_documented() -> None:
    for name in limn_client.__all__:
        thing = getattr(limn_client, name)
        if not inspect.isclass(thing):
            continue
        assert thing.__doc__ and not thing.__doc__.startswith(f"{name}("), name
        for member, value in vars(thing).items():
            if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{member}"
