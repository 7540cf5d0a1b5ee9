//! Which rows and columns come out of each operator.

use super::oracle::sentence;
use super::*;

/// Cities and whether they are in Asia.
fn in_asia() -> Oracle {
    Oracle::of_cell(" is in Asia", |city| match city {
        "Tokyo" | "Delhi" => Said::Odds(3.0),
        "Istanbul" => Said::Odds(0.5),
        "Atlantis" => Said::Fails,
        _ => Said::Odds(-2.0),
    })
}

#[test]
fn a_filter_asks_once_about_equal_rows_and_keeps_those_that_are_likelier_true() {
    let oracle = Arc::new(in_asia());
    let asker = asker(&oracle);
    let cities: [Option<&str>; 8] = [
        Some("Tokyo"),
        Some("Rome"),
        None,
        Some("Tokyo"),
        Some("Atlantis"),
        Some("Istanbul"),
        Some("Delhi"),
        Some("Rome"),
    ];
    let batch = rows(&[("city", &cities), ("other", &["a"; 8].map(Some))]);
    let filter =
        operation(json!({"sem_filter": {"input": "r", "instruction": "{CITY} is in Asia"}}));
    let estimate = block_on(estimate(&asker, &filter, std::slice::from_ref(&batch))).unwrap();
    assert_eq!((oracle.calls(), estimate.calls, estimate.kept), (0, 5, 0));
    let output = block_on(run(&asker, &filter, std::slice::from_ref(&batch))).unwrap();
    assert_eq!(
        shown(&output.batch, "city"),
        ["Tokyo", "Tokyo", "Istanbul", "Delhi"]
    );
    assert_eq!((oracle.calls(), output.failed), (5, 1));
    assert_eq!(output.notes.len(), 1, "{:?}", output.notes);
    let sure: Vec<u32> = output.judged[0]
        .sure
        .iter()
        .map(|it| (it.unwrap() * 100.0) as u32)
        .collect();
    assert_eq!(sure, [95, 95, 62, 95]);

    // Another threshold asks nothing but what failed, and keeps fewer rows.
    let strict = operation(json!({"sem_filter": {
        "input": "r", "instruction": "{CITY} is in Asia", "threshold": 0.9}}));
    let output = block_on(run(&asker, &strict, &[batch])).unwrap();
    assert_eq!(shown(&output.batch, "city"), ["Tokyo", "Tokyo", "Delhi"]);
    assert_eq!(oracle.calls(), 6);
}

#[test]
fn a_model_without_probabilities_is_taken_at_its_word() {
    let oracle = Arc::new(Oracle::of_cell(" is odd", |n| {
        Said::Word(usize::from(n != "1"))
    }));
    let filter = operation(json!({"sem_filter": {"input": "r", "instruction": "{n} is odd"}}));
    let output = block_on(run(&asker(&oracle), &filter, &[numbers("n", &[1, 2, 1])])).unwrap();
    assert_eq!(shown(&output.batch, "n"), ["1", "1"]);
    assert_eq!(output.judged[0].sure, [None, None]);
}

#[test]
fn a_long_value_stands_beside_its_sentence() {
    let oracle = Arc::new(Oracle::new(|_| Said::Odds(1.0)));
    let filter = operation(json!({"sem_filter": {
        "input": "r", "instruction": "{review}, of {product}, is {{good}}"}}));
    let long = format!("It {} well.", "really ".repeat(20));
    let review = [Some(long.as_str()), Some("fine"), None];
    let batch = rows(&[("review", &review), ("product", &[Some("a <lamp>"); 3])]);
    block_on(run(&asker(&oracle), &filter, &[batch])).unwrap();
    let mut own: Vec<String> = oracle.asked().into_iter().map(|it| it.own).collect();
    own.sort();
    let of = |at: usize| own[at].split("\n\n").next().unwrap().to_owned();
    assert_eq!(
        of(0),
        format!(
            "<row>\nreview: {long}\n</row>\n<sentence>\nreview, of a ‹lamp›, is {{good}}\n</sentence>"
        )
    );
    assert_eq!(
        of(1),
        "<sentence>\n(no value), of a ‹lamp›, is {good}\n</sentence>"
    );
    assert_eq!(
        of(2),
        "<sentence>\nfine, of a ‹lamp›, is {good}\n</sentence>"
    );
}

