//! JSON in its shapes.

use super::{Odd, ignores, noted, reads, refuses};

pub fn files() -> Vec<Odd> {
    vec![
        reads(
            "lines.jsonl",
            "{\"a\": 1, \"b\": \"x\"}\n{\"a\": 2, \"b\": \"y\"}\n",
            "a:integer b:text",
            2,
        ),
        reads("lines.ndjson", "{\"a\": 1}\n{\"a\": 2}\n", "a:integer", 2),
        reads("array.json", "[{\"a\": 1}, {\"a\": 2.5}]", "a:float", 2),
        noted(
            "wrapped.json",
            "{\"meta\": {\"count\": 2}, \"data\": [{\"a\": 1, \"b\": [\"x\"]}, {\"a\": 2}]}",
            "a:integer b[]:text",
            2,
            "objects of the list data;",
        ),
        noted(
            "deeper.json",
            "{\n \"response\": {\n  \"items\": [\n   {\"a\": 1}\n  ],\n  \"next\": null\n }\n}\n",
            "a:integer",
            1,
            "objects of the list response.items;",
        ),
        reads(
            "cells.json",
            "{\"columns\": [\"a\", \"b\"], \"data\": [[1, \"x\"], [2, \"y\"]]}",
            "a:integer b:text",
            2,
        ),
        reads(
            "two_lists.json",
            "{\"a\": [{\"x\": 1}], \"b\": [{\"x\": 2}]}",
            "a[].x:integer b[].x:integer",
            1,
        ),
        ignores("wraps_nothing.json", "{\"data\": []}"),
        ignores(
            "settings.json",
            "{\n  // of an editor\n  \"tabs\": [4, 8]\n}\n",
        ),
        ignores(
            "failed.json",
            "{\"error\": {\"message\": \"too many requests\"}}",
        ),
        reads(
            "one_after_another.json",
            "{\n \"a\": 1\n}\n{\n \"a\": 2\n}\n",
            "a:integer",
            2,
        ),
        ignores("one_object.json", "{\"a\": 1, \"b\": null}"),
        reads(
            "other_keys.jsonl",
            "{\"a\": 1}\n{\"b\": 2}\n{\"c\": 3}\n",
            "a:integer b:integer c:integer",
            3,
        ),
        reads(
            "same_key.jsonl",
            "{\"a\": 1, \"a\": 2}\n{\"a\": 3}\n",
            "a:integer",
            2,
        ),
        reads(
            "mixed_types.jsonl",
            "{\"a\": 1}\n{\"a\": \"x\"}\n{\"a\": true}\n",
            "a:text",
            3,
        ),
        reads(
            "nested.jsonl",
            "{\"id\": 1, \"at\": {\"city\": \"Bern\", \"geo\": {\"lat\": 46.9}}, \"tags\": [\"a\"]}\n\
             {\"id\": 2, \"at\": null}\n\
             {\"id\": 3, \"at\": {\"geo\": {}, \"zip\": \"3000\"}}\n",
            "id:integer at.city:text at.geo.lat:float at.zip:text tags[]:text",
            3,
        ),
        reads(
            "lists.jsonl",
            "{\"id\": 1, \"tags\": [\"a\", \"b\"], \"items\": [{\"sku\": \"x\", \"n\": 1}, {\"sku\": \"y\"}]}\n\
             {\"id\": 2, \"tags\": [], \"items\": [{\"sku\": \"z\", \"at\": {\"lat\": 1.5}}], \"m\": [[1], [2.5]]}\n",
            "id:integer tags[]:text items[].sku:text items[].n:integer items[].at.lat:float m[][]:float",
            2,
        ),
        reads(
            "list_or_not.jsonl",
            "{\"a\": [1, 2]}\n{\"a\": \"none\"}\n",
            "a:text a[]:integer",
            2,
        ),
        reads(
            "nested_or_not.json",
            "[{\"a\": {\"b\": 1}}, {\"a\": 5}]",
            "a:integer a.b:integer",
            2,
        ),
        reads(
            "no_numbers.jsonl",
            "{\"a\": 1, \"x\": NaN}\n{\"a\": 2, \"x\": 2.5}\n{\"a\": 3, \"x\": -Infinity}\n",
            "a:integer x:float",
            3,
        ),
        reads(
            "no_numbers.json",
            "[{\"a\": 1, \"x\": NaN}, {\"a\": 2, \"x\": Infinity}, {\"a\": 3, \"x\": 2.5}]",
            "a:integer x:float",
            3,
        ),
        reads(
            "escapes.jsonl",
            "{\"a\": \"\\u00e9\\n\\\"q\\\"\"}\n",
            "a:text",
            1,
        ),
        noted(
            "a_bad_line.jsonl",
            "{\"a\": 1}\nnot json\n{\"a\": 2}\n{\"a\": 3}\n",
            "a:integer",
            3,
            "left out without a JSON object",
        ),
        noted(
            "array_with_others.json",
            "[{\"a\": 1}, 5, {\"a\": 2}]",
            "a:integer",
            2,
            "without a JSON object",
        ),
        refuses(
            "no_json.jsonl",
            "this is\nnot json\nat all\n",
            "no JSON object",
        ),
        ignores("numbers.json", "[1, 2, 3]"),
        refuses("lists.ndjson", "[1,2]\n[3,4]\n", "its lines are arrays"),
        refuses("breaks_off.json", "[{\"a\": 1}, {\"a\":", "breaks off"),
        refuses("empty_objects.jsonl", "{}\n{}\n", "has a field"),
        ignores("empty_array.json", "[]"),
        refuses("empty.json", "", "no bytes"),
        refuses("too_many_keys.json", many_keys(20_000), "keys"),
        refuses(
            "page.json",
            "<html><body>502 Bad Gateway</body></html>",
            "HTML",
        ),
    ]
}

/// Objects with a key each that no other has.
fn many_keys(keys: usize) -> String {
    (0..keys)
        .map(|key| format!("{{\"k{key}\": {key}}}\n"))
        .collect()
}
