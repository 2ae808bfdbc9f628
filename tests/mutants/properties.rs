//! Proofs that no input of a box gives outputs that satisfy rows.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rw_adv::budget::Budget;
use rw_adv::onnx::OnnxModel;
use rw_adv::proof::{PROPERTY_SCHEMA, PropertyProofFile};
use rw_adv::solve::{BranchLimits, SolveOptions};
use rw_adv::verify::{Verification, VerifyAnswer, VerifyResult};
use rw_adv::vnnlib::VnnlibQuery;
use rw_adv_check::{Model, check_property, parse_property_proof};
use serde_json::{Value, json};

use super::{
    Counts, Layer, Models, Unit, move_a_number, python, random_model, temporary, times, write_model,
};

/// A box and thresholds: either `y0 − y1` reaches the first one, or `y2 − y0` the second and `y2 − y1` the third.
#[derive(Clone)]
pub(crate) struct Thresholds {
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub at_least: [f64; 3],
}

impl Thresholds {
    /// The text of the property file.
    pub(crate) fn text(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let mut line = |line: String| writeln!(text, "{line}").expect("memory");
        (0..self.lower.len()).for_each(|i| line(format!("(declare-const X_{i} Real)")));
        (0..3).for_each(|i| line(format!("(declare-const Y_{i} Real)")));
        for (i, (lower, upper)) in self.lower.iter().zip(&self.upper).enumerate() {
            line(format!("(assert (>= X_{i} {lower:.30})) (assert (<= X_{i} {upper:.30}))"));
        }
        let [a, b, c] = self.at_least.map(|x| format!("{x:.30}"));
        line(format!(
            "(assert (or (and (>= (- Y_0 Y_1) {a})) (and (>= (- Y_2 Y_0) {b}) (>= (- Y_2 Y_1) {c}))))"
        ));
        text
    }