#[test]
fn columns_have_the_declared_types_and_what_does_not_fit_is_null() {
    let oracle = Arc::new(Oracle::of_cell(": its year", |n| match n {
        "1" => Said::Text("\n year: 1,999.\nor so".to_owned()),
        "2" => Said::Text("about 1999".to_owned()),
        "3" => Said::Fails,
        _ => Said::Text("Unknown".to_owned()),
    }));
    let map = operation(json!({"sem_map": {
        "input": "r", "instruction": "{n}: its year", "output": {"name": "year", "type": "integer"}}}));
    let batch = numbers("n", &[4, 1, 2, 3, 1]);
    let output = block_on(run(&asker(&oracle), &map, &[batch])).unwrap();
    assert_eq!(shown(&output.batch, "year"), ["", "1999", "", "", "1999"]);
    assert_eq!((oracle.calls(), output.failed), (4, 3));

    // Few words are chosen among.
    let oracle = Arc::new(Oracle::of_cell("", |n| {
        Said::Odds(if n == "1" { 1.0 } else { -1.0 })
    }));
    let map = operation(json!({"sem_map": {
        "input": "r", "instruction": "{n}", "output": {"name": "kind", "one_of": ["odd", "even"]}}}));
    let output = block_on(run(&asker(&oracle), &map, &[numbers("n", &[1, 2])])).unwrap();
    assert_eq!(shown(&output.batch, "kind"), ["odd", "even"]);
    assert!(output.judged[0].sure.iter().all(|it| it.unwrap() > 0.7));
}

#[test]
fn an_extraction_reads_a_line_for_each_column() {
    let oracle = Arc::new(Oracle::new(|_| {
        Said::Cut("- Stars: 4\n**product**: Lamp: the red one\nbought: 2024-05".to_owned())
    }));
    let extract = operation(
        json!({"sem_extract": {"input": "r", "instruction": "{review}", "outputs": [
        {"name": "product"}, {"name": "stars", "type": "integer"},
        {"name": "bought", "type": "date"}, {"name": "colour"}]}}),
    );
    let batch = column("review", &["a lamp", "a lamp"]);
    let output = block_on(run(&asker(&oracle), &extract, &[batch])).unwrap();
    assert_eq!(shown(&output.batch, "product"), ["Lamp: the red one"; 2]);
    assert_eq!(shown(&output.batch, "stars"), ["4"; 2]);
    assert_eq!(shown(&output.batch, "bought"), [""; 2]);
    assert_eq!((oracle.calls(), output.failed), (1, 2));
}

#[test]
fn a_text_of_many_rows_is_folded_and_cites_rows_that_were_read() {
    // Cites every row that it is shown, and one that it is not.
    let script = |prompt: &limn_models::Prompt| {
        let data = prompt.own.split("</").next().unwrap();
        let shown: Vec<&str> = data
            .split('[')
            .skip(1)
            .map(|it| it.split(']').next().unwrap())
            .collect();
        Said::Text(format!("All [{}], [900].", shown.join(", ")))
    };
    let mut oracle = Oracle::new(script);
    oracle.window = 700;
    let oracle = Arc::new(oracle);
    let texts: Vec<String> = (0..60)
        .map(|it| format!("review {it} says [7] {}", "well ".repeat(20)))
        .collect();
    let mut values: Vec<Option<&str>> = texts.iter().map(|it| Some(it.as_str())).collect();
    values.push(values[3]);
    values.push(None);
    let kinds: Vec<Option<&str>> = (0..62)
        .map(|it| Some(if it % 2 == 0 { "b" } else { "a" }))
        .collect();
    let batch = rows(&[("review", &values), ("kind", &kinds)]);
    let agg = operation(json!({"sem_agg": {
        "input": "r", "instruction": "what {review} say", "group_by": ["kind"], "output": "said"}}));
    let asker = asker(&oracle);
    let output = block_on(run(&asker, &agg, std::slice::from_ref(&batch))).unwrap();
    assert_eq!(shown(&output.batch, "kind"), ["b", "a"]);
    let cites = output.cites.clone().unwrap();
    let even: Vec<u64> = (0..60).filter(|it| it % 2 == 0).chain([60]).collect();
    let odd: Vec<u64> = (0..60).filter(|it| it % 2 == 1).collect();
    // The sixty-first row is equal to the fourth, in another group.
    assert_eq!(cites, [even, odd]);
    assert!(!shown(&output.batch, "said").join("").contains("900"));
    let folds = oracle
        .asked()
        .iter()
        .filter(|it| it.own.starts_with("<texts>"))
        .count();
    assert!(
        folds >= 2 && oracle.calls() > folds + 2,
        "{folds} of {}",
        oracle.calls()
    );
    assert_eq!(block_on(estimate(&asker, &agg, &[batch])).unwrap().calls, 0);
}

