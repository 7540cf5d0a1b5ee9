//! How many rounds a random test tries: a few before every landing, many at night
//! (`tests/nightly`). Included by path where a crate's tests are random.

/// `few`, or as many times that as `LIMN_TEST_ROUNDS` says.
pub(crate) fn rounds(few: u32) -> u32 {
    let times = std::env::var("LIMN_TEST_ROUNDS").ok();
    let times: u32 = times.map_or(1, |text| text.parse().expect("LIMN_TEST_ROUNDS"));
    few * times
}