    /// The values that are compared with the thresholds, at sampled points of the box.
    fn samples(&self, models: &Models, seed: u64) -> Vec<[f64; 3]> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut sample = |number: usize| {
            let mut input = |(lower, upper): (&f64, &f64)| {
                let share = if number.is_multiple_of(3) {
                    f64::from(u8::from(rng.random_bool(0.5)))
                } else {
                    rng.random_range(0.0..1.0)
                };
                (lower + share * (upper - lower)).clamp(*lower, *upper) as f32
            };
            let point: Vec<f32> = self.lower.iter().zip(&self.upper).map(&mut input).collect();
            let y = models.ours.replay.logits(&point).expect("runs");
            let y: Vec<f64> = y.into_iter().map(f64::from).collect();
            [y[0] - y[1], y[2] - y[0], y[2] - y[1]]
        };
        (0..3000).map(&mut sample).collect()
    }

    /// The largest values of the two conjunctions that sampled points attain.
    pub(crate) fn attained(&self, models: &Models, seed: u64) -> [f64; 2] {
        let samples = self.samples(models, seed).into_iter();
        samples
            .fold([f64::NEG_INFINITY; 2], |most, [a, b, c]| [most[0].max(a), most[1].max(b.min(c))])
    }

    /// Whether a sampled point is a counterexample.
    fn is_attained(&self, models: &Models, seed: u64) -> bool {
        let [least_a, least_b, least_c] = self.at_least;
        let holds = |[a, b, c]: &[f64; 3]| *a > least_a || (*b > least_b && *c > least_c);
        self.samples(models, seed).iter().any(holds)
    }

    /// A box within [0, 1] whose sides f32 holds, and thresholds that are a little above what is attained there.
    pub(crate) fn random(models: &Models, room: f64, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed ^ 77);
        let inputs = models.ours.network.inputs();
        let width = if inputs < 10 { 8 } else { 2 };
        let sixteenth = |k: u8| f64::from(k) / 16.0;
        let lower: Vec<f64> = (0..inputs).map(|_| sixteenth(rng.random_range(0..=8))).collect();
        let upper = lower.iter().map(|x| x + sixteenth(width)).collect();
        let mut all = Self { lower, upper, at_least: [0.0; 3] };
        let [first, second] = all.attained(models, seed).map(|value| value + room);
        all.at_least = [first, second, second];
        all
    }

    fn answer(&self, models: &Models, proofs: bool, seconds: f64) -> VerifyAnswer {
        self.answer_within(4000, models, proofs, seconds)
    }

    pub(crate) fn answer_within(
        &self,
        nodes: usize,
        models: &Models,
        proofs: bool,
        seconds: f64,
    ) -> VerifyAnswer {
        let query = VnnlibQuery::from_text(&self.text(), "thresholds").expect("a property");
        let branch = Some(BranchLimits { nodes, gap: 1e-6, parallel: false });
        let options = SolveOptions { branch, proofs, ..SolveOptions::default() };
        let budget = Budget::start_cpu(Some(Duration::from_secs_f64(seconds)), None);
        let problem = Verification::new(&models.ours, query, &options).expect("fits");
        problem.solve(&budget, &()).expect("an answer")
    }

    /// The proof that there is no such input, if it is found.
    fn proof(&self, models: &Models) -> Option<Value> {
        proof_of(models, self.answer(models, true, 20.0))
    }

    /// The proof for thresholds that are only a little too high, and thresholds that are attained.
    fn tight_proof(&self, models: &Models) -> Option<(Value, [f64; 3])> {
        let (mut attained, mut room) = (None, 0.0);
        for step in 0..8 {
            let raised = Self { at_least: self.at_least.map(|x| x + room), ..self.clone() };
            match raised.answer(models, false, 5.0).result {
                VerifyResult::Sat => attained = Some(raised.at_least),
                VerifyResult::Unsat => {
                    return Some((raised.proof(models)?, attained.unwrap_or([f64::MIN; 3])));
                }
                _ => {}
            }
            room += 0.02 * f64::from(1 << step);
        }
        None
    }

    /// What a proof states.
    fn of(proof: &Value) -> Option<Self> {
        let case = proof.pointer("/cases/0")?;
        let list = |name: &str| serde_json::from_value::<Vec<f64>>(case[name].clone()).ok();
        let row =
            |conjunction: usize, row: usize| case["any_of"][conjunction][row]["constant"].as_f64();
        let at_least = [row(0, 0)?, row(1, 0)?, row(1, 1)?].map(|constant| -constant);
        Some(Self { lower: list("lower")?, upper: list("upper")?, at_least })
    }
}

/// The proof of an answer, if that is that there is no such input.
pub(crate) fn proof_of(models: &Models, answer: VerifyAnswer) -> Option<Value> {
    if answer.result != VerifyResult::Unsat {
        return None;
    }
    let (cases, trees) = answer.proof.expect("unsat has a proof").into_iter().unzip();
    let proof = PropertyProofFile {
        schema: PROPERTY_SCHEMA.into(),
        model_sha256: models.ours.sha256.clone(),
        property: "thresholds.vnnlib".into(),
        property_sha256: String::new(),
        cases,
        f32: true,
        trees,
    };
    Some(serde_json::to_value(proof).expect("JSON"))
}

impl Models {
    pub(crate) fn check_property(&self, proof: &Value, exact: bool) -> Result<(), String> {
        let proof = parse_property_proof(proof.to_string().as_bytes())?;
        check_property(&self.theirs, &proof, exact).map(|_| ())
    }
}

/// One of a list, by its place.
pub(crate) fn any(list: &Value, rng: &mut ChaCha8Rng) -> Option<usize> {
    let many = list.as_array()?.len();
    (many > 0).then(|| rng.random_range(0..many))
}

/// A node for which something holds, by its place.
pub(crate) fn any_node(
    proof: &Value,
    rng: &mut ChaCha8Rng,
    is: impl Fn(&Value) -> bool,
) -> Option<usize> {
    let nodes = proof.pointer("/trees/0/nodes")?.as_array()?;
    let such: Vec<usize> = (0..nodes.len()).filter(|&k| is(&nodes[k])).collect();
    such.get(rng.random_range(0..such.len().max(1))).copied()
}