#[test]
fn equal_rows_of_a_group_are_read_once_with_their_number() {
    let oracle = Arc::new(Oracle::new(|_| Said::Text("Fine [1].".to_owned())));
    let agg = operation(json!({"sem_agg": {"input": "r", "instruction": "{review}"}}));
    let batch = column("review", &["good", "bad", "good"]);
    let output = block_on(run(&asker(&oracle), &agg, &[batch])).unwrap();
    assert_eq!(shown(&output.batch, "summary"), ["Fine [1]."]);
    let own = &oracle.asked()[0].own;
    assert!(
        own.starts_with("<rows>\n[1] (2 rows) review: good\n[2] review: bad\n</rows>\n"),
        "{own}"
    );
}

#[test]
fn a_join_judges_pairs_and_of_many_only_the_likest() {
    let script = |prompt: &limn_models::Prompt| {
        let sentence = sentence(&prompt.own);
        let (left, right) = sentence.split_once(" is ").unwrap();
        Said::Odds(if left == right { 2.0 } else { -2.0 })
    };
    let oracle = Arc::new(Oracle::new(script));
    let join = json!({"left": "a", "right": "b", "instruction": "{left.n} is {right.n}"});
    let all = operation(json!({"sem_join": join}));
    let (left, right) = (numbers("n", &[3, 1, 3]), numbers("n", &[1, 2, 3, 3]));
    let output = block_on(run(&asker(&oracle), &all, &[left, right])).unwrap();
    assert_eq!(oracle.calls(), 6);
    assert_eq!(shown(&output.batch, "left_n"), ["3", "3", "1", "3", "3"]);
    assert_eq!(shown(&output.batch, "right_n"), ["3", "3", "1", "3", "3"]);

    let oracle = Arc::new(Oracle::new(script));
    let few = operation(json!({"sem_join": {
        "left": "a", "right": "b", "instruction": "{left.n} is {right.n}", "candidates": 2}}));
    let tenths: Vec<String> = (0..10).map(|it| format!("0.{it}")).collect();
    let tenths: Vec<&str> = tenths.iter().map(String::as_str).collect();
    let both = [column("n", &tenths), column("n", &tenths)];
    let without = block_on(run(&asker(&oracle), &few, &both));
    assert!(matches!(without, Err(SemanticError::NoEmbedder(_))));
    let embedder = Arc::new(oracle::Numbered(limn_models::ModelId::new("numbered")));
    let asker = asker(&oracle).with_embedder(embedder);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let output = runtime.block_on(run(&asker, &few, &both)).unwrap();
    assert_eq!(oracle.calls(), 20);
    assert_eq!(shown(&output.batch, "left_n"), tenths);
    assert!(output.notes[0].contains("2 of 10"), "{:?}", output.notes);
}

