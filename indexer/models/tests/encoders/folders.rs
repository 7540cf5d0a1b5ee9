//! Folders of encoders: older ones, and those that are refused.

use super::*;

/// As files of older versions of the libraries have it.
#[test]
fn older_ways_of_writing_are_read() {
    let right = load(&fixture("bert")).unwrap();
    let older = copy("bert");
    let folder = older.path();
    write(
        folder,
        "modules.json",
        &json!([
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
            {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"},
        ]),
    );
    write(
        folder,
        "1_Pooling/config.json",
        &json!({"word_embedding_dimension": 64,
        "pooling_mode_cls_token": false, "pooling_mode_mean_tokens": true,
        "pooling_mode_max_tokens": false, "pooling_mode_mean_sqrt_len_tokens": false}),
    );
    write(
        folder,
        "sentence_bert_config.json",
        &json!({"max_seq_length": 40, "do_lower_case": false}),
    );
    rename_tensors(&folder.join("model.safetensors"), |name| {
        let older = name.replace("LayerNorm.weight", "LayerNorm.gamma");
        format!("bert.{}", older.replace("LayerNorm.bias", "LayerNorm.beta"))
    });
    let found = load(folder).unwrap();
    assert_eq!((found.window(), found.dimensions()), (40, 64));
    let text = ["lakes and rivers", "37"];
    assert_eq!(found.embed(&text).unwrap(), right.embed(&text).unwrap());
    // Without any of sentence-transformers' files: the mean of all tokens, as far as places go.
    for file in [
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer_config.json",
    ] {
        fs::remove_file(folder.join(file)).unwrap();
    }
    fs::remove_dir_all(folder.join("1_Pooling")).unwrap();
    let plain = load(folder).unwrap();
    assert_eq!(plain.window(), 64);
    assert_eq!(plain.embed(&text).unwrap(), right.embed(&text).unwrap());
}

/// Gives tensors other names; their numbers stay where they are.
fn rename_tensors(file: &Path, rename: impl Fn(&str) -> String) {
    change_header(file, |header| {
        let tensors = header.as_object().unwrap().iter();
        let renamed = tensors.map(|(name, tensor)| (rename(name), tensor.clone()));
        *header = renamed
            .filter(|(name, _)| !name.contains("__metadata__"))
            .collect();
    });
}

fn change_header(file: &Path, change: impl FnOnce(&mut Value)) {
    let bytes = fs::read(file).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    change(&mut header);
    let text = header.to_string();
    let mut changed = (text.len() as u64).to_le_bytes().to_vec();
    changed.extend(text.bytes());
    changed.extend(&bytes[8 + length..]);
    fs::write(file, changed).unwrap();
}

/// What is done to a folder, the file that the error has to name, and what it has to say.
type Wrong = (fn(&Path), &'static str, &'static str);

#[test]
fn a_folder_that_is_no_encoder_is_one_clear_line() {
    const WRONG: &[Wrong] = &[
        (
            |it| fs::remove_file(it.join("config.json")).unwrap(),
            "config.json",
            "expected an encoder's folder",
        ),
        (
            |it| fs::remove_file(it.join("tokenizer.json")).unwrap(),
            "tokenizer.json",
            "no such file",
        ),
        (
            |it| fs::remove_file(it.join("model.safetensors")).unwrap(),
            "model.safetensors",
            "no such file",
        ),
        (
            |it| fs::rename(it.join("model.safetensors"), it.join("pytorch_model.bin")).unwrap(),
            "model.safetensors",
            "pytorch_model.bin may run code",
        ),
        (
            |it| set(it, "model_type", json!("qwen2")),
            "config.json",
            "is a decoder",
        ),
        (
            |it| set(it, "model_type", json!("clip")),
            "config.json",
            "expected an encoder: one of bert",
        ),
        (
            |it| set(it, "hidden_size", json!(4096)),
            "config.json",
            "expected 1 to 1024",
        ),
        (
            |it| set(it, "num_hidden_layers", json!(4)),
            "model.safetensors",
            "no tensor encoder.layer.3",
        ),
        (
            |it| set(it, "intermediate_size", json!(192)),
            "model.safetensors",
            "expected F32, F16 or BF16 [192, 64]",
        ),
        (
            |it| set(it, "vocab_size", json!(100)),
            "tokenizer.json",
            "expected less than vocab_size, 100",
        ),
        (
            |it| set(it, "num_attention_heads", json!(8)),
            "config.json",
            "\"arithmetic\": \"f32\"",
        ),
        (
            |it| fs::write(it.join("config.json"), "{").unwrap(),
            "config.json",
            "EOF",
        ),
        (
            |it| fs::write(it.join("config.json"), vec![b' '; 2 << 20]).unwrap(),
            "config.json",
            "expected 1048576 at most",
        ),
        (
            |it| fs::write(it.join("tokenizer.json"), "{}").unwrap(),
            "tokenizer.json",
            "model",
        ),
        (
            |it| fs::write(it.join("model.safetensors"), "PK").unwrap(),
            "model.safetensors",
            "header",
        ),
        (
            |it| fs::write(it.join("model.safetensors"), u64::MAX.to_le_bytes()).unwrap(),
            "model.safetensors",
            "claims 18446744073709551615 bytes",
        ),
        (
            |it| {
                change_header(&it.join("model.safetensors"), |header| {
                    header["embeddings.LayerNorm.weight"]["data_offsets"] =
                        json!([1_u64 << 60, (1_u64 << 60) + 128]);
                })
            },
            "model.safetensors",
            "cut off",
        ),
        (
            |it| {
                change_header(&it.join("model.safetensors"), |header| {
                    header["embeddings.LayerNorm.weight"]["dtype"] = json!("I8");
                })
            },
            "model.safetensors",
            "embeddings.LayerNorm.weight is I8",
        ),
        (
            |it| write(it, "limn.json", &json!({"prefix": "x"})),
            "limn.json",
            "unknown field",
        ),
        (
            |it| write(it, "limn.json", &json!({"arithmetic": "int4"})),
            "limn.json",
            "expected int8 or f32",
        ),
        (
            |it| write(it, "limn.json", &json!({"window": 2})),
            "limn.json",
            "at least 8",
        ),
        (
            |it| write(it, "1_Pooling/config.json", &json!({"pooling_mode": "max"})),
            "1_Pooling/config.json",
            "expected mean_tokens or cls_token",
        ),
        (
            |it| {
                write(
                    it,
                    "modules.json",
                    &json!([
                        {"path": "", "type": "x.Transformer"}, {"path": "1_Pooling", "type": "x.Pooling"},
                        {"path": "2_Dense", "type": "x.Dense"},
                    ]),
                )
            },
            "modules.json",
            "'Dense'",
        ),
        (
            |it| {
                write(
                    it,
                    "config_sentence_transformers.json",
                    &json!({"prompts": {"query": "x".repeat(3000)}}),
                )
            },
            "config_sentence_transformers.json",
            "expected 2000 at most",
        ),
    ];
    for (change, file, says) in WRONG {
        let folder = copy("bert");
        change(folder.path());
        let error = load(folder.path()).map(|_| ()).unwrap_err().to_string();
        assert!(
            error.contains(file) && error.contains(says),
            "{file}, {says}: {error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let nowhere = load(Path::new("/nowhere/at/all"))
        .map(|_| ())
        .unwrap_err()
        .to_string();
    assert!(nowhere.contains("/nowhere/at/all") && nowhere.contains("no such folder"));
}

/// Changes a value of `config.json`.
pub(super) fn set(folder: &Path, key: &str, value: Value) {
    let file = folder.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    config[key] = value;
    fs::write(file, config.to_string()).unwrap();
}

#[test]
fn files_for_other_libraries_are_no_encoders() {
    assert!(ALL.iter().all(|name| EncoderFolder::is_one(&fixture(name))));
    let decoder = copy("bert");
    set(decoder.path(), "model_type", json!("llama"));
    assert!(!EncoderFolder::is_one(decoder.path()));
    assert!(!EncoderFolder::is_one(Path::new("/nowhere")));
}

/// Puts a number at the end of a tensor, as the file writes numbers.
fn set_last(file: &Path, tensor: &str, number: f32) {
    let mut bytes = fs::read(file).unwrap();
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let tensor = &header[tensor];
    let number = match tensor["dtype"].as_str().unwrap() {
        "F32" => number.to_le_bytes().to_vec(),
        "F16" => half::f16::from_f32(number).to_le_bytes().to_vec(),
        "BF16" => half::bf16::from_f32(number).to_le_bytes().to_vec(),
        other => panic!("{other}"),
    };
    let end = 8 + length + tensor["data_offsets"][1].as_u64().unwrap() as usize;
    bytes[end - number.len()..end].copy_from_slice(&number);
    fs::write(file, bytes).unwrap();
}

#[test]
fn weights_that_are_not_finite_are_refused_by_name() {
    const OF_BERT: [&str; 4] = [
        "embeddings.word_embeddings.weight",
        "embeddings.position_embeddings.weight",
        "encoder.layer.1.attention.self.key.weight",
        "encoder.layer.0.output.LayerNorm.bias",
    ];
    const OF_MODERNBERT: [&str; 4] = [
        "embeddings.tok_embeddings.weight",
        "embeddings.norm.weight",
        "layers.1.attn.Wqkv.weight",
        "final_norm.weight",
    ];
    let numbers = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    for name in ALL {
        let tensors = match name {
            "modernbert" => OF_MODERNBERT,
            _ => OF_BERT,
        };
        for (tensor, number) in tensors.into_iter().zip(numbers) {
            for arithmetic in ["int8", "f32"] {
                let folder = copy(name);
                write(
                    folder.path(),
                    "limn.json",
                    &json!({"arithmetic": arithmetic}),
                );
                set_last(&folder.path().join("model.safetensors"), tensor, number);
                let error = load(folder.path()).map(|_| ()).unwrap_err().to_string();
                let said = format!("its tensor {tensor} has a number that is not finite");
                assert!(
                    error.contains("model.safetensors") && error.contains(&said),
                    "{name} {arithmetic}: {error}"
                );
                assert_eq!(error.lines().count(), 1, "{error}");
            }
        }
        // What no vector depends on may be anything.
        let unused = copy(name);
        if name != "modernbert" {
            let weights = unused.path().join("model.safetensors");
            set_last(&weights, "pooler.dense.weight", f32::NAN);
            load(unused.path()).unwrap();
        }
    }
}

/// The word matrix is looked through when the file is hashed: a hash that is remembered is one of a
/// file that was.
#[test]
fn a_store_remembers_no_hash_of_words_that_are_not_finite() {
    let (store, folder) = (tempfile::tempdir().unwrap(), copy("xlm-roberta"));
    let weights = folder.path().join("model.safetensors");
    let whole = fs::read(&weights).unwrap();
    let open = || {
        let store = ModelStore::at(store.path());
        store.encoder_folder(folder.path(), EncoderOverrides::default())
    };
    set_last(&weights, "embeddings.word_embeddings.weight", f32::NAN);
    for _ in 0..2 {
        let error = open().unwrap_err().to_string();
        assert!(error.contains("word_embeddings"), "{error}");
    }
    fs::write(&weights, whole).unwrap();
    assert_eq!(
        open().unwrap().id(),
        super::open(&fixture("xlm-roberta")).unwrap().id()
    );
    assert!(store.path().join(".encoders-2.json").is_file());
}
