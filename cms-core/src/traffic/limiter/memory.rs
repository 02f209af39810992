//! Buckets in memory, in shards with one lock each.
//!
//! A full bucket equals no bucket, so full ones are dropped. This limits the memory to the clients
//! of the last minutes, and [`MAX_ENTRIES`] limits it in any case.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use foldhash::quality::RandomState;

use super::bucket::{self, Bucket, Fill, Owner, Quota};
use crate::ground::Millis;

const SHARDS: usize = 64;
/// 33 bytes each, and as much again for free slots of the tables.
const MAX_ENTRIES: usize = 1_500_000;

/// An [`Owner`] in nine bytes. One half of a network's address is always zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Packed(OwnerKind, u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OwnerKind {
    /// IPv4, mapped.
    Low,
    /// The /64 of IPv6.
    High,
    Key,
    User,
    Application,
}

impl From<Owner> for Packed {
    fn from(owner: Owner) -> Self {
        match owner {
            Owner::Network(network) if network >> 64 == 0 => Self(OwnerKind::Low, network as u64),
            Owner::Network(network) => Self(OwnerKind::High, (network >> 64) as u64),
            Owner::Key(id) => Self(OwnerKind::Key, id.cast_unsigned()),
            Owner::User(id) => Self(OwnerKind::User, id.cast_unsigned()),
            Owner::Application(digest) => Self(OwnerKind::Application, digest),
        }
    }
}

impl From<Packed> for Owner {
    fn from(Packed(of, id): Packed) -> Self {
        match of {
            OwnerKind::Low => Self::Network(id.into()),
            OwnerKind::High => Self::Network(u128::from(id) << 64),
            OwnerKind::Key => Self::Key(id.cast_signed()),
            OwnerKind::User => Self::User(id.cast_signed()),
            OwnerKind::Application => Self::Application(id),
        }
    }
}

/// One bucket of one owner, in 16 bytes. A flood of addresses costs mostly the memory it touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct BucketKey {
    id: u64,
    of: OwnerKind,
    /// Index into [`bucket::ALL`].
    bucket: u8,
}

impl BucketKey {
    fn new(Packed(of, id): Packed, bucket: &Bucket) -> Self {
        let index =
            bucket::ALL.iter().position(|known| known.name == bucket.name).unwrap_or_default();
        Self { id, of, bucket: u8::try_from(index).unwrap_or_default() }
    }

    fn owner(self) -> Packed {
        Packed(self.of, self.id)
    }

    fn kind(self) -> &'static Bucket {
        &bucket::ALL[usize::from(self.bucket)]
    }
}

/// Keyed in each process, so that callers cannot choose colliding addresses. Much faster than the
/// standard hash.
type Shard = HashMap<BucketKey, Fill, RandomState>;

/// The buckets of this process.
pub struct Memory {
    shards: Vec<Mutex<Sweeping>>,
    hasher: RandomState,
}

#[derive(Default)]
struct Sweeping {
    buckets: Shard,
    /// Number of entries at which full buckets are dropped.
    sweep_at: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
        }
    }
}

impl Memory {
    /// The index of the shard that holds all buckets of an owner.
    fn shard_of(&self, owner: Packed) -> usize {
        std::hash::BuildHasher::hash_one(&self.hasher, owner) as usize % SHARDS
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Sweeping> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Each shard, locked while it is looked at.
    fn each(&self) -> impl Iterator<Item = MutexGuard<'_, Sweeping>> {
        (0..SHARDS).map(|shard| self.lock(shard))
    }

