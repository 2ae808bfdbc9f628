//! Proofs in two halves: the layers behind a bottleneck, and what the layers up to it do not reach.

use std::path::Path;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::properties::{Thresholds, any, mutate_property, proof_of};
use super::{Counts, Models, move_a_number, random_model, temporary};

/// Where the halves are.
const HALVES: &str = "/trees/0/bottleneck";

impl Thresholds {
    /// The proof for about the lowest thresholds that so few nodes cannot show, but two halves can: both of them, or the second one alone.
    fn proof_in_halves(&self, models: &Models, nodes: usize, both: bool) -> Option<Value> {
        (0..8).find_map(|step| {
            let room = 0.01 * f64::from(1 << step);
            let raised = Self { at_least: self.at_least.map(|x| x + room), ..self.clone() };
            let proof = proof_of(models, raised.answer_within(nodes, models, true, 4.0))?;
            let has_head = proof.pointer(HALVES)?.get("head").is_some();
            (has_head == both).then_some(proof)
        })
    }
}

/// A list of the halves.
fn list<'p>(proof: &'p mut Value, name: &str) -> Option<&'p mut Vec<Value>> {
    proof.pointer_mut(&format!("{HALVES}/{name}"))?.as_array_mut()
}

/// One of the nodes of a half's tree for which something holds.
fn node_of(
    proof: &mut Value,
    half: &str,
    rng: &mut ChaCha8Rng,
    is: impl Fn(&Value) -> bool,
) -> Option<usize> {
    let nodes = list(proof, &format!("{half}/nodes"))?;
    let such: Vec<usize> = (0..nodes.len()).filter(|&k| is(&nodes[k])).collect();
    such.get(rng.random_range(0..such.len().max(1))).copied()
}

/// Damages the layer, its neurons and their values, or the inequality; the way's name.
fn damage_statement(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let neuron = any(proof.pointer(&format!("{HALVES}/neurons"))?, rng)?;
    let share = rng.random_range(0.0..0.5);
    Some(match rng.random_range(0..8) {
        0 => {
            move_a_number(proof, &format!("{HALVES}/most"), rng)?;
            "most of the inequality moved"
        }
        1 => {
            let most = proof.pointer_mut(&format!("{HALVES}/most"))?;
            *most = json!(most.as_f64()? - share * (0.1 + most.as_f64()?.abs()));
            "most of the inequality lowered"
        }
        2 => {
            move_a_number(proof, &format!("{HALVES}/weights"), rng)?;
            "weight of the inequality moved"
        }
        3 => {
            for name in ["neurons", "lower", "upper", "weights"] {
                list(proof, name)?.remove(neuron);
            }
            "neuron dropped"
        }
        4 => {
            move_a_number(proof, &format!("{HALVES}/neurons"), rng)?;
            "another neuron"
        }
        5 => {
            let lower = list(proof, "lower")?[neuron].as_f64()?;
            let upper = list(proof, "upper")?[neuron].as_f64()?;
            let by = (0.01 + share) * (upper - lower);
            list(proof, "upper")?[neuron] = json!(upper - by);
            "interval narrowed from above"
        }
        6 => {
            let lower = list(proof, "lower")?[neuron].as_f64()?;
            let upper = list(proof, "upper")?[neuron].as_f64()?;
            list(proof, "lower")?[neuron] = json!(lower + (0.01 + share) * (upper - lower));
            "interval narrowed from below"
        }
        _ => {
            move_a_number(proof, &format!("{HALVES}/layer"), rng)?;
            "another layer"
        }
    })
}

/// Damages what ties the two trees together; the way's name.
fn damage_halves(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    Some(match rng.random_range(0..6) {
        0 => {
            // What every value has: then nothing is left to show of the tail.
            let numbers = |proof: &mut Value, name: &str| -> Option<Vec<f64>> {
                list(proof, name)?.iter().map(Value::as_f64).collect()
            };
            let [lower, upper, weights] =
                [numbers(proof, "lower")?, numbers(proof, "upper")?, numbers(proof, "weights")?];
            let sides = lower.iter().zip(&upper).zip(&weights);
            let most: f64 = sides.map(|((l, u), a)| (a * l).max(a * u)).sum();
            *proof.pointer_mut(&format!("{HALVES}/most"))? = json!(most + 1e-9);
            *proof.pointer_mut(&format!("{HALVES}/tail/nodes"))? = json!([{}]);
            "all left to the inequality"
        }
        1 => {
            *proof.pointer_mut(&format!("{HALVES}/most"))? = json!(-1e9);
            "inequality that nothing has"
        }
        2 => {
            let head = proof.pointer_mut(&format!("{HALVES}/head"))?;
            *head = json!({ "nodes": [{ "refuted": [{ "of": 0 }] }] });
            "head without a tree"
        }
        3 => {
            let halves = proof.pointer_mut(HALVES)?.as_object_mut()?;
            halves.remove(["head", "weights"][rng.random_range(0..2)])?;
            "head or weights dropped"
        }
        4 => {
            list(proof, "weights")?.iter_mut().try_for_each(|weight| {
                *weight = json!(-weight.as_f64()?);
                Some(())
            })?;
            "head of another row"
        }
        _ => {
            let many = list(proof, "weights")?.len();
            let [one, other] = [0, 1].map(|_| rng.random_range(0..many));
            list(proof, "weights")?.swap(one, other);
            "weights exchanged"
        }
    })
}

