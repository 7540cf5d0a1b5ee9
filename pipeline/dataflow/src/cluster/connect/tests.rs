#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn a_process_of_another_build_is_refused_by_both() {
    let free = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0").unwrap());
    let hosts = free.map(|it| it.local_addr().unwrap().to_string()).to_vec();
    let party = |process: usize| Party {
        options: ClusterOptions {
            hosts: hosts.clone(),
            process,
            silence: Duration::from_secs(30),
            trust: Trust::Machine,
        },
        start: limn_segment::nonce(),
        limn: format!("0.1.0 (build {process}{process})"),
    };
    let stop = CancellationToken::new();
    let ended = std::thread::scope(|threads| {
        let meet = |process| {
            let party = party(process);
            threads.spawn(|| connect_as(party, &stop).unwrap_err().error.to_string())
        };
        [meet(0), meet(1)].map(|it| it.join().unwrap())
    });
    let what_to_do = "; start all processes with the same limn, --hosts and --processes";
    let of = |other: &str, own: &str| format!("process {other}, process {own}{what_to_do}");
    let expected = [
        of("1 is of limn 0.1.0 (build 11)", "0 of 0.1.0 (build 00)"),
        of("0 is of limn 0.1.0 (build 00)", "1 of 0.1.0 (build 11)"),
    ];
    assert_eq!(ended, expected);
}
