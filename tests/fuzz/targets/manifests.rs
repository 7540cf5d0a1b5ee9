//! Texts about several tables: what people and programs write, by each of their names.
#![no_main]

use limn_lake::contexts::{About, SharedKind, SharedText};

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::watch_panics();
    let text = String::from_utf8_lossy(content);
    for path in [
        "d/manifest.json",
        "d/catalog.json",
        "d/openlineage.jsonl",
        "d/datapackage.json",
        "d/csv-metadata.json",
        "d/croissant.json",
        "d/codebook.json",
        "d/schema.yml",
        "d/README.md",
    ] {
        let kind = SharedKind::of_path(path).expect("it is a text about several tables");
        match SharedText::of(path, kind, text.clone().into_owned()) {
            Ok(shared) => {
                let about = About {
                    paths: vec!["d/marts/orders.csv".to_owned()],
                    folders: vec!["d/marts".to_owned()],
                    whole: kind == SharedKind::Readme,
                    others: vec!["d/marts/people.csv".to_owned()],
                };
                let part = shared.part(&about);
                assert!(part.text.len() <= content.len().max(1 << 18) * 4);
            }
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