/// Damages one of the two trees; the way's name.
fn damage_trees(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let half = ["tail", "tail", "head"][rng.random_range(0..3)];
    let nodes = format!("{half}/nodes");
    let is_split = |node: &Value| node.get("input").is_some() || node.get("neuron").is_some();
    Some(match rng.random_range(0..5) {
        0 => {
            let node = node_of(proof, half, rng, |_| true)?;
            list(proof, &nodes)?.remove(node);
            "node of a half dropped"
        }
        1 => {
            let node = node_of(proof, half, rng, |_| true)?;
            let nodes = list(proof, &nodes)?;
            nodes.insert(node, nodes[node].clone());
            "node of a half doubled"
        }
        2 => {
            let node = node_of(proof, half, rng, |node| node.get("refuted").is_some())?;
            list(proof, &nodes)?[node].as_object_mut()?.remove("refuted");
            "refutation of a half dropped"
        }
        3 => {
            let node = node_of(proof, half, rng, is_split)?;
            for name in ["input", "neuron"] {
                list(proof, &nodes)?[node].as_object_mut()?.remove(name);
            }
            "split of a half taken away"
        }
        _ => {
            let node = node_of(proof, half, rng, is_split)?;
            move_a_number(proof, &format!("{HALVES}/{nodes}/{node}/input"), rng)?;
            "split of a half shifted"
        }
    })
}

fn damage(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    match rng.random_range(0..4) {
        0 | 1 => damage_statement(proof, rng),
        2 => damage_halves(proof, rng),
        _ => damage_trees(proof, rng),
    }
}

/// A random network, thresholds that nothing attains, and a proof of that in two halves, or by the second one alone.
fn proven(
    path: &Path,
    (widths, nodes): (&[usize], usize),
    both: bool,
    seed: u64,
) -> Option<(Models, Value)> {
    random_model(path, widths, seed);
    let models = Models::read(path);
    let proof = Thresholds::random(&models, 0.0, seed).proof_in_halves(&models, nodes, both)?;
    Some((models, proof))
}

/// Many inputs, so that the signs of neurons are split.
const WIDTHS: [usize; 5] = [130, 12, 4, 12, 3];

#[test]
fn no_damaged_proof_in_two_halves_hides_a_counterexample() {
    let (_kept, path) = temporary();
    let (mut counts, mut proofs) = (Counts::default(), 0);
    for seed in 0..40 {
        let Some((models, proof)) = proven(&path, (&WIDTHS, 10), true, seed + 1100) else {
            continue;
        };
        proofs += 1;
        let unattained = [f64::MIN; 3];
        mutate_property(&models, (&proof, unattained), (damage, 40), seed, &mut counts);
        if proofs > 3 && counts.total() > 140 {
            break;
        }
    }
    counts.print("halves");
    assert!(proofs > 3 && counts.total() > 140, "{proofs} {:?}", counts.0);
    for kind in [
        "neuron dropped",
        "interval narrowed from above",
        "all left to the inequality",
        "inequality that nothing has",
        "head or weights dropped",
        "node of a half dropped",
        "node of a half doubled",
    ] {
        assert_eq!(counts.accepted(kind), 0, "{kind}");
    }
}

#[test]
fn no_damaged_proof_by_the_second_half_alone_hides_a_counterexample() {
    let (_kept, path) = temporary();
    let (mut counts, mut proofs) = (Counts::default(), 0);
    for seed in 0..40 {
        let Some((models, proof)) = proven(&path, (&WIDTHS, 10), false, seed + 1150) else {
            continue;
        };
        proofs += 1;
        let unattained = [f64::MIN; 3];
        mutate_property(&models, (&proof, unattained), (damage, 40), seed, &mut counts);
        if proofs > 2 {
            break;
        }
    }
    counts.print("second half");
    assert!(proofs > 2 && counts.total() > 80, "{proofs} {:?}", counts.0);
    assert_eq!(counts.accepted("node of a half dropped"), 0);
}

#[test]
fn proofs_in_two_halves_hold_with_exact_numbers() {
    let (_kept, path) = temporary();
    let mut proofs = [0; 2];
    for seed in 0..80 {
        let both = seed % 2 == 0;
        let Some((models, mut proof)) = proven(&path, (&[129, 8, 2, 6, 3], 2), both, seed + 1200)
        else {
            continue;
        };
        proof["f32"] = json!(false);
        assert_eq!(models.check_property(&proof, false), Ok(()), "{seed}");
        assert_eq!(models.check_property(&proof, true), Ok(()), "{seed}, exact numbers");
        proofs[usize::from(both)] += 1;
        if proofs.iter().all(|count| *count > 0) {
            return;
        }
    }
    panic!("{proofs:?}");
}
