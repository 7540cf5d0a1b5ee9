//! Places for connections: so many for all, half of them for one address.
//!
//! A new connection always gets a place while one of the others is idle, which is to say that no
//! request of it is being answered: it may have sent nothing, half a head, or nothing since its
//! last answer. The one that has been idle longest goes, and before those to which an answer is
//! still on its way: of the same address, where that has its share, else of all. So who opens very
//! many takes them from itself.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

/// The places, and the connections that have them.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    of_one: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    connections: HashMap<u64, Connection>,
    next: u64,
}

#[derive(Debug)]
struct Connection {
    address: IpAddr,
    /// Requests that are being answered.
    under_way: usize,
    /// Answers that the client has not read to their end.
    unread: usize,
    /// When the last of either began or ended.
    since: Instant,
    leave: CancellationToken,
}

/// A connection's place: it has it until this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    of: Arc<Places>,
    number: u64,
    leave: CancellationToken,
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct UnderWay(Arc<Place>);

/// An answer on its way to the client.
#[derive(Debug)]
pub(super) struct Unread {
    body: Body,
    place: Arc<Place>,
}

impl Places {
    /// So many.
    pub(super) fn new(most: usize) -> Arc<Places> {
        Arc::new(Places {
            most,
            of_one: most.div_ceil(2),
            open: Mutex::default(),
        })
    }

    /// A place for a connection from an address; `None` where none is left and no other connection
    /// is idle.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr) -> Option<Arc<Place>> {
        let address = host(address);
        let mut open = self.lock();
        let staying = open.connections.values().filter(|it| it.stays());
        let (all, own) = staying.fold((0, 0), |(all, own), it| {
            (all + 1, own + usize::from(it.address == address))
        });
        let has_share = own >= self.of_one;
        if has_share || all >= self.most {
            let others = open.connections.values();
            others
                .filter(|it| it.stays() && it.under_way == 0)
                .filter(|it| !has_share || it.address == address)
                .min_by_key(|it| (it.unread > 0, it.since))?
                .leave
                .cancel();
        }
        let leave = CancellationToken::new();
        let connection = Connection {
            address,
            under_way: 0,
            unread: 0,
            since: Instant::now(),
            leave: leave.clone(),
        };
        let number = open.next;
        open.next += 1;
        open.connections.insert(number, connection);
        drop(open);
        Some(Arc::new(Place {
            of: Arc::clone(self),
            number,
            leave,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn stays(&self) -> bool {
        !self.leave.is_cancelled()
    }
}

impl Place {
    /// A request of the connection is being answered.
    pub(super) fn begin(self: &Arc<Self>) -> UnderWay {
        self.changed(|connection| connection.under_way += 1);
        UnderWay(Arc::clone(self))
    }

    /// An answer of the connection is sent.
    pub(super) fn send(self: &Arc<Self>, body: Body) -> Unread {
        self.changed(|connection| connection.unread += 1);
        let place = Arc::clone(self);
        Unread { body, place }
    }

    fn changed(&self, change: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.of.lock().connections.get_mut(&self.number) {
            change(connection);
            connection.since = Instant::now();
        }
    }

    /// Whether nothing is being answered, and since when.
    fn state(&self) -> (bool, Instant) {
        let open = self.of.lock();
        let connection = open.connections.get(&self.number);
        connection.map_or((true, Instant::now()), |it| (it.under_way == 0, it.since))
    }

    /// Whether nothing is being answered.
    pub(super) fn is_idle(&self) -> bool {
        self.state().0
    }

    /// Returns when nothing has been asked and answered for so long.
    pub(super) async fn idle(&self, time: Duration) {
        loop {
            let end = match self.state() {
                (true, since) => since + time,
                (false, _) => Instant::now() + time,
            };
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }

    /// Returns when another connection needs the place.
    pub(super) async fn needed(&self) {
        self.leave.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.lock().connections.remove(&self.number);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.changed(|connection| connection.under_way -= 1);
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.place.changed(|connection| connection.unread -= 1);
    }
}

impl HttpBody for Unread {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A client with one IPv6 address has all addresses of its network.
fn host(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            IpAddr::V6(Ipv6Addr::from_bits(network))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const ONE: &str = "10.0.0.1";
    const OTHER: &str = "10.0.0.2";

    fn take(places: &Arc<Places>, address: &str) -> Option<Arc<Place>> {
        places.take(address.parse().unwrap())
    }

    fn leaves(place: &Place) -> bool {
        place.leave.is_cancelled()
    }

    #[test]
    fn who_opens_many_takes_them_from_itself() {
        let places = Places::new(4);
        let others = take(&places, OTHER).unwrap();
        let own: Vec<_> = (0..3).map(|_| take(&places, ONE).unwrap()).collect();
        assert!(leaves(&own[0]) && !leaves(&own[1]) && !leaves(&own[2]));
        // The same host in another notation.
        let third = take(&places, "::ffff:10.0.0.1").unwrap();
        assert!(leaves(&own[1]) && !leaves(&own[2]) && !leaves(&third));
        assert!(!leaves(&others));
    }

    #[test]
    fn the_oldest_idle_connection_goes_and_none_that_is_answered() {
        let places = Places::new(2);
        let (first, second) = (take(&places, ONE).unwrap(), take(&places, OTHER).unwrap());
        let answering = first.begin();
        let third = take(&places, "10.0.0.3").unwrap();
        assert!(!leaves(&first) && leaves(&second));
        let also = third.begin();
        assert!(take(&places, "10.0.0.4").is_none(), "nobody is idle");
        drop(also);
        assert!(take(&places, ONE).is_none(), "its share is being answered");
        drop(answering);
        assert!(take(&places, ONE).is_some() && leaves(&first));
        drop((first, second, third));
        let (first, second) = (take(&places, ONE).unwrap(), take(&places, OTHER).unwrap());
        let sending = first.send(Body::from("an answer"));
        let third = take(&places, "10.0.0.3").unwrap();
        assert!(
            !leaves(&first) && leaves(&second),
            "an answer is on its way"
        );
        drop(sending);
        drop((first, second, third));
        assert!(places.lock().connections.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_is_one_host() {
        let host = |text: &str| host(text.parse().unwrap());
        assert_eq!(host("2001:db8::1"), host("2001:db8::ffff:1"));
        assert_ne!(host("2001:db8:0:1::1"), host("2001:db8:0:2::1"));
        assert_ne!(host("::1"), host("127.0.0.1"));
    }
}
