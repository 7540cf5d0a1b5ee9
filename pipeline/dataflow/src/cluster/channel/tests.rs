#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::net::TcpListener;
use std::thread;

use super::*;

const SOON: Duration = Duration::from_secs(10);

fn key(of: u8) -> ClusterKey {
    ClusterKey::of(&[of; 32]).unwrap()
}

/// Two ends of a connection.
fn connected() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let caller = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (caller, listener.accept().unwrap().0)
}

/// Two ends of a connection, and in between who sees and may change what the caller sends.
fn overheard(change: impl Fn(usize, &mut [u8]) + Send + 'static) -> Overheard {
    let (caller, near) = connected();
    let (far, answerer) = connected();
    let back = (far.try_clone().unwrap(), near.try_clone().unwrap());
    thread::spawn(move || pass(back, |_, _| {}));
    Overheard {
        seen: thread::spawn(move || pass((near, far), change)),
        ends: (caller, answerer),
    }
}

/// Passes on what comes, and returns it as it came and was changed.
fn pass((mut from, mut to): (TcpStream, TcpStream), change: impl Fn(usize, &mut [u8])) -> Vec<u8> {
    let (mut seen, mut buffer) = (Vec::new(), [0; 10_000]);
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        change(seen.len(), &mut buffer[..read]);
        seen.extend(&buffer[..read]);
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    seen
}

struct Overheard {
    ends: (TcpStream, TcpStream),
    seen: thread::JoinHandle<Vec<u8>>,
}

fn seal(
    (caller, answerer): (TcpStream, TcpStream),
    keys: (u8, u8),
) -> (Result<Channel, Unsealed>, Result<Channel, Unsealed>) {
    let until = Instant::now() + SOON;
    let answering =
        thread::spawn(move || Channel::sealed(answerer, &key(keys.1), End::Answerer, until));
    let called = Channel::sealed(caller, &key(keys.0), End::Caller, until);
    (called, answering.join().unwrap())
}

fn sealed(ends: (TcpStream, TcpStream)) -> (Channel, Channel) {
    let (one, other) = seal(ends, (1, 1));
    let (one, other) = (one.unwrap(), other.unwrap());
    one.set_read_timeout(Some(SOON)).unwrap();
    other.set_read_timeout(Some(SOON)).unwrap();
    (one, other)
}

/// Bytes that are easy to make and hard to guess.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 7_u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as u8
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn both_ends_read_and_write_at_the_same_time() {
    let (one, other) = sealed(connected());
    let bytes = noise(5_000_000);
    thread::scope(|threads| {
        for (end, size) in [(&one, 100_000), (&other, 777)] {
            let bytes = &bytes;
            threads.spawn(move || {
                let mut writer = end;
                for piece in bytes.chunks(size) {
                    writer.write_all(piece).unwrap();
                }
                writer.shutdown(Shutdown::Write).unwrap();
            });
            threads.spawn(move || {
                let (mut reader, mut read, mut buffer) = (end, Vec::<u8>::new(), vec![0; size]);
                loop {
                    match reader.read(&mut buffer).unwrap() {
                        0 => break,
                        count => read.extend(&buffer[..count]),
                    }
                }
                assert!(read == *bytes, "{} bytes", read.len());
            });
        }
    });
}

#[test]
fn nobody_in_between_reads_along() {
    let Overheard { ends, seen } = overheard(|_, _| {});
    let (one, other) = sealed(ends);
    let secret = b"what the lake's tables say".repeat(1000);
    (&one).write_all(&secret).unwrap();
    one.shutdown(Shutdown::Write).unwrap();
    let mut read = Vec::new();
    (&other).read_to_end(&mut read).unwrap();
    assert!(read == secret);
    drop((one, other));
    let seen = seen.join().unwrap();
    assert!(seen.len() > secret.len());
    assert!(!seen.windows(8).any(|bytes| bytes == &secret[..8]));
}