#[test]
fn a_fact_is_a_list_of_distinct_values_or_what_somebody_wrote() {
    let oracle = Arc::new(Oracle::new(|_| {
        Said::Cut("1. Alameda\n- Marin\n* alameda\n\nunknown\nNap".to_owned())
    }));
    let fact = json!({"instruction": "the counties of the Bay Area", "output": {"name": "county"}, "list": true});
    let asked = operation(json!({"sem_fact": fact}));
    let output = block_on(run(&asker(&oracle), &asked, &[])).unwrap();
    assert_eq!(shown(&output.batch, "county"), ["Alameda", "Marin"]);
    assert_eq!((output.failed, output.notes.len()), (1, 1));

    let mut written = fact.clone();
    written["values"] = json!(["1", "x"]);
    written["output"]["type"] = json!("integer");
    let wrong = block_on(run(
        &asker(&oracle),
        &operation(json!({"sem_fact": written})),
        &[],
    ));
    assert!(matches!(wrong, Err(SemanticError::Value { .. })));
    written["values"] = json!(["1", "2"]);
    let output = block_on(run(
        &asker(&oracle),
        &operation(json!({"sem_fact": written})),
        &[],
    ))
    .unwrap();
    assert_eq!(shown(&output.batch, "county"), ["1", "2"]);
    assert_eq!((oracle.calls(), output.judged.len()), (1, 0));

    let oracle = Arc::new(Oracle::new(|_| Said::Text("Unknown.".to_owned())));
    let one = operation(
        json!({"sem_fact": {"instruction": "x", "output": {"name": "y", "type": "float"}}}),
    );
    let output = block_on(run(&asker(&oracle), &one, &[])).unwrap();
    assert_eq!(
        (shown(&output.batch, "y"), output.failed),
        (vec![String::new()], 1)
    );
}

#[test]
fn what_is_wrong_with_a_stage_is_said_before_anything_is_asked() {
    let schema = column("city", &[]).schema();
    let of = |written: Value| output_schema(&operation(written), std::slice::from_ref(&schema));
    let wrong =
        of(json!({"sem_filter": {"input": "r", "instruction": "{ctiy} is old"}})).unwrap_err();
    assert_eq!(wrong.to_string(), "no column 'ctiy'; did you mean city?");
    let wrong = of(json!({"sem_filter": {"input": "r", "instruction": "it is old"}})).unwrap_err();
    assert!(matches!(wrong, SemanticError::NoColumns(_)));
    let wrong =
        of(json!({"sem_map": {"input": "r", "instruction": "{city}", "output": {"name": "City"}}}));
    assert!(matches!(wrong, Err(SemanticError::ColumnTaken(_))));
    let wrong =
        of(json!({"sem_filter": {"input": "r", "instruction": "{city}", "threshold": 1.5}}));
    assert!(matches!(wrong, Err(SemanticError::OutOfBounds { .. })));
    let wrong = of(json!({"sem_topk": {"input": "r", "instruction": "{city}", "k": 0}}));
    assert!(matches!(wrong, Err(SemanticError::OutOfBounds { .. })));
    let join = |sentence: &str| {
        let join = json!({"sem_join": {"left": "a", "right": "b", "instruction": sentence}});
        let schemas = [Arc::clone(&schema), Arc::clone(&schema)];
        output_schema(&operation(join), &schemas)
    };
    assert!(matches!(
        join("{city} is it"),
        Err(SemanticError::AmbiguousColumn(_))
    ));
    assert!(matches!(
        join("{a.city} is it"),
        Err(SemanticError::OneSide(_, "right"))
    ));
    let fine = join("{a.city} is {right.city}").unwrap();
    let names: Vec<&str> = fine.fields().iter().map(|it| it.name().as_str()).collect();
    assert_eq!(names, ["left_city", "right_city"]);
}

#[test]
fn all_columns_stand_in_a_sentence_with_their_names() {
    let oracle = Arc::new(Oracle::new(|_| Said::Word(0)));
    let batch = rows(&[("city", &[Some("Basel")]), ("people", &[None])]);
    let filter = json!({"input": "c", "instruction": "true of a town: {*}"});
    let filter = operation(json!({"sem_filter": filter}));
    block_on(run(&asker(&oracle), &filter, std::slice::from_ref(&batch))).unwrap();
    let countries = column("name", &["France"]);
    let join = json!({"left": "c", "right": "r", "instruction": "{c.*} is in {right.*}"});
    let join = operation(json!({"sem_join": join}));
    block_on(run(&asker(&oracle), &join, &[batch, countries])).unwrap();
    let asked = oracle.asked();
    let sentences: Vec<String> = asked.iter().map(|it| sentence(&it.own)).collect();
    assert_eq!(
        sentences,
        [
            "true of a town: city: Basel, people: (no value)",
            "left.city: Basel, left.people: (no value) is in right.name: France",
        ]
    );
}
