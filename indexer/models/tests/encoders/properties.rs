//! What holds of every encoder, every text and both arithmetics: which tokens make a vector, what
//! stands before them, and which of the vector's numbers are kept.

use std::ops::RangeInclusive;

use super::folders::set;
use super::*;

/// Tokens that the positions of all folders suffice for.
const WIDEST: usize = 64;
/// Windows that are tried: the fewest tokens that there may be, and as many as leave room for a
/// word in the widest.
const WINDOWS: RangeInclusive<usize> = 8..=40;

/// Every folder in every arithmetic.
fn every() -> impl Iterator<Item = (&'static str, &'static str)> {
    let both = |name| ["int8", "f32"].map(|arithmetic| (name, arithmetic));
    ALL.into_iter().flat_map(both)
}

/// A `limn.json` without prefixes.
fn bare(arithmetic: &str) -> Value {
    json!({"arithmetic": arithmetic, "question": "", "passage": "", "window": WIDEST})
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{0,80}", "([a-z]{1,9} ){0,30}", "\\PC{0,40}"]
}

fn a_word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,7}", "[A-Z][a-z]{1,5}", "[0-9]{1,4}"]
}

/// The greatest difference between two vectors' numbers.
fn apart(one: &[f32], other: &[f32]) -> f32 {
    assert_eq!(one.len(), other.len());
    let pairs = one.iter().zip(other);
    pairs.map(|(x, y)| (x - y).abs()).fold(0.0, f32::max)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn a_text_longer_than_the_window_has_the_vector_of_its_first_tokens(
        words in prop::collection::vec(a_word(), 40..70),
        at in any::<prop::sample::Index>(),
    ) {
        let whole = words.join(" ");
        for (name, arithmetic) in every() {
            let wide = with_card(name, &bare(arithmetic));
            // Words that fill a window together, which ends behind the last of them.
            let fills = |count: usize| {
                let tokens = wide.count_tokens(&words[..count].join(" "));
                WINDOWS.contains(&tokens).then_some((count, tokens))
            };
            let filling: Vec<(usize, usize)> = (1..words.len()).filter_map(fills).collect();
            let (count, window) = filling[at.index(filling.len())];
            let first = words[..count].join(" ");
            let mut card = bare(arithmetic);
            card["window"] = json!(window);
            let narrow = with_card(name, &card);
            prop_assert_eq!(narrow.window(), window);
            prop_assert!(narrow.count_tokens(&whole) > window);
            let right = bits(&wide.embed(&[&first]).unwrap());
            prop_assert_eq!(&bits(&narrow.embed(&[&whole]).unwrap()), &right, "{}", name);
            let asked = narrow.embed_questions(&[&whole], None).unwrap();
            prop_assert_eq!(&bits(&asked), &right, "{}", name);
            // With one word more in the window, it is another vector.
            let more = wide.embed(&[&words[..=count].join(" ")]).unwrap();
            prop_assert_ne!(&bits(&more), &right, "{}", name);
        }
    }

    #[test]
    fn a_prefix_is_the_beginning_of_the_text(
        text in any_text(), prefixes in ("[a-z]{0,6}(: )?", "[a-z]{0,6}(: )?"),
    ) {
        let (question, passage) = prefixes;
        for (name, arithmetic) in every() {
            let plain = with_card(name, &bare(arithmetic));
            let mut card = bare(arithmetic);
            card["question"] = json!(question);
            card["passage"] = json!(passage);
            let prefixed = with_card(name, &card);
            let (asked, passed) = (format!("{question}{text}"), format!("{passage}{text}"));
            let right = bits(&plain.embed(&[&asked, &passed]).unwrap());
            let found = [
                prefixed.embed_question(&text).unwrap(),
                prefixed.embed_one(&text).unwrap(),
            ];
            prop_assert_eq!(bits(&found), right, "{} {}", name, arithmetic);
            prop_assert_eq!(prefixed.count_tokens(&text), plain.count_tokens(&passed));
            prop_assert_eq!(prefixed.pieces(&text), plain.pieces(&text));
        }
    }

    #[test]
    fn the_first_numbers_of_a_vector_scaled_are_the_vector_of_fewer_dimensions(
        text in any_text(), dimensions in 1_usize..=64,
    ) {
        for (name, arithmetic) in every() {
            let mut card = json!({"arithmetic": arithmetic});
            let whole = both(&with_card(name, &card), std::slice::from_ref(&text));
            card["dimensions"] = json!(dimensions);
            let cut = with_card(name, &card);
            prop_assert_eq!(cut.dimensions(), dimensions);
            for (whole, cut) in whole.iter().zip(both(&cut, std::slice::from_ref(&text))) {
                let first = &whole[0][..dimensions];
                let length = cosine(first, first).sqrt();
                let right: Vec<f32> = first.iter().map(|x| x / length).collect();
                let off = apart(&cut[0], &right);
                prop_assert!(off < 1e-5, "{} {}: {}", name, arithmetic, off);
                prop_assert!((cosine(&cut[0], &cut[0]) - 1.0).abs() < 1e-4);
            }
        }
    }

    /// Where every layer looks at eight tokens on each side only, the first token of four layers
    /// knows the first 33 tokens; the mean is of all of them.
    #[test]
    fn the_first_token_knows_what_it_sees_and_the_mean_all(
        head in prop::collection::vec(a_word(), 40),
        tails in (prop::collection::vec(a_word(), 1..12), prop::collection::vec(a_word(), 1..12)),
    ) {
        prop_assume!(tails.0 != tails.1);
        for (arithmetic, pooling) in
            [("int8", "cls"), ("int8", "mean"), ("f32", "cls"), ("f32", "mean")]
        {
            let folder = copy("modernbert");
            let layers = Value::from(vec!["sliding_attention"; 4]);
            set(folder.path(), "layer_types", layers);
            let card = json!({"arithmetic": arithmetic, "pooling": pooling});
            write(folder.path(), "limn.json", &card);
            let encoder = load(folder.path()).unwrap();
            let words = |count: usize| head[..count].join(" ");
            let enough = |count: &usize| encoder.count_tokens(&words(*count)) >= 40;
            let first = words((1..=head.len()).find(enough).unwrap());
            let texts = [&tails.0, &tails.1].map(|tail| format!("{first} {}", tail.join(" ")));
            prop_assert!(texts.iter().all(|text| encoder.count_tokens(text) <= encoder.window()));
            let vectors = encoder.embed(&[&texts[0], &texts[1]]).unwrap();
            let off = apart(&vectors[0], &vectors[1]);
            prop_assert_eq!(off < 1e-5, pooling == "cls", "{} {}: {}", arithmetic, pooling, off);
        }
    }
}