/// Changes one character of a text with slopes.
pub(crate) fn change_slope(text: &mut Value, rng: &mut ChaCha8Rng) -> Option<()> {
    let mut slopes: Vec<u8> = text.as_str()?.bytes().collect();
    let at = rng.random_range(0..slopes.len().max(1));
    *slopes.get_mut(at)? = b"A/f.z0"[rng.random_range(0..6)];
    *text = json!(String::from_utf8(slopes).ok()?);
    Some(())
}

/// Damages what proves a statement, not the statement; the way's name.
fn damage_tree(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let has = |name: &'static str| move |node: &Value| node.get(name).is_some();
    let path = |node: usize| format!("/trees/0/nodes/{node}");
    let anywhere = any(proof.pointer("/trees/0/nodes")?, rng)?;
    let name = match rng.random_range(0..13) {
        0 => {
            proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?.remove(anywhere);
            "node dropped"
        }
        1 => {
            let nodes = proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?;
            nodes.insert(anywhere, nodes[anywhere].clone());
            "node doubled"
        }
        2 => {
            let other = any(proof.pointer("/trees/0/nodes")?, rng)?;
            proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?.swap(anywhere, other);
            "nodes swapped"
        }
        3 => {
            let node = any_node(proof, rng, has("input"))?;
            move_a_number(proof, &format!("{}/input", path(node)), rng)?;
            "split of an input shifted"
        }
        4 => {
            let node = any_node(proof, rng, has("neuron"))?;
            move_a_number(proof, &format!("{}/neuron", path(node)), rng)?;
            "split by another neuron"
        }
        5 => {
            // The sides of a leaf's parent change places.
            let nodes = proof.pointer_mut("/trees/0/nodes")?.as_array_mut()?;
            let splits = |node: &Value| node.get("input").is_some() || node.get("neuron").is_some();
            let is =
                |k: &usize| splits(&nodes[*k]) && !splits(&nodes[k + 1]) && !splits(&nodes[k + 2]);
            let such: Vec<usize> = (0..nodes.len().saturating_sub(2)).filter(is).collect();
            let node = *such.get(rng.random_range(0..such.len().max(1)))?;
            nodes.swap(node + 1, node + 2);
            "sides turned"
        }
        6 => {
            let node = any_node(proof, rng, |node| has("input")(node) || has("neuron")(node))?;
            let node = proof.pointer_mut(&path(node))?.as_object_mut()?;
            node.remove("input");
            node.remove("neuron");
            "split taken away"
        }
        7 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let refuted = proof.pointer_mut(&format!("{}/refuted", path(node)))?.as_array_mut()?;
            refuted.remove(rng.random_range(0..refuted.len()));
            "refutation dropped"
        }
        8 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let entry = proof.pointer_mut(&format!("{}/refuted/0", path(node)))?;
            entry["of"] = json!(1 - entry["of"].as_u64()?.min(1));
            "other conjunction"
        }
        9 => {
            let node = any_node(proof, rng, has("refuted"))?;
            let entry = proof.pointer_mut(&format!("{}/refuted/0", path(node)))?;
            let weight = [1.0, 0.0, -1.0, 1e-300, 1e300][rng.random_range(0..5)];
            entry["rows"] = json!([[rng.random_range(0..3), weight]]);
            "other row"
        }
        10 => {
            let kind = ["refuted", "cuts"][rng.random_range(0..2)];
            let node = any_node(proof, rng, has(kind))?;
            let entry = any(proof.pointer(&format!("{}/{kind}", path(node)))?, rng)?;
            move_a_number(proof, &format!("{}/{kind}/{entry}/signs", path(node)), rng)?;
            "multiplier moved"
        }
        11 => {
            let kind = ["refuted", "cuts"][rng.random_range(0..2)];
            let node = any_node(proof, rng, has(kind))?;
            let slopes = format!("{}/{kind}/0/slopes", path(node));
            let layer = any(proof.pointer(&slopes)?, rng)?;
            change_slope(proof.pointer_mut(&format!("{slopes}/{layer}"))?, rng)?;
            "slope changed"
        }
        _ => {
            let neuron = any(proof.pointer("/trees/0/slopes")?, rng)?;
            let side = ["above", "below"][rng.random_range(0..2)];
            let layer = format!("/trees/0/slopes/{neuron}/{side}/0");
            change_slope(proof.pointer_mut(&layer)?, rng)?;
            "slope of a neuron changed"
        }
    };
    Some(name)
}