    /// Takes one token from each bucket, or none from any.
    pub fn take(&self, buckets: &[(Owner, Bucket)], now: Millis) -> Quota {
        if let [(owner, only)] = buckets {
            let owner = Packed::from(*owner);
            let mut shard = self.lock(self.shard_of(owner));
            let fill =
                shard.buckets.entry(BucketKey::new(owner, only)).or_insert_with(|| only.full(now));
            let (buckets, fills) = (std::slice::from_ref(only), std::slice::from_mut(fill));
            let quota = bucket::take(buckets, fills, now);
            shard.sweep(now);
            return quota;
        }
        let keys: Vec<(usize, BucketKey)> = buckets
            .iter()
            .map(|(owner, bucket)| {
                let owner = Packed::from(*owner);
                (self.shard_of(owner), BucketKey::new(owner, bucket))
            })
            .collect();
        let kinds: Vec<Bucket> = buckets.iter().map(|(_, bucket)| *bucket).collect();
        // Always in the same order, so that no two requests deadlock.
        let shards: BTreeSet<usize> = keys.iter().map(|(shard, _)| *shard).collect();
        let mut shards: Vec<_> =
            shards.into_iter().map(|shard| (shard, self.lock(shard))).collect();
        let mut fills: Vec<Fill> = keys
            .iter()
            .zip(&kinds)
            .map(|((shard, key), bucket)| {
                let held = shards.iter().find(|(held, _)| held == shard);
                let fill = held.and_then(|(_, held)| held.buckets.get(key)).copied();
                fill.unwrap_or_else(|| bucket.full(now))
            })
            .collect();
        let quota = bucket::take(&kinds, &mut fills, now);
        for ((shard, key), fill) in keys.into_iter().zip(fills) {
            if let Some((_, held)) = shards.iter_mut().find(|(held, _)| *held == shard) {
                held.buckets.insert(key, fill);
            }
        }
        for (_, held) in &mut shards {
            held.sweep(now);
        }
        quota
    }

    /// Forgets all buckets of an owner, which makes them full again.
    pub fn reset(&self, owner: Owner) {
        let owner = Packed::from(owner);
        self.lock(self.shard_of(owner)).buckets.retain(|slot, _| slot.owner() != owner);
    }

    /// All buckets that are not full: owner, kind, tokens.
    pub fn used(&self, now: Millis) -> Vec<(Owner, &'static str, f64)> {
        let mut used = Vec::new();
        for shard in self.each() {
            let fills = shard.buckets.iter().map(|(slot, fill)| {
                (slot.owner().into(), slot.kind(), slot.kind().refilled(*fill, now).tokens)
            });
            used.extend(
                fills
                    .filter(|(_, kind, tokens)| *tokens < kind.capacity)
                    .map(|(owner, kind, tokens)| (owner, kind.name, tokens)),
            );
        }
        used
    }

    /// Number of buckets in memory.
    pub fn len(&self) -> usize {
        self.each().map(|shard| shard.buckets.len()).sum()
    }

    /// Whether no bucket is in memory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Drops full buckets. Call it once a minute when the process is quiet.
    pub(crate) fn drop_full(&self, now: Millis) {
        self.each().for_each(|mut shard| shard.drop_full(now));
    }
}

impl Sweeping {
    /// Sweeps when the shard has doubled, so that sweeping costs constant work per request.
    fn sweep(&mut self, now: Millis) {
        if self.buckets.len() < self.sweep_at.max(1024) {
            return;
        }
        self.drop_full(now);
        let most = MAX_ENTRIES / SHARDS;
        if self.buckets.len() > most {
            // A flood came from more networks than fit. Keeps the emptiest buckets, because they
            // belong to the busiest clients.
            let mut tokens: Vec<f64> = self
                .buckets
                .iter()
                .map(|(slot, fill)| fill.tokens / slot.kind().capacity)
                .collect();
            let (_, median, _) = tokens.select_nth_unstable_by(most / 2, f64::total_cmp);
            let median = *median;
            self.buckets.retain(|slot, fill| fill.tokens / slot.kind().capacity < median);
        }
        self.sweep_at = (self.buckets.len() * 2).min(most + 1);
    }

