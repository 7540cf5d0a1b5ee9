//! Feedback on answers.

use super::*;

#[test]
fn feedback_becomes_questions_to_measure_by() {
    let ground = Ground::new();
    let file = ground.at("feedback.jsonl");
    let index = ground.at("index");
    let node = Node::start(&index, &["--feedback", &file]);
    let said = |table: &str, verdict: &str| json!({"question": "sick leave of employees", "table": table, "verdict": verdict});
    assert_eq!(
        node.post("/v1/feedback", &said("hr/employees", "right"))
            .status,
        204
    );
    assert_eq!(
        node.post("/v1/feedback", &said("shop/orders", "wrong"))
            .status,
        204
    );
    node.post("/v1/feedback", &said("nowhere", "right"))
        .is_error(404, "not_found");
    node.post("/v1/feedback", &said("hr/employees", "maybe"))
        .is_error(400, "bad_request");
    let lines = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["tables"], json!(["hr/employees"]));
    assert_eq!(lines[1]["tables"], json!([]));
}

#[test]
fn a_full_file_of_feedback_loses_nothing_and_is_begun_anew_when_it_is_moved() {
    use std::os::unix::fs::PermissionsExt;
    let ground = Ground::new();
    let (file, moved) = (ground.at("feedback.jsonl"), ground.at("moved.jsonl"));
    let flags = ["--feedback", &file, "--feedback-size", "2KiB"];
    let node = Node::start(&ground.at("index"), &flags);
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut said = Vec::new();
    let refused = loop {
        let question = format!("question {} {}", said.len(), "x".repeat(200));
        let feedback = json!({"question": question, "table": "hr/employees", "verdict": "right"});
        match node.post("/v1/feedback", &feedback) {
            reply if reply.status == 204 => said.push(question),
            reply => break reply,
        }
        assert!(said.len() < 100);
    };
    refused.is_error(503, "unavailable");
    assert!(refused.body.contains("--feedback-size"));
    // What a node says may be read a little later than what it answers.
    let refused_at = Instant::now();
    while !node.said().contains("--feedback-size") {
        assert!(refused_at.elapsed() < Duration::from_secs(20));
        std::thread::sleep(Duration::from_millis(20));
    }
    let kept = |file: &str| -> Vec<String> {
        let text = std::fs::read_to_string(file).unwrap();
        assert!(text.len() <= 2 << 10, "{}", text.len());
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap());
        let questions = lines.map(|line| line["question"].as_str().unwrap().to_owned());
        questions.collect()
    };
    assert!(said.len() > 2);
    assert_eq!(kept(&file), said);
    std::fs::rename(&file, &moved).unwrap();
    let feedback = json!({"question": "new", "table": "hr/employees", "verdict": "right"});
    assert_eq!(node.post("/v1/feedback", &feedback).status, 204);
    assert_eq!((kept(&file), kept(&moved)), (vec!["new".to_owned()], said));
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
