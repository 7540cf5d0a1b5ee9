//! Plans that are refused.

use super::*;

#[test]
fn wrong_plans_are_refused_before_anything_runs() {
    let lake = Lake::new();
    let oracle = Oracle::start(geographer);
    let cities = json!({"c": {"table": "geo/cities"}});
    let of = |statement: &str| sql("a", cities.clone(), statement);
    let filter = |instruction: &str| json!({"name": "f", "sem_filter": {"input": "a", "instruction": instruction}});
    let good = of("SELECT city FROM c");
    let cases = [
        (plan(&[], "a"), "no stages"),
        (plan(std::slice::from_ref(&good), "b"), "the answer is 'b'"),
        (
            plan(&[good.clone(), good.clone()], "a"),
            "several stages are called 'a'",
        ),
        (
            plan(
                &[
                    sql("a", json!({"b": {"stage": "b"}}), "SELECT 1 FROM b"),
                    sql("b", json!({"a": {"stage": "a"}}), "SELECT 1 FROM a"),
                ],
                "a",
            ),
            "a reads b reads a",
        ),
        (plan(&[of("SELECT town FROM c")], "a"), "stage 'a': "),
        (
            plan(&[of("SELECT city FROM visits")], "a"),
            "no input 'visits'; it has c",
        ),
        (plan(&[of("DROP TABLE c")], "a"), "reads only"),
        (
            plan(&[good.clone(), filter("{town} is in Asia")], "f"),
            "stage 'f'",
        ),
        (
            plan(&[good.clone(), filter("it is in Asia")], "f"),
            "stage 'f'",
        ),
        (
            plan(
                &[sql(
                    "a",
                    json!({"c": {"table": "geo/towns"}}),
                    "SELECT 1 FROM c",
                )],
                "a",
            ),
            "no table 'geo/towns'",
        ),
        (
            json!({"version": 7, "stages": [], "answer": "a"}),
            "version 7",
        ),
        (
            json!({"version": 1, "stages": [{"name": "a"}], "answer": "a"}),
            "0 operations",
        ),
        (
            json!({"version": 1, "stages": [], "answer": "a", "budgte": 1}),
            "budgte",
        ),
        (plan(&[filter("{city")], "f"), "brace"),
    ];
    for (wrong, says) in cases {
        let run = lake.plan(&wrong, &oracle.options());
        run.code_is(2);
        assert!(run.stderr.contains(says), "{wrong}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
    }
    // Stated columns are compared with those that come out.
    let mut stated = good.clone();
    stated["columns"] = json!([{"name": "city", "type": "integer"}]);
    let run = lake.plan(&plan(&[stated], "a"), &[]);
    assert!(
        run.stderr.contains("city (integer)") && run.stderr.contains("city (text)"),
        "{}",
        run.stderr
    );
    // No model, and a budget that is too small: before the first call.
    let run = lake.plan(&asian("{city} is in Asia"), &["--no-model"]);
    run.code_is(2);
    assert!(
        run.stderr.contains("--no-model allows none"),
        "{}",
        run.stderr
    );
    let small = [&["--budget-tokens", "20"][..], &oracle.options()].concat();
    let run = lake.plan(&asian("{city} is in Asia"), &small);
    run.code_is(2);
    assert!(
        run.stderr.contains("--budget-tokens allows 20"),
        "{}",
        run.stderr
    );
    assert_eq!(oracle.asked().len(), 0);
}
