//! Proofs in which the whole box is bounded again: trees over the signs of neurons for single functions, and quadratic relaxations.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::bounds::{Arithmetic, BoxBounds, BoxQuestions, BoxScratch, SplitBy};
use rw_adv::branch::{BoxTree, BoxTreeOptions, BranchStop};
use rw_adv::budget::Budget;
use rw_adv::proof::{CaseStatement, PROPERTY_SCHEMA, PropertyProofFile};
use rw_adv::sets::InputSet;
use rw_adv::vnnlib::VnnlibQuery;
use serde_json::{Value, json};

use super::properties::{Damage, Thresholds, any, change_slope, mutate_property};
use super::{Counts, Models, move_a_number, python, random_model, temporary};

/// Bounds and trees are for what is below this.
const CUTOFF: f64 = 0.0;

impl Thresholds {
    /// A proof by few nodes, after the whole box was bounded a second time.
    fn proof_by_bounding_again(&self, models: &Models, nodes: usize) -> Option<Value> {
        let query = VnnlibQuery::from_text(&self.text(), "thresholds").expect("a property");
        let case = query.case(0);
        let set = InputSet::new_box(&case.domain.lower, &case.domain.upper);
        let questions = BoxQuestions::conjunctions(case.property.any_of.iter());
        let (network, mut scratch) = (models.ours.network.as_ref(), BoxScratch::default());
        let kind = (Arithmetic::F32, SplitBy::Signs);
        let (first, root) =
            BoxBounds::with_evidence(network, &set, questions, kind, CUTOFF, &mut scratch);
        let (bounds, root) = first.bounded_again(&root, CUTOFF.into(), &mut scratch)?;
        let options = BoxTreeOptions { nodes, cutoff: CUTOFF, memory: usize::MAX, parallel: false };
        let budget = Budget::unlimited();
        let mut tree = BoxTree::new(Arc::new(bounds), root, options, &budget);
        let stop = tree.grow(&budget, |_| ControlFlow::Continue(()));
        let tree = tree.take_proof(stop, &[0, 1]).filter(|_| stop == BranchStop::Proven)?;
        let proof = PropertyProofFile {
            schema: PROPERTY_SCHEMA.into(),
            model_sha256: models.ours.sha256.clone(),
            property: "thresholds.vnnlib".into(),
            property_sha256: String::new(),
            cases: vec![CaseStatement::new(&case.domain, &case.property)?],
            f32: true,
            trees: vec![tree],
        };
        Some(serde_json::to_value(proof).expect("JSON"))
    }

    /// The proof for the lowest thresholds that have one, about.
    fn tight_proof_by_bounding_again(&self, models: &Models, nodes: usize) -> Option<Value> {
        (0..10).find_map(|step| {
            let room = 0.01 * f64::from(1 << step);
            let raised = Self { at_least: self.at_least.map(|x| x + room), ..self.clone() };
            raised.proof_by_bounding_again(models, nodes)
        })
    }
}

/// Where functions are bounded in this way: by a tree, or by a quadratic relaxation.
fn bounded_by(proof: &Value, kind: &str) -> Vec<String> {
    let lists = |at: String| -> Vec<String> {
        let list = proof.pointer(&at).and_then(Value::as_array);
        (0..list.map_or(0, Vec::len)).map(|k| format!("{at}/{k}")).collect()
    };
    let mut all = lists("/trees/0/again/0/bounds".into());
    for node in lists("/trees/0/nodes".into()) {
        all.extend(lists(format!("{node}/refuted")));
    }
    all.retain(|at| proof.pointer(at).is_some_and(|bound| bound.get(kind).is_some()));
    all
}

fn pick(list: Vec<String>, rng: &mut ChaCha8Rng) -> Option<String> {
    list.get(rng.random_range(0..list.len().max(1))).cloned()
}