    fn drop_full(&mut self, now: Millis) {
        self.buckets
            .retain(|slot, fill| slot.kind().refilled(*fill, now).tokens < slot.kind().capacity);
        if self.buckets.capacity() > 4096 && self.buckets.len() < self.buckets.capacity() / 8 {
            self.buckets.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::{Arc, mpsc},
        time::Duration,
    };

    use super::{bucket::*, *};

    #[test]
    fn owners_do_not_share_and_kinds_add_up() {
        let memory = Memory::default();
        let one = |owner, bucket| memory.take(&[(owner, bucket)], 0).remaining;
        let both = |owner, bucket, network| {
            let route = (Owner::Network(network), FUNNEL_START);
            memory.take(&[(owner, bucket), route], 0).retry_after_s
        };
        for _ in 0..30 {
            assert_eq!(both(Owner::Network(1), PUBLIC, 1), None);
        }
        assert_eq!(both(Owner::Network(1), PUBLIC, 1), Some(2));
        assert_eq!(one(Owner::Network(1), PUBLIC), 69);
        assert_eq!(one(Owner::Network(2), PUBLIC), 99);
        assert_eq!(one(Owner::Key(1), KEY), 59);
        // The route's bucket of the address is empty for all users behind it, so no token is taken
        // from any bucket.
        for user in 0..100 {
            assert_eq!(both(Owner::User(user), BACKEND, 1), Some(2));
            assert_eq!(one(Owner::User(user), BACKEND), 249);
        }
        assert_eq!(both(Owner::User(1), BACKEND, 2), None);
        assert_eq!(one(Owner::User(1), BACKEND), 247);
        memory.reset(Owner::Network(1));
        assert_eq!(one(Owner::Network(1), PUBLIC), 99);
        assert_eq!(both(Owner::User(1), BACKEND, 1), None);
    }

    #[test]
    fn requests_of_two_owners_do_not_wait_for_each_other() {
        let memory = Arc::new(Memory::default());
        let (sender, counts) = mpsc::channel();
        for thread in 0..4_u64 {
            let (memory, sender) = (Arc::clone(&memory), sender.clone());
            std::thread::spawn(move || {
                let passes = |n: &u64| {
                    let user = Owner::User(i64::try_from(n * 7 % 97).unwrap_or_default());
                    let network = Owner::Network(u128::from((n + thread) * 13 % 101));
                    memory.take(&[(user, BACKEND), (network, CHECKOUT)], 0).retry_after_s.is_none()
                };
                sender.send((0..20_000).filter(passes).count())
            });
        }
        // Deadlocked threads never end.
        let count = |_| counts.recv_timeout(Duration::from_secs(30)).expect("the thread ends");
        assert_eq!((0..4).map(count).sum::<usize>(), 1_010, "ten of each of 101 networks");
    }

    #[test]
    fn owners_are_packed_without_loss() {
        let network = |address: &str| {
            Owner::Network(crate::traffic::address::network(address.parse().expect("an address")))
        };
        let owners =
            ["192.0.2.1", "255.255.255.255", "2001:db8:1:2::1", "::1", "fe80::1"].map(network);
        let others = [Owner::Key(7), Owner::User(7), Owner::Key(i64::MAX), Owner::app_user("a")];
        for owner in owners.into_iter().chain(others) {
            assert_eq!(Owner::from(Packed::from(owner)), owner);
        }
        assert_eq!(size_of::<(BucketKey, Fill)>(), 32);
    }

    #[test]
    fn full_buckets_are_dropped() {
        let memory = Memory::default();
        for network in 0..1_000_000 {
            memory.take(&[(Owner::Network(network), PUBLIC)], 0);
        }
        assert_eq!(memory.len(), 1_000_000);
        memory.drop_full(599);
        assert!(memory.is_empty(), "one token takes 599 ms at 1.67 a second");
    }

    #[test]
    fn a_flood_does_not_grow_without_bound() {
        let memory = Memory::default();
        for network in 0..(MAX_ENTRIES as u128 + 500_000) {
            memory.take(&[(Owner::Network(network), PUBLIC)], 0);
        }
        assert!(memory.len() <= MAX_ENTRIES + SHARDS);
    }
}
