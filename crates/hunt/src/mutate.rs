//! Damage: what disks, programs and attackers do to files.

use rand::{Rng, RngExt};

/// Bytes and numbers that readers trip over.
const AWKWARD: [&[u8]; 14] = [
    b"\0",
    b"\xff",
    b"\x7f",
    b"\x80",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
    b"\x80\x94\xeb\xdc\x03",
    b"99999999999999999999",
    b"-1",
    b"1e999",
    b"NaN",
    b"null",
    b"[[[[[[[[",
    b"\"\\ud800\"",
];

/// Damages `bytes` in one to six places. `other` is another valid file, for parts of it.
pub fn mutate(rng: &mut impl Rng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..rng.random_range(1..=6) {
        if bytes.is_empty() {
            bytes.push(0);
        }
        let at = rng.random_range(0..bytes.len());
        let some = |rng: &mut dyn Rng, most: usize| rng.random_range(0..=most.min(64));
        match rng.random_range(0..10) {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            1 => bytes[at] = rng.random_range(0..=255),
            2 => bytes.truncate(at),
            3 => {
                let end = at + some(rng, bytes.len() - at);
                bytes.drain(at..end);
            }
            4 => {
                let end = at + some(rng, bytes.len() - at);
                let copy = bytes[at..end].to_vec();
                bytes.splice(at..at, copy);
            }
            5 => {
                let what = AWKWARD[rng.random_range(0..AWKWARD.len())];
                bytes.splice(at..at, what.iter().copied());
            }
            6 => {
                let what = AWKWARD[rng.random_range(0..AWKWARD.len())];
                let end = (at + what.len()).min(bytes.len());
                bytes.splice(at..end, what.iter().copied());
            }
            7 if !other.is_empty() => {
                let from = rng.random_range(0..other.len());
                let end = from + some(rng, other.len() - from);
                bytes.splice(at..at, other[from..end].iter().copied());
            }
            8 => number(rng, bytes, at),
            _ => {
                let to = rng.random_range(0..bytes.len());
                bytes.swap(at, to);
            }
        }
    }
}

/// Puts another number where digits are.
fn number(rng: &mut impl Rng, bytes: &mut Vec<u8>, at: usize) {
    let Some(start) = (at..bytes.len()).find(|&i| bytes[i].is_ascii_digit()) else { return };
    let end = (start..bytes.len()).find(|&i| !bytes[i].is_ascii_digit()).unwrap_or(bytes.len());
    let number = match rng.random_range(0..4) {
        0 => rng.random_range(0..100_u64),
        1 => 1 << rng.random_range(0..63),
        2 => u64::MAX,
        _ => rng.random_range(0..1_000_000_000_000),
    };
    bytes.splice(start..end, number.to_string().bytes());
}