/// Damages the statement; the way's name.
fn damage_property(proof: &mut Value, rng: &mut ChaCha8Rng) -> Option<&'static str> {
    let constants = ["/cases/0/any_of/0/0", "/cases/0/any_of/1/0", "/cases/0/any_of/1/1"];
    let name = match rng.random_range(0..3) {
        0 => {
            let side = ["lower", "upper"][rng.random_range(0..2)];
            let list = format!("/cases/0/{side}");
            let input = any(proof.pointer(&list)?, rng)?;
            let value = proof.pointer_mut(&format!("{list}/{input}"))?;
            let by = rng.random_range(0.0..0.3);
            *value = json!(value.as_f64()? + if side == "lower" { -by } else { by });
            "box enlarged"
        }
        1 => {
            let row = proof.pointer_mut(constants[rng.random_range(0..3)])?;
            let by = [1e-12, 1e-6, 1e-3, 0.01, 0.1, 1.0][rng.random_range(0..6)];
            row["constant"] = json!(row["constant"].as_f64()? + by);
            "threshold lowered"
        }
        _ => {
            let row = proof.pointer_mut(constants[rng.random_range(0..3)])?;
            row["strict"] = json!(!row["strict"].as_bool()?);
            "strictness turned"
        }
    };
    Some(name)
}

/// A way to damage a proof: its name, if it could be done.
pub(crate) type Damage = fn(&mut Value, &mut ChaCha8Rng) -> Option<&'static str>;

/// Damages a true proof, and the same proof of something false. No mutant of that is accepted; what is accepted has no counterexample.
pub(crate) fn mutate_property(
    models: &Models,
    (proof, attained): (&Value, [f64; 3]),
    (damage_tree, many): (Damage, usize),
    seed: u64,
    counts: &mut Counts,
) {
    assert_eq!(models.check_property(proof, false), Ok(()), "the true proof of {seed}");
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let sampled = Thresholds::of(proof).expect("a statement").attained(models, seed);
    let sampled = [sampled[0], sampled[1], sampled[1]].map(|value| value - 1e-6);
    let mut wrong = proof.clone();
    for (k, (conjunction, row)) in [(0, 0), (1, 0), (1, 1)].into_iter().enumerate() {
        let constant = &mut wrong["cases"][0]["any_of"][conjunction][row]["constant"];
        *constant = json!(-attained[k].max(sampled[k]));
    }
    assert!(models.check_property(&wrong, false).is_err(), "{seed}: attained");
    for number in 0..many * times() {
        let (mut mutant, mut forged) = (proof.clone(), wrong.clone());
        let before = rng.clone();
        let Some(kind) = damage_tree(&mut mutant, &mut rng).filter(|_| mutant != *proof) else {
            continue;
        };
        let accepted = models.check_property(&mutant, false).is_ok();
        counts.0.entry(kind).or_default()[usize::from(accepted)] += 1;
        let _ = damage_tree(&mut forged, &mut before.clone());
        let forged = models.check_property(&forged, false);
        assert!(
            forged.is_err(),
            "{kind}, mutant {number} of {seed}: a false statement is accepted"
        );
    }
    for number in 0..many / 4 * times() {
        let mut mutant = proof.clone();
        let Some(kind) = damage_property(&mut mutant, &mut rng).filter(|_| mutant != *proof) else {
            continue;
        };
        let accepted = models.check_property(&mutant, false).is_ok();
        counts.0.entry(kind).or_default()[usize::from(accepted)] += 1;
        if accepted {
            let stated = Thresholds::of(&mutant).expect("a statement");
            let found = stated.answer(models, false, 2.0).result;
            assert_ne!(found, VerifyResult::Sat, "{kind}, mutant {number} of {seed}");
            let is_attained = stated.is_attained(models, seed ^ 5);
            assert!(!is_attained, "{kind}, mutant {number} of {seed}");
        }
    }
}

