//! Narrations of a run that several processes share: asked by the leader, kept by whoever has them.
//!
//! The other tests of this folder run with several processes too, with `LIMN_LAB_PROCESSES=2`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::Lab;
use common::narrated::{everything, narrated, narrated_by, narrations, shop};
use common::teller::{Teller, told};

#[tokio::test(flavor = "multi_thread")]
async fn a_model_is_asked_the_same_by_one_process_and_by_three() {
    let mut found = Vec::new();
    for processes in [1, 3] {
        let mut lab = Lab::new();
        (lab.processes, lab.options.workers) = (processes, 2);
        shop(&lab).await;
        let teller = Teller::new().shared();
        narrated_by(&mut lab, &teller);
        let report = lab.run().await;
        assert_eq!(narrated(&report), 5, "{report:?}");
        let mut asked = teller.take_asked();
        asked.sort();
        let embedded = report.model.embedded_blocks;
        found.push((asked, embedded, everything(&lab).await));
    }
    assert_eq!(found[0], found[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn changed_schemas_keep_their_words_wherever_they_are_settled() {
    let mut lab = Lab::new();
    (lab.processes, lab.options.workers) = (3, 1);
    lab.options.epoch_objects = 3;
    let teller = Teller::new().shared();
    narrated_by(&mut lab, &teller);
    let put = async |header: &str, asked: &[&str]| {
        let cells = header.split(',').map(|_| "1").collect::<Vec<_>>().join(",");
        for table in 0..8 {
            let text = format!("{header}\n{cells}\n");
            lab.put(&format!("d{table}/t.csv"), &text).await;
        }
        let report = lab.run().await;
        assert_eq!(teller.take_asked(), asked, "{header}");
        assert_eq!(narrated(&report), asked.len() as u64, "{header}");
        let expected: Vec<_> = header.split(',').map(|column| Some(told(column))).collect();
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
