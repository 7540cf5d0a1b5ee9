//! What every [`Embedder`] must keep.

use crate::Embedder;

/// How far a coordinate may move between batches.
const TOLERANCE: f32 = 1e-5;
/// How far a vector's length may be from one.
const LENGTH_TOLERANCE: f32 = 1e-4;

/// Every promise of the trait that `embedder` breaks, in words; empty where it conforms.
///
/// It embeds about a hundred short texts and a few of the window's length.
pub fn embedder_violations(embedder: &dyn Embedder) -> Vec<String> {
    let mut broken = Vec::new();
    for check in [shapes, batches, threads, repeats, meaning, windows] {
        if let Err(violation) = check(embedder) {
            broken.push(format!("{}: {violation}", embedder.id()));
        }
    }
    broken
}

type Check = Result<(), String>;

/// Texts of many lengths and scripts, the odd ones included.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        " ",
        "\n\t",
        "a",
        "orders",
        "Which table holds the monthly sales of each region?",
        "order_id: 17 | customer: Łukasz Żółć | total: 12.50",
        "Größe, naïve façade, Ångström",
        "数据湖中的表格",
        "Таблица заказов за 2024 год",
        "जल संसाधन",
        "🦆🦆🦆 ducks 👩‍👩‍👧‍👦",
        "e\u{301}te\u{301} \u{200b}\u{202e}right to left",
        "\0control\u{7}characters\u{fffd}",
        "https://example.org/a/b?c=d&e=f#g",
        "SELECT * FROM t WHERE x <> 'y'; -- [CLS] [SEP] [PAD] [MASK]",
        "0.1 -3e10 1,000,000 2024-01-31T23:59:59Z",
    ]
    .map(str::to_owned)
    .to_vec();
    for words in [2, 3, 5, 9, 15, 16, 17, 31, 33, 64, 100] {
        texts.push((0..words).map(|i| format!("word{} ", i * 7 % 13)).collect());
    }
    texts.push("x".repeat(500));
    texts
}

/// As many vectors as texts, of the promised dimension and of length one, without NaN.
fn shapes(embedder: &dyn Embedder) -> Check {
    if !embed(embedder, &[])?.is_empty() {
        return Err("no texts gave a vector".to_owned());
    }
    let texts = texts();
    for (text, vector) in texts.iter().zip(embed_all(embedder, &texts)?) {
        if vector.len() != embedder.dimensions() {
            return Err(format!(
                "{text:?} gave {} dimensions, not {}",
                vector.len(),
                embedder.dimensions()
            ));
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length.is_nan() || (length - 1.0).abs() > LENGTH_TOLERANCE {
            return Err(format!("{text:?} gave a vector of length {length}"));
        }
    }
    Ok(())
}

/// A text's vector does not depend on its batch, its neighbours or its place.
fn batches(embedder: &dyn Embedder) -> Check {
    let texts = texts();
    let together = embed_all(embedder, &texts)?;
    let reversed: Vec<String> = texts.iter().rev().cloned().collect();
    let backwards = embed_all(embedder, &reversed)?;
    for (place, text) in texts.iter().enumerate() {
        let alone = embed(embedder, &[text])?.swap_remove(0);
        close(text, "alone and in a batch", &alone, &together[place])?;
        close(
            text,
            "in a batch and in its reverse",
            &together[place],
            &backwards[texts.len() - 1 - place],
        )?;
    }
    Ok(())
}

/// A text's vector does not depend on who computes it.
fn threads(embedder: &dyn Embedder) -> Check {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
    let pool = pool.build().map_err(|error| error.to_string())?;
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    for texts in [&[], &texts[..1], &texts] {
        let together = embedder.embed_together(texts, &pool);
        let together = together.map_err(|error| error.to_string())?;
        let alone = embed(embedder, texts)?;
        if together.len() != alone.len() {
            return Err(format!(
                "{} texts gave {} vectors",
                texts.len(),
                together.len()
            ));
        }
        for (text, (one, two)) in texts.iter().zip(alone.iter().zip(&together)) {
            close(text, "on one thread and on several", one, two)?;
        }
    }
    Ok(())
}

/// The same call gives the same bits.
fn repeats(embedder: &dyn Embedder) -> Check {
    let texts = texts();
    if embed_all(embedder, &texts)? != embed_all(embedder, &texts)? {
        return Err("two equal calls gave different vectors".to_owned());
    }
    Ok(())
}

/// Different texts are distinguished, and a shared word brings them nearer than none.
fn meaning(embedder: &dyn Embedder) -> Check {
    let vectors = embed(
        embedder,
        &[
            "monthly sales of shops",
            "sales by shop and month",
            "bird migration in spring",
        ],
    )?;
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f32>();
    let (near, far) = (dot(&vectors[0], &vectors[1]), dot(&vectors[0], &vectors[2]));
    if near > far {
        Ok(())
    } else {
        Err(format!(
            "a paraphrase is at {near}, an unrelated text at {far}"
        ))
    }
}

/// Text beyond the window is ignored, text within it is read, and counting says which is which.
fn windows(embedder: &dyn Embedder) -> Check {
    let window = embedder.window();
    let words: Vec<&str> = ["table", "river", "house", "music"]
        .into_iter()
        .cycle()
        .take(window + 8)
        .collect();
    let text = |n: usize| words[..n].join(" ");
    let (mut n, mut last) = (0, 0);
    for length in 0..=words.len() {
        let count = embedder.count_tokens(&text(length));
        if count < last {
            return Err(format!(
                "{length} words count {count} tokens, fewer than one word less"
            ));
        }
        last = count;
        if count <= window {
            n = length;
        }
    }
    if n == words.len() || embedder.count_tokens(&text(n)) != window {
        return Err(format!(
            "plain words do not fill the window of {window} tokens exactly"
        ));
    }
    let full = text(n);
    let shorter = text(n - 1);
    let longer = format!("{full} {}", "completely different ending ".repeat(40));
    let vectors = embed(embedder, &[&full, &shorter, &longer])?;
    close(
        "a text longer than the window",
        "cut and whole",
        &vectors[0],
        &vectors[2],
    )?;
    if close("", "", &vectors[0], &vectors[1]).is_ok() {
        return Err("the last word that fits in the window is not read".to_owned());
    }
    Ok(())
}

fn close(text: &str, what: &str, a: &[f32], b: &[f32]) -> Check {
    let apart = a
        .iter()
        .zip(b)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, f32::max);
    if apart <= TOLERANCE {
        Ok(())
    } else {
        Err(format!("{text:?} differs by {apart} {what}"))
    }
}

