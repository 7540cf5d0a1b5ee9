//! Sidecars, and files of registered contexts.
#![no_main]

use limn_lake::contexts::{parse_contexts, read_sidecar};
use limn_lake::{Contexts, ObjectRecord};
use limn_store::Store;

libfuzzer_sys::fuzz_target!(|content: &[u8]| {
    limn_fuzz::watch_panics();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime can be made");
    runtime.block_on(async {
        let store = Store::in_memory();
        let object = ObjectRecord {
            path: "t.md".to_owned(),
            etag: None,
            version: None,
            size: content.len() as u64,
            modified_ms: 0,
        };
        let bytes = bytes::Bytes::copy_from_slice(content);
        store.put("t.md", bytes).await.expect("memory takes it");
        if let Err(error) = read_sidecar(&store, &object).await {
            assert!(!error.to_string().contains('\n'));
        }
    });
    let _ = parse_contexts("contexts.jsonl", content, &mut Contexts::new());
});