/// Of one token, the mean is the first; of more, it is not.
#[test]
fn poolings_agree_on_texts_of_one_token_only() {
    for (name, arithmetic) in every() {
        let of = |pooling: &str| {
            let folder = copy(name);
            let tokenizer = folder.path().join("tokenizer.json");
            let mut json: Value = serde_json::from_slice(&fs::read(&tokenizer).unwrap()).unwrap();
            // Nothing is put around a text.
            json["post_processor"] = Value::Null;
            fs::write(&tokenizer, json.to_string()).unwrap();
            let mut card = bare(arithmetic);
            card["pooling"] = json!(pooling);
            write(folder.path(), "limn.json", &card);
            load(folder.path()).unwrap()
        };
        let (mean, first) = (of("mean"), of("cls"));
        assert_ne!(mean.id(), first.id());
        let mut single = 0;
        for text in [
            "lake",
            "river",
            "a",
            "7",
            "x",
            "lake river",
            "depth of lakes",
        ] {
            let vectors = [
                mean.embed_one(text).unwrap(),
                first.embed_one(text).unwrap(),
            ];
            let is_single = mean.count_tokens(text) == 1;
            single += usize::from(is_single);
            let vectors = bits(&vectors);
            assert_eq!(
                vectors[0] == vectors[1],
                is_single,
                "{name} {arithmetic}: {text}"
            );
        }
        assert!(single > 0, "{name}");
    }
}
