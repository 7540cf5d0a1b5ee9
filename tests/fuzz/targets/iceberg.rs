//! The metadata of an Iceberg table: metadata files, lists of manifests, manifests, the version
//! hint. An input is files ([`limn_fuzz::read_log`]).
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| limn_fuzz::read_log("metadata", content));