#[test]
fn no_damaged_proof_about_a_property_hides_a_counterexample() {
    let (_kept, path) = temporary();
    // Few inputs are bisected; of many, the signs of neurons are split.
    for (name, widths, room, split) in [
        ("inputs", [4, 12, 12, 3], 0.004, "\"input\""),
        ("neurons", [130, 8, 8, 3], 0.1, "\"neuron\":["),
    ] {
        let (mut counts, mut split_at) = (Counts::default(), 0);
        for seed in 0..12 {
            random_model(&path, &widths, seed + 300);
            let models = Models::read(&path);
            let Some((proof, attained)) =
                Thresholds::random(&models, room, seed).tight_proof(&models)
            else {
                continue;
            };
            split_at += usize::from(proof["trees"][0]["nodes"].to_string().contains(split));
            mutate_property(&models, (&proof, attained), (damage_tree, 120), seed, &mut counts);
            if split_at > 2 && counts.total() > 300 {
                break;
            }
        }
        counts.print(name);
        assert!(split_at > 2, "{name}: {split_at} proofs with splits");
        assert!(counts.total() > 300, "{name}: {:?}", counts.0);
        for kind in ["node dropped", "node doubled"] {
            assert_eq!(counts.accepted(kind), 0, "{name}: {kind}");
        }
    }
}

#[test]
fn three_checkers_accept_proofs_about_properties_of_tiny_networks() {
    let (directory, path) = temporary();
    let file = directory.path().join("proof.json");
    let (mut refused, mut accepted) = (0, 0);
    for (widths, room, seed) in [
        ([3, 6, 6, 3], 0.01, 1),
        ([3, 6, 6, 3], 0.01, 2),
        ([2, 5, 5, 3], 0.02, 3),
        ([129, 4, 4, 3], 0.05, 4),
    ] {
        random_model(&path, &widths, seed + 500);
        let models = Models::read(&path);
        let Some(proof) = Thresholds::random(&models, room, seed).proof(&models) else { continue };
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        for number in 0..6 {
            let mut mutant = proof.clone();
            mutant["f32"] = json!(false);
            if number > 0 && damage_tree(&mut mutant, &mut rng).is_none() {
                continue;
            }
            let ours = models.check_property(&mutant, true);
            // What holds with roundings holds without.
            assert!(
                ours.is_ok() || models.check_property(&mutant, false).is_err(),
                "{seed} {number}"
            );
            assert!(number > 0 || ours.is_ok(), "{seed}: {ours:?}");
            std::fs::write(&file, mutant.to_string()).expect("writable");
            if let Some(theirs) = python(&path, &file) {
                // The script narrows intervals more often.
                assert!(theirs || ours.is_err(), "{seed} {number}: {mutant}");
            }
            *(if ours.is_ok() { &mut accepted } else { &mut refused }) += 1;
        }
    }
    assert!(refused > 2 && accepted > 2, "{refused} {accepted}");
}