/// Damages bounds of the whole box's neurons; the way's name.
fn damage_bounds(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let list = "/trees/0/again/0/bounds";
    let bound = format!("{list}/{}", any(proof.pointer(list)?, rng)?);
    Some(match rng.random_range(0..4) {
        0 => {
            let at = any(proof.pointer(list)?, rng)?;
            proof.pointer_mut(list)?.as_array_mut()?.remove(at);
            "bound of a neuron dropped"
        }
        1 => {
            let side = proof.pointer_mut(&format!("{bound}/above"))?;
            *side = json!(!side.as_bool()?);
            "bound from the other side"
        }
        2 => {
            move_a_number(proof, &format!("{bound}/neuron"), rng)?;
            "bound of another neuron"
        }
        _ => {
            let again = proof.pointer_mut("/trees/0/again/0")?.as_object_mut()?;
            again.remove("slopes")?;
            "slopes of the whole box dropped"
        }
    })
}

/// Damages a quadratic relaxation; the way's name.
fn damage_quadratic(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let lists = ["inputs", "ranges", "products", "signs", "passes", "lines"];
    let at = format!("{}/quadratic", pick(bounded_by(proof, "quadratic"), rng)?);
    let [one, other] = [0, 1].map(|_| lists[rng.random_range(0..lists.len())]);
    let list = format!("{at}/{one}");
    let number = format!("{list}/{}", any(proof.pointer(&list)?, rng)?);
    Some(match rng.random_range(0..7) {
        0 | 1 => {
            move_a_number(proof, &list, rng)?;
            "multiplier of a square moved"
        }
        2 => {
            let number = proof.pointer_mut(&number)?;
            *number = json!(-number.as_f64()? - 1e-3);
            "multiplier of a square negative"
        }
        3 => {
            *proof.pointer_mut(&list)? = json!([]);
            "list of multipliers emptied"
        }
        4 => {
            let [first, second] =
                [one, other].map(|name| proof.pointer(&format!("{at}/{name}")).cloned());
            *proof.pointer_mut(&format!("{at}/{one}"))? = second?;
            *proof.pointer_mut(&format!("{at}/{other}"))? = first?;
            "lists of multipliers exchanged"
        }
        5 => {
            move_a_number(proof, &format!("{at}/neurons"), rng)?;
            "another neuron listed"
        }
        _ => {
            let by = rng.random_range(0.1..10.0);
            for number in proof.pointer_mut(&list)?.as_array_mut()? {
                *number = json!(number.as_f64()? * by);
            }
            "list of multipliers scaled"
        }
    })
}

/// Damages a tree over signs; the way's name.
fn damage_signs(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let at = format!("{}/tree", pick(bounded_by(proof, "tree"), rng)?);
    let number = any(proof.pointer(&at)?, rng)?;
    let nodes = proof.pointer_mut(&at)?.as_array_mut()?;
    let is_split = |node: &Value| node.get("neuron").is_some();
    let some = |nodes: &[Value], splits: bool, rng: &mut ChaCha8Rng| {
        let such: Vec<usize> =
            (0..nodes.len()).filter(|&k| is_split(&nodes[k]) == splits).collect();
        such.get(rng.random_range(0..such.len().max(1))).copied()
    };
    Some(match rng.random_range(0..9) {
        0 => {
            nodes.remove(number);
            "node of signs dropped"
        }
        1 => {
            nodes.insert(number, nodes[number].clone());
            "node of signs doubled"
        }
        2 => {
            let leaf = some(nodes, false, rng)?;
            let other = some(nodes, false, rng)?;
            nodes.swap(leaf, other);
            "leaves of signs swapped"
        }
        3 => {
            let split = some(nodes, true, rng)?;
            nodes[split] = nodes[some(nodes, false, rng)?].clone();
            "split of signs taken away"
        }
        4 => {
            let split = some(nodes, true, rng)?;
            move_a_number(proof, &format!("{at}/{split}/neuron"), rng)?;
            "signs of another neuron"
        }
        5 => {
            // A tree that ends where it is split.
            let split = some(nodes, true, rng)?;
            let leaf = nodes[some(nodes, false, rng)?].clone();
            nodes.truncate(split);
            nodes.push(leaf);
            "tree of signs cut short"
        }
        6 => {
            let leaf = some(nodes, false, rng)?;
            move_a_number(proof, &format!("{at}/{leaf}/signs"), rng)?;
            "multiplier of a sign moved"
        }
        7 => {
            let leaf = some(nodes, false, rng)?;
            let signs = nodes[leaf].get_mut("signs")?.as_array_mut()?;
            let at = rng.random_range(0..signs.len().max(1));
            let sign = signs.get_mut(at)?;
            *sign = json!(-sign.as_f64()? - 1e-3);
            "multiplier of a sign negative"
        }
        _ => {
            let leaf = some(nodes, false, rng)?;
            let layer = any(nodes[leaf].get("slopes")?, rng)?;
            change_slope(nodes[leaf].pointer_mut(&format!("/slopes/{layer}"))?, rng)?;
            "slope of a leaf changed"
        }
    })
}

