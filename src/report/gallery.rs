//! The first adversaries of a run side by side.

use super::png;
use crate::record::{AttackRecord, Sketches, StoredRun, Verdict, json};

/// A PNG of at most `most` adversaries: labels and margin, image, adversary, difference, one below the other. `None` when there are none, or inputs
/// are not pictures.
pub fn gallery(run: &StoredRun, most: usize) -> Option<Vec<u8>> {
    let Sketches { size, originals, sketches, .. } = &run.sketches;
    let class_names = json::texts(&run.settings, "class_names");
    let pair = |record: &AttackRecord| {
        let original = originals.get(&record.image)?;
        let adversary = sketches.get(&(record.image, record.target))?.changed(original)?;
        let words = vec![record.change_text(&class_names), format!("margin {:.2}", record.margin)];
        Some(((original.clone(), adversary), words))
    };
    let is_adversary = |record: &&AttackRecord| record.verdict == Verdict::Adversarial;
    let adversaries = run.records.iter().filter(is_adversary);
    let (pairs, words): (Vec<_>, Vec<_>) = adversaries.filter_map(pair).take(most).unzip();
    let layout = size.filter(|_| !pairs.is_empty())?.layout();
    Some(png::gallery(&layout, &pairs, &words))
}