#[test]
fn cases_without_points_need_no_proof_and_rows_are_needed() {
    let (_kept, path) = temporary();
    random_model(&path, &[2, 4, 4, 3], 7);
    let models = Models::read(&path);
    let case = |upper: f64, any_of: Value| json!({"lower": [0.0, 0.0], "upper": [upper, 1.0], "any_of": any_of});
    let proof = |cases: Value, trees: Value| {
        json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p",
            "property_sha256": "", "cases": cases, "f32": true, "trees": trees})
    };
    let holds = |cases, trees| models.check_property(&proof(cases, trees), false).is_ok();
    let (leaf, row) = (json!({"nodes": [{}]}), json!([[{"terms": [[0, 1.0]], "constant": -1e6}]]));
    assert!(holds(json!([]), json!([])), "no case");
    assert!(holds(json!([case(-1.0, row.clone())]), json!([leaf])), "an empty box");
    assert!(!holds(json!([case(1.0, row.clone())]), json!([leaf])), "nothing refutes it");
    assert!(!holds(json!([case(1.0, row.clone())]), json!([])), "no tree");
    let refuted = json!({"nodes": [{"refuted": [{"of": 0}]}]});
    assert!(holds(json!([case(1.0, row)]), json!([refuted])));
    assert!(holds(json!([case(1.0, json!([]))]), json!([leaf])), "nothing is asked for");
    assert!(
        !holds(json!([case(1.0, json!([[]]))]), json!([refuted])),
        "what asks for no row holds"
    );
    let nothing = json!({"nodes": [{"refuted": [{"of": 0, "rows": [[0, 0.0]]}]}]});
    let exactly = |cases, trees| models.check_property(&proof(cases, trees), true).is_ok();
    for strict in [false, true] {
        let row = json!([[{"terms": [], "constant": 0.0, "strict": strict}]]);
        let cases = json!([case(1.0, row)]);
        assert_eq!(exactly(cases.clone(), json!([refuted])), strict, "0 is not positive");
        assert!(!exactly(cases, json!([nothing])), "no row at all refutes nothing");
    }
}

#[test]
fn sums_that_overflow_refute_nothing() {
    let (_kept, path) = temporary();
    let first = Layer { widths: [1, 1], weights: vec![1.0], biases: vec![0.0] };
    let biases = vec![-1.5, -1.5, 1.5, 1.6];
    let second = Layer { widths: [1, 4], weights: vec![1.0, -1.0, 1.0, -1.0], biases };
    write_model(&path, &[first, second], &[Unit::Relu], None);
    let models = Models::read(&path);
    // The sum of the outputs is 0.1 everywhere.
    let row = json!({"terms": [[0, 1.0], [1, 1.0], [2, 1.0], [3, 1.0]], "constant": 0.0});
    for (weight, exact) in [1e308, 1e300, 1.0].into_iter().flat_map(|w| [(w, false), (w, true)]) {
        let proof = json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p",
            "property_sha256": "", "cases": [{"lower": [0.0], "upper": [1.0], "any_of": [[row]]}], "f32": true,
            "trees": [{"nodes": [{"refuted": [{"of": 0, "rows": [[0, weight]]}]}]}]});
        assert!(models.check_property(&proof, exact).is_err(), "{weight} {exact}");
    }
}

#[test]
fn behind_a_softmax_only_the_order_of_outputs_is_known() {
    let (_kept, path) = temporary();
    let first = Layer { widths: [1, 1], weights: vec![1.0], biases: vec![0.0] };
    let second = Layer { widths: [1, 2], weights: vec![1.0, 0.5], biases: vec![-5.0, -8.0] };
    let layers = [first, second];
    let proof = |models: &Models, row: Value| {
        json!({"schema": PROPERTY_SCHEMA, "model_sha256": models.ours.sha256, "property": "p", "property_sha256": "",
            "cases": [{"lower": [0.0], "upper": [1.0], "any_of": [[row]]}], "f32": true,
            "trees": [{"nodes": [{"refuted": [{"of": 0}]}]}]})
    };
    let value = json!({"terms": [[0, 1.0]], "constant": -0.1});
    let order = json!({"terms": [[1, 1.0], [0, -1.0]], "constant": 0.0});
    for (last_op, holds) in [(None, [true, true]), (Some("Softmax"), [false, true])] {
        write_model(&path, &layers, &[Unit::Relu], last_op);
        let theirs = Model::read(&path).expect("the checker reads it");
        let models = Models { ours: OnnxModel::load(&path).expect("loads"), theirs };
        let found =
            [&value, &order].map(|row| models.check_property(&proof(&models, row.clone()), false));
        assert_eq!(found.each_ref().map(Result::is_ok), holds, "{last_op:?}: {found:?}");
    }
}