#[test]
fn what_is_changed_or_cut_on_the_way_is_an_error() {
    // Beyond what the ends say to each other first.
    let Overheard { ends, .. } = overheard(|before, bytes| {
        if (4_000..20_000).contains(&before) {
            bytes[0] ^= 1;
        }
    });
    let (one, other) = sealed(ends);
    (&one).write_all(&noise(50_000)).unwrap();
    let mut read = Vec::new();
    let error = (&other).read_to_end(&mut read).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");

    let (one, other) = sealed(connected());
    (&one).write_all(b"half of it").unwrap();
    one.stream.shutdown(Shutdown::Write).unwrap();
    let mut read = Vec::new();
    let error = (&other).read_to_end(&mut read).unwrap_err();
    assert_eq!(
        (error.kind(), &read[..]),
        (io::ErrorKind::UnexpectedEof, &b"half of it"[..])
    );
}

#[test]
fn ends_with_different_keys_refuse_each_other() {
    let (called, answered) = seal(connected(), (1, 2));
    assert!(matches!(called, Err(Unsealed::OtherKey)), "{called:?}");
    assert!(matches!(answered, Err(Unsealed::OtherKey)), "{answered:?}");
}

#[test]
fn who_seals_nothing_is_refused_in_time() {
    let until = || Instant::now() + Duration::from_millis(300);
    for said in [
        &b"\0\0\0\x02{}"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        &[0xff; 9000],
    ] {
        for end in [End::Caller, End::Answerer] {
            let (mut stranger, ours) = connected();
            stranger.write_all(said).unwrap();
            let refused = Channel::sealed(ours, &key(1), end, until()).unwrap_err();
            assert!(matches!(refused, Unsealed::Plain), "{refused:?}");
        }
    }
    for end in [End::Caller, End::Answerer] {
        let (_silent, ours) = connected();
        let began = Instant::now();
        let refused = Channel::sealed(ours, &key(1), end, until()).unwrap_err();
        assert!(matches!(refused, Unsealed::Broken(_)), "{refused:?}");
        assert!(began.elapsed() < SOON);
    }
}

#[test]
fn a_stranger_without_the_key_is_refused_whatever_tls_he_speaks() {
    // A client of the web: no client key, and no raw public keys.
    let (stranger, ours) = connected();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let name = ServerName::try_from("limn").unwrap();
    let calling = thread::spawn(move || {
        let mut tls = ClientConnection::new(Arc::new(config), name).unwrap();
        tls.complete_io(&mut &stranger).is_ok()
    });
    let until = Instant::now() + SOON;
    let refused = Channel::sealed(ours, &key(1), End::Answerer, until).unwrap_err();
    assert!(matches!(refused, Unsealed::Broken(_)), "{refused:?}");
    assert!(!calling.join().unwrap());
}

#[test]
fn reading_ends_in_time_however_slowly_bytes_come() {
    let (one, other) = sealed(connected());
    let slow = thread::spawn(move || {
        for _ in 0..40 {
            if (&one).write_all(b"x").is_err() {
                break;
            }
            thread::sleep(Duration::from_millis(20));
        }
    });
    let began = Instant::now();
    let mut all = [0; 1000];
    let error = other
        .until(began + Duration::from_millis(200))
        .read_exact(&mut all);
    let kind = error.unwrap_err().kind();
    assert!(
        [io::ErrorKind::TimedOut, io::ErrorKind::WouldBlock].contains(&kind),
        "{kind}"
    );
    assert!(began.elapsed() < Duration::from_millis(700));
    slow.join().unwrap();
}

#[test]
fn a_connection_is_open_until_its_other_end_closes_it_whatever_that_said_before() {
    for says in [&b""[..], &[7; 10_000]] {
        let (mut near, far) = connected();
        near.write_all(says).unwrap();
        assert!(Channel::plain(far.try_clone().unwrap()).is_open());
        near.write_all(says).unwrap();
        drop(near);
        let until = Instant::now() + SOON;
        while Channel::plain(far.try_clone().unwrap()).is_open() {
            assert!(Instant::now() < until, "{} bytes", says.len());
        }
    }
}
