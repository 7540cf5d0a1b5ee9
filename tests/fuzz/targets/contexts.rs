//! Sidecars, and files of registered contexts.
#![no_main]

use limn_formats::ObjectRecord;
use limn_lake::Contexts;
use limn_lake::contexts::{column_descriptions, parse_contexts, read_sidecar};
use limn_store::Store;

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::watch_panics();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let store = Store::in_memory();
        for path in ["t.md", "t.html", "t.json"] {
            let object = ObjectRecord {
                path: path.to_owned(),
                etag: None,
                version: None,
                size: content.len() as u64,
                modified_ms: 0,
            };
            let bytes = bytes::Bytes::copy_from_slice(content);
            store.put(path, bytes).await.expect("memory takes it");
            match read_sidecar(&store, &object, None).await {
                Ok(text) => {
                    let said = column_descriptions(&[&text], &["id", "placed on", "a"]);
                    assert!(said.iter().flatten().all(|it| !it.contains('\n')));
                }
                Err(error) => assert!(!error.to_string().contains('\n')),
            }
        }
    });
    let _ = parse_contexts("contexts.jsonl", content, &mut Contexts::new());
});
