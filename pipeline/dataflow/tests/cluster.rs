//! Processes that meet among strangers, and narrations of a run that several share: each asks for
//! its part, and keeps what it has.
//!
//! The other tests of this folder run with several processes too, with `LIMN_LAB_PROCESSES=2`, and
//! with a key, with `LIMN_LAB_KEY=FILE`.

use crate::common;

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::Lab;
use common::fake_narrator::{Event, FakeNarrator, narration_of};
use common::narrated::{everything, narrated, narrated_by, narration_count, narrations, shop};
use limn_pipeline::{
    CancellationToken, Cluster, ClusterOptions, Narrate, NarrateWith, PipelineError,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_the_same_by_one_process_and_by_three() {
    let mut found = Vec::new();
    for processes in [1, 3] {
        let mut lab = Lab::new();
        (lab.processes, lab.options.workers) = (processes, 2);
        shop(&lab).await;
        let fake = FakeNarrator::new().shared();
        narrated_by(&mut lab, &fake);
        let report = lab.run().await;
        assert_eq!(narrated(&report), 5, "{report:?}");
        let mut asked = fake.take_asked();
        asked.sort();
        let embedded = report.model.embedded_blocks;
        found.push((asked, embedded, everything(&lab).await));
    }
    assert_eq!(found[0], found[1]);
}

/// A lake of 40 tables of 20 schemas, for three processes with models of their own.
async fn of_three(lab: &mut Lab, models: &[Option<Arc<FakeNarrator>>; 3]) {
    (lab.processes, lab.options.workers) = (3, 2);
    for table in 0..40 {
        let schema = table % 20;
        let text = format!("a{schema},b{schema}\n{table},2\n");
        lab.put(&format!("d{table:02}/t.csv"), &text).await;
    }
    lab.options.narrate = Narrate::Llm;
    let narrators = models.iter().map(|it| Some(NarrateWith::new(it.clone()?)));
    lab.narrators = narrators.collect();
    lab.options.narrator.clone_from(&lab.narrators[0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn each_process_asks_its_model_for_its_part_of_the_schemas() {
    let mut alone = Lab::new();
    let model = || Some(FakeNarrator::new().shared());
    of_three(&mut alone, &[model(), model(), model()]).await;
    alone.processes = 1;
    alone.run().await;
    let expected = everything(&alone).await;

    for models in [[model(), model(), model()], [model(), None, model()]] {
        let mut lab = Lab::new();
        of_three(&mut lab, &models).await;
        let begun = Instant::now();
        let report = lab.run().await;
        assert_eq!((narrated(&report), report.tables.added), (40, 40));
        assert_eq!(report.model.prompt_tokens, 40 * 40);
        assert!(report.seconds.narrate > 0.0 && report.notes.is_empty());
        // An epoch of tables that were narrated need not wait until more are.
        let after = lab.options.narrator.as_ref().unwrap().batch_after;
        assert!(begun.elapsed() < after, "{:?}", begun.elapsed());
        let asked: Vec<_> = models.iter().flatten().map(|it| it.take_asked()).collect();
        // Both columns of a schema are asked of one model, all once.
        let halves = |asked: &[String]| {
            asked
                .iter()
                .all(|it| !it.starts_with('a') || asked.contains(&it.replace('a', "b")))
        };
        assert!(
            asked.iter().all(|it| !it.is_empty() && halves(it)),
            "{asked:?}"
        );
        let mut all = asked.concat();
        all.sort();
        all.dedup();
        assert_eq!((all.len(), asked.concat().len()), (40, 40));
        assert_eq!(everything(&lab).await, expected);
        lab.run_is_idle().await;
        assert!(models.iter().flatten().all(|it| it.take_asked().is_empty()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_of_all_processes_fail_and_are_reported_once() {
    let model = || {
        let model = FakeNarrator::new();
        model.failing.lock().unwrap().insert("*".into());
        Some(model.shared())
    };
    let models = [model(), model(), model()];
    let mut lab = Lab::new();
    of_three(&mut lab, &models).await;
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.tables.added), (0, 40));
    assert_eq!(report.model.failed_columns, 40, "{report:?}");
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    for model in models.iter().flatten() {
        model.failing.lock().unwrap().clear();
        model.take_asked();
    }
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.model.failed_columns), (40, 0));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_the_leader_ends_the_asking_of_all() {
    for (stopped_by, stopped_at) in [(0, 0), (0, 3), (2, 1)] {
        let mut lab = Lab::new();
        let models = [0, 1, 2].map(|process| {
            let mut model = FakeNarrator::new();
            model.takes = Duration::from_millis(500);
            let stop = lab.options.stop.clone();
            model.event = (process == stopped_by).then(|| -> Event {
                Box::new(move |number| {
                    if number == stopped_at {
                        stop.cancel();
                    }
                })
            });
            Some(model.shared())
        });
        of_three(&mut lab, &models).await;
        let report = lab.run().await;
        assert!(report.stopped, "{report:?}");
        assert_eq!(
            narrated(&report),
            narration_count(&lab).await,
            "what came is kept"
        );
        assert_eq!(
            (report.tables.added, report.notes.len()),
            (40, 1),
            "{:?}",
            report.notes
        );
        let first = narrated(&report);
        lab.options.stop = CancellationToken::new();
        for model in models.iter().flatten() {
            model.take_asked();
        }
        let report = lab.run().await;
        assert_eq!((narrated(&report), report.stopped), (40 - first, false));
        // Each had learned of the stop before it had asked for all of its part.
        let asked: Vec<_> = models.iter().flatten().map(|it| it.take_asked()).collect();
        assert!(asked.iter().all(|it| !it.is_empty()), "{asked:?}");
        lab.run_is_idle().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_of_a_follower_while_it_asks_ends_the_asking_of_all() {
    let mut lab = Lab::new();
    let models = [0, 1, 2].map(|process| {
        let mut model = FakeNarrator::new();
        model.takes = Duration::from_millis(500);
        let stop = lab.stop_followers.clone();
        model.event = (process == 2).then(|| -> Event { Box::new(move |_| stop.cancel()) });
        Some(model.shared())
    });
    of_three(&mut lab, &models).await;
    let report = lab.run().await;
    assert!(report.stopped, "{report:?}");
    let first = narrated(&report);
    assert_eq!(first, narration_count(&lab).await, "what came is kept");
    assert!(first < 40 && report.tables.added == 40, "{report:?}");
    assert_eq!(report.notes.len(), 1, "{:?}", report.notes);
    // The leader was asked to stop, too.
    lab.options.stop = CancellationToken::new();
    lab.stop_followers = CancellationToken::new();
    let report = lab.run().await;
    assert_eq!((narrated(&report), report.stopped), (40 - first, false));
    lab.run_is_idle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_schemas_keep_their_words_wherever_they_are_settled() {
    let mut lab = Lab::new();
    (lab.processes, lab.options.workers) = (3, 1);
    lab.options.epoch_objects = 3;
    let fake = FakeNarrator::new().shared();
    narrated_by(&mut lab, &fake);
    let put = async |header: &str, asked: &[&str]| {
        let cells = header.split(',').map(|_| "1").collect::<Vec<_>>().join(",");
        for table in 0..8 {
            let text = format!("{header}\n{cells}\n");
            lab.put(&format!("d{table}/t.csv"), &text).await;
        }
        let report = lab.run().await;
        assert_eq!(fake.take_asked(), asked, "{header}");
        assert_eq!(narrated(&report), asked.len() as u64, "{header}");
        let expected: Vec<_> = header
            .split(',')
            .map(|column| Some(narration_of(column)))
            .collect();
        for table in 0..8 {
            assert_eq!(
                narrations(&lab, &format!("d{table}/t")).await,
                expected,
                "{header}"
            );
        }
        everything(&lab).await;
    };
    put("a,b,c", &["a", "b", "c"]).await;
    put("a,beta,c", &["beta"]).await;
    put("c,a,beta", &[]).await;
    put("c,new,a,beta", &["new"]).await;
    put("beta,c", &[]).await;
    put("a,b,c", &[]).await;
}

/// Texts above the folders that fall to processes, about tables below them and beside them; a file
/// that names a folder; a folder of dates; what nobody may see.
async fn shared_lake(lab: &Lab) {
    let put = async |path: &str, text: &str| lab.put(path, text).await;
    for folder in 0..40 {
        let table = format!("shop/d{folder:02}/t{}.csv", folder % 3);
        put(&table, &format!("a{folder},depth\n1,{folder}\n2,x\n")).await;
        put(&format!("other{folder}/{}.csv", folder * 7), "k,v\n1,2\n").await;
    }
    put("shop/orders.csv", "id,qty\n1,2\n").await;
    put("shop/README.md", "# Shop\n\nTables of the shop.\n\n- `orders.csv`: one row per order\n- `d03/`: measured depths\n").await;
    put(
        "README.md",
        "# Company\n\nAll that the company has.\n\n- `shop/d05/t2.csv`: what the pool holds\n",
    )
    .await;
    put(
        "shop/codebook.md",
        "| column | meaning |\n|---|---|\n| depth | how deep it is |\n| qty | how many |\n",
    )
    .await;
    put("shop/datapackage.json", r#"{"name":"p","resources":[{"name":"t","path":"d06/t0.csv","description":"Sixth of all"}]}"#).await;
    put("empty/README.md", "Nothing is here.").await;
    put("shop/.limnignore", "d07/\n").await;
    put("shop/d09.csv", "z\n1\n").await;
    put("2024/x.csv", "m\n1\n").await;
    put("2025/x.csv", "m\n2\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reaches_across_shares_is_the_same_for_any_number_of_processes() {
    let mut found = Vec::new();
    for processes in [1, 2, 5] {
        let mut lab = Lab::new();
        (lab.processes, lab.options.workers) = (processes, 1);
        lab.options.narrate = limn_pipeline::Narrate::Names;
        shared_lake(&lab).await;
        let report = lab.run().await;
        lab.run_is_idle().await;
        let first = everything(&lab).await;
        lab.put(
            "shop/README.md",
            "# Shop\n\n- `orders.csv`: an order a row\n- `d04/`: depths of wells\n",
        )
        .await;
        lab.remove("shop/d02/t2.csv").await;
        lab.remove("shop/d09.csv").await;
        let second = lab.run().await;
        lab.run_is_idle().await;
        let seen = |report: &limn_pipeline::Report| {
            let mut notes = report.notes.clone();
            notes.sort();
            let embedded = report.model.embedded_blocks;
            (
                report.tables,
                format!("{:?}", report.objects),
                notes,
                embedded,
            )
        };
        found.push((seen(&report), first, seen(&second), everything(&lab).await));
    }
    for other in &found[1..] {
        assert_eq!(found[0].0, other.0);
        assert!(found[0].1 == other.1, "{:#?}\n{:#?}", found[0].1, other.1);
        assert_eq!(found[0].2, other.2);
        assert!(found[0].3 == other.3, "{:#?}\n{:#?}", found[0].3, other.3);
    }
    // A text is known again, whichever process has its vector and whichever its table.
    let (at_first, again) = (found[0].0.3, found[0].2.3);
    assert!(0 < again && again < at_first, "{again}, {at_first}");
    let all = [&found[0].1[..], &found[0].3].concat().join("\n");
    let said = [
        "measured depths",
        "Sixth of all",
        "what the pool holds",
        "an order a row",
    ];
    let missing: Vec<&str> = said.into_iter().filter(|it| !all.contains(it)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_call_keep_nobody_from_meeting() {
    let places = common::places(3);
    let stop = CancellationToken::new();
    let join = |place: &ClusterOptions| {
        let (place, stop) = (place.clone(), stop.clone());
        tokio::spawn(async move { Cluster::join(&place, &stop).await })
    };
    let first = join(&places[0]);
    let address = places[0].hosts[0].clone();
    let strangers = tokio::task::spawn_blocking(move || {
        let mut strangers = Vec::new();
        while strangers.len() < 150 {
            match TcpStream::connect(&address) {
                Ok(stranger) => strangers.push(stranger),
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        for (number, mut stranger) in strangers.iter().enumerate() {
            // Nothing, too much, too slowly, or what is no greeting.
            let _ = match number % 4 {
                0 => Ok(()),
                1 => stranger.write_all(&[0, 255, 255, 255]),
                2 => stranger.write_all(&[0, 0, 1, 0, b'{']),
                _ => stranger.write_all(b"GET / HTTP/1.1\r\n\r\n"),
            };
        }
        strangers
    });
    let strangers = strangers.await.unwrap();
    let others: Vec<_> = places[1..].iter().map(join).collect();
    let mut met = Vec::new();
    for process in [first].into_iter().chain(others) {
        let joined = tokio::time::timeout(Duration::from_secs(25), process).await;
        met.push(joined.expect("they meet in time").unwrap().unwrap());
    }
    assert_eq!(strangers.len(), 150);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_of_one_number_are_refused() {
    let places = common::places(3);
    let stop = CancellationToken::new();
    let join = |place: &ClusterOptions| {
        let (place, stop) = (place.clone(), stop.clone());
        tokio::spawn(async move { Cluster::join(&place, &stop).await })
    };
    let first = join(&places[0]);
    // Both call process 0 and then listen at one address; process 2, which would end their waiting,
    // is not there.
    let twins = [join(&places[1]), join(&places[1])];
    let error = first.await.unwrap().unwrap_err().to_string();
    assert!(error.contains("two processes have the number 1"), "{error}");
    stop.cancel();
    for twin in twins {
        twin.await.unwrap().unwrap_err();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_processes_is_stopped_at_once() {
    let places = common::places(2);
    let stop = CancellationToken::new();
    let joining = Cluster::join(&places[1], &stop);
    let stopping = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.cancel();
    };
    let (joined, ()) = tokio::join!(joining, stopping);
    assert!(matches!(joined, Err(PipelineError::Stopped)));
}