fn damage_evidence(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let ways: [Damage; 5] =
        [damage_bounds, damage_quadratic, damage_quadratic, damage_signs, damage_signs];
    ways[rng.random_range(0..5)](proof, rng)
}

/// A random network, thresholds that nothing attains, a proof of that, and thresholds that are attained.
fn proven(path: &Path, widths: &[usize], nodes: usize, seed: u64) -> Option<(Models, Value)> {
    random_model(path, widths, seed);
    let models = Models::read(path);
    let thresholds = Thresholds::random(&models, 0.0, seed);
    let proof = thresholds.tight_proof_by_bounding_again(&models, nodes)?;
    Some((models, proof))
}

#[test]
fn no_damaged_tree_or_relaxation_hides_a_counterexample() {
    let (_kept, path) = temporary();
    let (mut counts, mut kinds) = (Counts::default(), [0; 3]);
    for seed in 0..24 {
        let Some((models, proof)) = proven(&path, &[6, 12, 12, 8, 3], 40, seed + 700) else {
            continue;
        };
        let bounds = [("tree", "bounds"), ("quadratic", "bounds"), ("tree", "nodes")];
        for (count, (kind, place)) in kinds.iter_mut().zip(bounds) {
            *count += bounded_by(&proof, kind).iter().filter(|at| at.contains(place)).count();
        }
        mutate_property(
            &models,
            (&proof, [f64::MIN; 3]),
            (damage_evidence, 100),
            seed,
            &mut counts,
        );
        if counts.total() > 800 && kinds.iter().all(|count| *count > 3) {
            break;
        }
    }
    counts.print("bounded again");
    assert!(
        kinds.iter().all(|count| *count > 3) && counts.total() > 800,
        "{kinds:?} {:?}",
        counts.0
    );
    for kind in [
        "multiplier of a square negative",
        "multiplier of a sign negative",
        "node of signs dropped",
        "node of signs doubled",
    ] {
        assert_eq!(counts.accepted(kind), 0, "{kind}");
    }
}

#[test]
fn checkers_agree_on_trees_and_relaxations() {
    let (directory, path) = temporary();
    let file = directory.path().join("proof.json");
    let (mut trees, mut quadratics) = (0, 0);
    for seed in 0..4 {
        let Some((models, mut proof)) = proven(&path, &[3, 5, 5, 4, 3], 20, seed + 900) else {
            continue;
        };
        proof["f32"] = json!(false);
        assert_eq!(models.check_property(&proof, false), Ok(()), "{seed}");
        assert_eq!(models.check_property(&proof, true), Ok(()), "{seed}, exact numbers");
        trees += bounded_by(&proof, "tree").len();
        quadratics += bounded_by(&proof, "quadratic").len();
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for number in 0..6 {
            let mut mutant = proof.clone();
            if number > 0 && damage_evidence(&mut mutant, &mut rng).is_none() {
                continue;
            }
            let exact = models.check_property(&mutant, true);
            std::fs::write(&file, mutant.to_string()).expect("writable");
            if let Some(theirs) = python(&path, &file) {
                // The script narrows intervals more often.
                assert!(theirs || exact.is_err(), "{seed} {number}: {mutant}");
            }
        }
    }
    assert!(trees > 0 && quadratics > 0, "{trees} {quadratics}");
}