fn embed_all(embedder: &dyn Embedder, texts: &[String]) -> Result<Vec<Vec<f32>>, String> {
    embed(
        embedder,
        &texts.iter().map(String::as_str).collect::<Vec<_>>(),
    )
}

fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
    let vectors = embedder.embed(texts).map_err(|error| error.to_string())?;
    if vectors.len() == texts.len() {
        Ok(vectors)
    } else {
        Err(format!(
            "{} texts gave {} vectors",
            texts.len(),
            vectors.len()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HashedWords, ModelError, ModelId};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Hashed words with one promise broken.
    struct Broken {
        how: &'static str,
        calls: AtomicUsize,
    }

    impl Embedder for Broken {
        fn id(&self) -> &ModelId {
            HashedWords.id()
        }
        fn dimensions(&self) -> usize {
            HashedWords.dimensions()
        }
        fn window(&self) -> usize {
            HashedWords.window()
        }
        fn count_tokens(&self, text: &str) -> usize {
            HashedWords.count_tokens(text) + usize::from(self.how == "count")
        }
        fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
            let call = self.calls.fetch_add(1, Ordering::Relaxed);
            let mut vectors = HashedWords.embed(texts)?;
            for (place, vector) in vectors.iter_mut().enumerate() {
                match self.how {
                    "length" => vector[0] += 0.1,
                    "nan" => vector[0] = f32::NAN,
                    "batch" => vector.swap(0, place % 3),
                    "repeat" => vector.swap(0, call % 2),
                    "constant" => *vector = HashedWords.embed(&["same"])?.swap_remove(0),
                    "dimensions" => vector.push(0.0),
                    _ => {}
                }
            }
            if self.how == "missing" {
                vectors.pop();
            }
            Ok(vectors)
        }
    }

    #[test]
    fn each_broken_promise_is_found() {
        let broken = |how| {
            embedder_violations(&Broken {
                how,
                calls: AtomicUsize::new(0),
            })
        };
        assert_eq!(broken("nothing"), Vec::<String>::new());
        for how in [
            "length",
            "nan",
            "batch",
            "repeat",
            "constant",
            "dimensions",
            "missing",
            "count",
        ] {
            assert!(
                !broken(how).is_empty(),
                "the suite does not notice a broken {how}"
            );
        }
    }
}
