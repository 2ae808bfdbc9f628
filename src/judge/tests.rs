//! Witnesses that are forged, lost by rounding, or outside.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::picture::{byte_towards, pixel};
use super::store::Storage;
use super::*;
use crate::bounds::CertifiedBound;
use crate::network::{AffineMap, Label};
use crate::problem::{Conjunction, InputCondition, PropertyRow};
use crate::sets::{Domain, Norm, PixelRange};
use crate::tolerance::HAIR;

/// Two values; `y_0 = slope · relu(x_0)`, `y_1 = slope · relu(threshold)`, so that label 0 wins where
/// `x_0` is above the threshold.
fn threshold_network(threshold: f64) -> Arc<Network> {
    let hidden = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 0.0]], vec![0.0, threshold]);
    let output = AffineMap::from_rows(&[[1.0, 0.0], [0.0, 1.0]], vec![0.0, 0.0]);
    Arc::new(Network::new(vec![hidden, output]).unwrap())
}

/// A file that says what it is told to.
struct Says(Vec<f32>);

impl Replay for Says {
    fn logits(&self, _: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.clone())
    }
}

/// A file that computes what the network does.
struct Agrees(Arc<Network>);

impl Replay for Agrees {
    fn logits(&self, x: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Ok(self.0.logits(&widened(x)).into_iter().map(|y| y as f32).collect())
    }
}

struct Fails;

impl Replay for Fails {
    fn logits(&self, _: &[f32]) -> Result<Vec<f32>, ReplayFailure> {
        Err("the file is gone".into())
    }
}

const GREY: &[f32] = &[0.2, 0.6];

fn ball(original: &[f32], delta: f64) -> InputSet {
    InputSet::ball(Norm::L1, original, delta, PixelRange::UNIT)
}

/// Predicted 1, target 0.
fn margin() -> Property {
    Property::positive(Objective::margin(2, Label(1), Label(0)))
}

/// A judge whose file computes what the network does.
fn agreeing(network: &Arc<Network>) -> Judge {
    Judge::new(Arc::clone(network), Arc::new(Agrees(Arc::clone(network))))
}

/// A judge whose file says what it is told to.
fn saying(network: &Arc<Network>, logits: &[f32]) -> Judge {
    Judge::new(Arc::clone(network), Arc::new(Says(logits.to_vec())))
}

fn judge(threshold: f64, set: &InputSet, candidate: &[f64]) -> Judgement {
    agreeing(&threshold_network(threshold)).judge(set, &margin(), candidate).unwrap()
}

#[test]
fn a_true_witness_is_recognised_and_measured() {
    let judged = judge(0.4, &ball(GREY, 0.5), &[0.5, 0.6]);
    let point = judged.witness().unwrap().point();
    assert!((point.value() - 0.1).abs() < 1e-6 && (point.value_f32() - 0.1).abs() < 1e-6);
    assert!((point.distance() - 0.3).abs() < 1e-6);
    // 0.6 as f64 is no f32: it is stored as the original's 0.6, not as a change of one ulp.
    assert_eq!((point.changed(), point.values()[1]), (1, 0.6));
    assert_eq!(judged.verdict(&[]), Ok(Verdict::Adversarial));
    assert_eq!(judged.verdict(&[CertifiedBound::forged(2.0, true)]), Ok(Verdict::Adversarial));
}

#[test]
fn a_point_outside_the_box_is_judged_where_the_box_ends() {
    let judged = judge(1.5, &ball(GREY, 5.0), &[3.0, -1.0]);
    assert!(judged.witness().is_none());
    assert_eq!(judged.point().values(), [1.0, 0.0]);
}

#[test]
fn a_point_outside_the_ball_is_judged_where_the_ball_ends() {
    let judged = judge(0.5, &ball(GREY, 0.1), &[0.9, 0.6]);
    assert!(judged.witness().is_none());
    let point = judged.point();
    assert!(point.distance() < 0.1 && point.distance() > 0.0999, "{point:?}");
}

#[test]
fn a_point_on_the_surface_is_shrunk_inside_and_hardly_moved() {
    for norm in [Norm::L1, Norm::Linf] {
        let set = InputSet::ball(norm, &[0.25, 0.5], 0.5, PixelRange::UNIT);
        let judged = judge(0.7, &set, &[0.75, 0.5]);
        let point = judged.witness().unwrap().point();
        assert!(point.distance() < 0.5, "{point:?}");
        assert!(point.distance() > 0.5 * (1.0 - 3.0 * HAIR), "{point:?}");
    }
}

#[test]
fn on_the_surface_pixels_that_are_black_or_white_stay_so_but_for_one() {
    let original: Vec<f32> = [0, 255, 0, 255, 100].map(pixel).to_vec();
    let set = ball(&original, 4.0);
    let storage = Storage::new(&set).unwrap();
    let stored = storage.store(&[1.0, 0.0, 1.0, 0.0, f64::from(original[4])]);
    let moved = stored.iter().zip([1.0, 0.0, 1.0, 0.0, original[4]]).filter(|(x, y)| *x != y);
    assert_eq!(moved.count(), 1);
    let distance = storage.distance_inside(&stored).unwrap();
    assert!(distance > 4.0 - 1e-7, "{distance}");
}

#[test]
fn a_point_strictly_inside_is_not_shrunk() {
    let candidate = [0.2 + 0.25, 0.6 - 0.125];
    let judged = judge(0.7, &ball(GREY, 0.4), &candidate);
    for (&stored, wanted) in judged.point().values().iter().zip(candidate) {
        assert!((f64::from(stored) - wanted).abs() < 1e-7);
    }
}

#[test]
fn a_nan_and_an_infinity_are_refused_with_their_place() {
    let network = threshold_network(0.4);
    let judge_it = |candidate: &[f64]| {
        let judged = saying(&network, &[1.0, 0.0]).judge(&ball(GREY, 1.0), &margin(), candidate);
        judged.unwrap_err().to_string()
    };
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert_eq!(
            judge_it(&[0.5, value]),
            format!("the candidate's value 1 is {value}, not a finite number")
        );
    }
    assert_eq!(judge_it(&[0.5]), "the candidate: 1 values, the model has 2");
}

#[test]
fn a_margin_that_lives_only_in_f64_is_lost_by_rounding() {
    // The threshold lies above the last f32 below the candidate.
    let threshold = 0.5 + 1e-9;
    let candidate = [0.5 + 2e-9, 0.6];
    assert!(threshold_network(threshold).logits(&candidate)[0] > threshold);
    let judged = judge(threshold, &ball(GREY, 1.0), &candidate);
    assert!(judged.witness().is_none() && judged.point().value() < 0.0);
    assert_eq!(judged.point().values()[0], 0.5);
}

#[test]
fn a_witness_for_the_wrong_label_is_none() {
    // Label 0 wins, but the question is whether label 1 beats label 0.
    let property = Property::positive(Objective::margin(2, Label(0), Label(1)));
    let judge = agreeing(&threshold_network(0.4));
    let judged = judge.judge(&ball(GREY, 0.5), &property, &[0.5, 0.6]).unwrap();
    assert!(judged.witness().is_none() && judged.point().value() < 0.0);
}

#[test]
fn both_precisions_must_be_fooled_and_a_tie_fools_nobody() {
    let network = threshold_network(0.4);
    for (candidate, logits) in [
        ([0.5, 0.6], vec![0.0, 1.0]),      // only our network is fooled
        ([0.3, 0.6], vec![1.0, 0.0]),      // only the file is
        ([0.5, 0.6], vec![1.0, 1.0]),      // the file has a tie
        ([0.5, 0.6], vec![f32::NAN, 0.0]), // the file says nothing
        ([0.5, 0.6], vec![f32::INFINITY; 2]),
    ] {
        let judge = saying(&network, &logits);
        let judged = judge.judge(&ball(GREY, 0.5), &margin(), &candidate).unwrap();
        assert!(judged.witness().is_none(), "{logits:?}");
        assert_eq!(judged.verdict(&[]), Ok(Verdict::Unknown));
    }
    let judged = judge(0.25, &ball(&[0.125, 0.5], 0.5), &[0.25, 0.5]);
    assert!(judged.witness().is_none() && judged.point().value() == 0.0);
}

#[test]
fn sets_that_make_no_sense_are_refused() {
    let judge = saying(&threshold_network(0.4), &[1.0, 0.0]);
    for (bad, line) in [
        (ball(GREY, 0.0), "the budget 0 is not a positive number"),
        (ball(GREY, f64::NAN), "the budget NaN is not a positive number"),
        (ball(GREY, f64::INFINITY), "the budget inf is not a positive number"),
        (ball(&[0.5], 0.5), "the image: 1 values, the model has 2"),
        (ball(&[0.5, 1.5], 0.5), "the image's value 1 is 1.5, not in [0, 1]"),
        (ball(&[f32::NAN, 0.5], 0.5), "the image's value 0 is NaN, not in [0, 1]"),
    ] {
        let judged = judge.judge(&bad, &margin(), &[0.5, 0.5]);
        assert_eq!(judged.unwrap_err().to_string(), line);
    }
}

#[test]
fn in_a_box_values_are_rounded_to_f32_between_the_bounds() {
    let judge = agreeing(&threshold_network(0.05));
    // No bound is an f32: 0.1 is rounded up to one, 0.7 down.
    let set = InputSet::new_box(&[0.1, 0.1], &[0.7, 0.7]);
    let judged = judge.judge(&set, &margin(), &[0.1, 2.0]).unwrap();
    let [low, high] = [judged.point().values()[0], judged.point().values()[1]].map(f64::from);
    assert!((0.1..0.1 + 1e-7).contains(&low) && (0.7 - 1e-7..=0.7).contains(&high));
    assert!(judged.witness().is_some());
    // A fixed value that f32 does not hold leaves no f32 point.
    let fixed = InputSet::new_box(&[0.1, 0.1], &[0.1, 0.7]);
    let judged = judge.judge(&fixed, &margin(), &[0.1, 0.5]).unwrap();
    assert!(judged.witness().is_none() && judged.point().value() > 0.0);
}

#[test]
fn a_property_of_several_rows_needs_all_of_one_conjunction() {
    let judge = agreeing(&threshold_network(0.4));
    let set = InputSet::new_box(&[0.0; 2], &[1.0; 2]);
    let row = |weights: [f64; 2], constant: f64| Objective { weights: weights.to_vec(), constant };
    let all = |rows: &[Objective]| Conjunction {
        all_of: rows.iter().map(|row| PropertyRow::new(row.clone(), true)).collect(),
    };
    // y0 is x0 and y1 is 0.4.
    let (above, below) = (row([1.0, 0.0], -0.25), row([-1.0, 0.0], 0.75));
    let between =
        Property { any_of: vec![all(&[above.clone(), below.clone()])], ..Property::default() };
    let either = Property { any_of: vec![all(&[above]), all(&[below])], ..Property::default() };
    for (x, in_between) in [(0.125, false), (0.5, true), (0.875, false), (0.25, false)] {
        let is_witness = |property: &Property| {
            judge.judge(&set, property, &[x, 0.0]).unwrap().witness().is_some()
        };
        assert_eq!(is_witness(&between), in_between, "{x}");
        assert!(is_witness(&either), "{x}");
    }
    assert!(judge.judge(&set, &Property::default(), &[0.5; 2]).unwrap().witness().is_none());
}

#[test]
fn a_border_is_a_witness_unless_the_row_is_strict() {
    let set = InputSet::new_box(&[0.0; 2], &[1.0; 2]);
    // y0 is x0: at most a quarter.
    let row = Objective { weights: vec![-1.0, 0.0], constant: 0.25 };
    for strict in [false, true] {
        let all_of = vec![PropertyRow::new(row.clone(), strict)];
        let property = Property { any_of: vec![Conjunction { all_of }], ..Property::default() };
        let network = threshold_network(0.5);
        let judged = agreeing(&network).judge(&set, &property, &[0.25, 0.0]).unwrap();
        assert_eq!(judged.witness().is_some(), !strict);
        assert_eq!(judged.point().value(), 0.0);
        // The file must be on the border too, or inside.
        for (logit, inside) in [(0.25, !strict), (0.25f32.next_up(), false), (0.125, !strict)] {
            let judged =
                saying(&network, &[logit, 0.0]).judge(&set, &property, &[0.25, 0.0]).unwrap();
            assert_eq!(judged.witness().is_some(), inside, "{logit}");
        }
    }
}

#[test]
fn open_sides_and_linear_conditions_are_kept_to_the_letter() {
    let judge = agreeing(&threshold_network(0.5));
    let below = |terms: &[(usize, f64)], constant: f64, strict: bool| InputCondition {
        terms: terms.to_vec(),
        constant,
        strict,
        slack: 0.0,
    };
    let property = |of_inputs: Vec<InputCondition>| Property {
        any_of: vec![Conjunction::default()],
        of_inputs,
    };
    let set = InputSet::of_domain(&Domain::new_box(2, 0.0, 1.0), vec![0.25; 2]);
    // x0 < 1: the largest f32 below is stored.
    let open = property(vec![below(&[(0, -1.0)], 1.0, true)]);
    let judged = judge.judge(&set, &open, &[1.0, 1.0]).unwrap();
    assert_eq!(judged.witness().unwrap().point().values(), [1f32.next_down(), 1.0]);
    // x0 + x1 ≤ 1.1: rounded to f32 the candidate is above it, so that it is pulled towards the centre.
    let slanted = property(vec![below(&[(0, -1.0), (1, -1.0)], 1.1, false)]);
    let judged = judge.judge(&set, &slanted, &[0.1, 1.0]).unwrap();
    let stored = judged.witness().unwrap().point().values();
    assert!(widened(stored).iter().sum::<f64>() <= 1.1 && stored[1] > 0.9999);
    // Nothing between the sides.
    let crossed = property(vec![below(&[(0, -1.0)], 0.5, true), below(&[(0, 1.0)], -0.5, true)]);
    assert!(judge.judge(&set, &crossed, &[0.5, 0.5]).unwrap().witness().is_none());
}

#[test]
fn a_file_that_fails_or_gives_other_logits_is_an_error() {
    let network = threshold_network(0.4);
    let failing = Judge::new(Arc::clone(&network), Arc::new(Fails));
    let failed = failing.judge(&ball(GREY, 0.5), &margin(), &[0.5, 0.6]);
    assert_eq!(failed.unwrap_err().to_string(), "the file is gone");
    let failed = saying(&network, &[1.0]).judge(&ball(GREY, 0.5), &margin(), &[0.5, 0.6]);
    assert_eq!(failed.unwrap_err().to_string(), "the file's logits: 1 values, the model has 2");
}

#[test]
fn robust_needs_a_bound_below_zero_and_no_witness() {
    let harmless = judge(0.9, &ball(GREY, 0.1), &[0.2, 0.6]);
    let forged = CertifiedBound::forged;
    for (bounds, verdict) in [
        (vec![], Verdict::Unknown),
        (vec![forged(-0.1, true)], Verdict::Robust),
        (vec![forged(-0.1, false)], Verdict::Unknown),
        (vec![forged(-0.2, false), forged(-0.1, true)], Verdict::Robust),
        (vec![forged(-0.2, false), forged(0.1, true)], Verdict::Unknown),
        (vec![forged(0.0, true)], Verdict::Unknown),
        (vec![forged(-0.0, true)], Verdict::Unknown),
        (vec![forged(f64::NAN, true)], Verdict::Unknown),
    ] {
        assert_eq!(harmless.verdict(&bounds), Ok(verdict), "{bounds:?}");
    }
    let fooled = judge(0.4, &ball(GREY, 0.5), &[0.5, 0.6]);
    for for_f32 in [false, true] {
        let contradiction = fooled.verdict(&[forged(-0.1, for_f32)]).unwrap_err();
        assert_eq!(contradiction.bound, -0.1);
    }
    assert!(harmless.verdict(&[forged(-10.0, false)]).is_err(), "its margin is above that");
    // What only the file's own run gives must not exceed a bound of such runs.
    let network = threshold_network(0.9);
    let judge = saying(&network, &[0.0, 0.001]);
    let only_f32 = judge.judge(&ball(GREY, 0.1), &margin(), &[0.2, 0.6]).unwrap();
    assert!(only_f32.witness().is_none());
    assert!(only_f32.verdict(&[forged(-0.1, true)]).is_err());
    assert_eq!(only_f32.verdict(&[forged(-0.1, false)]), Ok(Verdict::Unknown));
}

#[test]
fn verdicts_are_stored_as_they_are_shown() {
    for verdict in Verdict::ALL {
        assert_eq!(serde_json::to_string(&verdict).unwrap(), format!("\"{verdict}\""));
    }
    assert_eq!(format!("{:>8}|", Verdict::Robust), "  robust|");
}

#[test]
fn bytes_are_rounded_towards_the_original() {
    let original = pixel(51);
    for (x, byte) in [
        (original, 51),
        (pixel(60), 60),
        (pixel(60).next_down(), 59),
        (pixel(60).next_up(), 60),
        (pixel(40), 40),
        (pixel(40).next_up(), 41),
        (pixel(40).next_down(), 40),
        (1.0, 255),
        (0.0, 0),
    ] {
        assert_eq!(byte_towards(original, x), byte, "{x}");
    }
    for byte in 0..=255 {
        assert_eq!(nearest_byte(pixel(byte)), byte);
    }
}

#[test]
fn the_picture_is_replayed() {
    let network = threshold_network(0.4);
    let judge = agreeing(&network);
    let original = [pixel(51), pixel(153)];
    // 102.5 / 255 is above the threshold of 0.4 = 102 / 255, its byte is not.
    let set = ball(&original, 0.5);
    let judged = judge.judge(&set, &margin(), &[102.5 / 255.0, f64::from(original[1])]).unwrap();
    assert!(judged.witness().is_some());
    let picture = judge.eight_bit(&set, &margin(), judged.point()).unwrap().unwrap();
    assert_eq!(picture.bytes(), [102, 153]);
    assert!(picture.value() <= 1e-7 && picture.distance() < judged.point().distance());
}

#[test]
fn an_original_that_is_no_picture_may_have_no_picture_inside_the_ball() {
    let network = threshold_network(0.4);
    let judge = agreeing(&network);
    let original = [0.5, 0.5]; // 127.5 / 255: half a byte away from any picture
    let (near, far) = (ball(&original, 0.003), ball(&original, 0.1));
    let judged = judge.judge(&near, &margin(), &[0.501, 0.5]).unwrap();
    assert_eq!(judge.eight_bit(&near, &margin(), judged.point()).unwrap(), None);
    let picture = judge.eight_bit(&far, &margin(), judged.point()).unwrap().unwrap();
    assert!(picture.distance() > judged.point().distance());
}

/// An image of bytes, a candidate in the closed ball ∩ box (mostly on the surface), norm and budget.
fn any_candidate() -> impl Strategy<Value = (Vec<u8>, Vec<f64>, Norm, f64)> {
    let norm = prop_oneof![Just(Norm::L1), Just(Norm::Linf)];
    let size = prop_oneof![1usize..6, 100usize..900];
    let delta = prop_oneof![1e-9..1e-3f64, 0.01..8.0f64];
    // A share of 1 is the surface, above it lies outside.
    let share = prop_oneof![3 => Just(1.0f64), 1 => 0.0..1.0f64];
    (size, norm, delta, share, 1usize..40)
        .prop_flat_map(|(size, norm, delta, share, every)| {
            let bytes = prop::collection::vec(any::<u8>(), size);
            let moves = prop::collection::vec(-1.0..1.0f64, size);
            (bytes, moves, Just((norm, delta, share, every)))
        })
        .prop_map(
            |(bytes, moves, (norm, delta, share, every)): (
                Vec<u8>,
                Vec<f64>,
                (Norm, f64, f64, usize),
            )| {
                let original: Vec<f64> = bytes.iter().map(|&b| f64::from(pixel(b))).collect();
                let moved: Vec<f64> = original
                    .iter()
                    .zip(&moves)
                    .enumerate()
                    .map(|(i, (o, m))| if i % every == 0 { (o + m).clamp(0.0, 1.0) } else { *o })
                    .collect();
                let length = norm.distance(&moved, &original);
                let scale = if length > 0.0 { share * (delta / length).min(1.0) } else { 0.0 };
                let candidate =
                    original.iter().zip(&moved).map(|(o, m)| o + scale * (m - o)).collect();
                (bytes, candidate, norm, delta)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn what_is_stored_is_strictly_inside_and_never_farther_than_the_candidate(
        (bytes, candidate, norm, delta) in any_candidate(),
    ) {
        let original: Vec<f32> = bytes.iter().copied().map(pixel).collect();
        let hidden = AffineMap::from_fn(1, bytes.len(), |_, _| 0.0, vec![0.0]);
        let output = AffineMap::from_rows(&[[0.0], [0.0]], vec![0.0, 0.0]);
        let network = Arc::new(Network::new(vec![hidden, output]).unwrap());
        let judge = saying(&network, &[1.0, 0.0]);
        let set = InputSet::ball(norm, &original, delta, PixelRange::UNIT);
        let judged = judge.judge(&set, &margin(), &candidate).unwrap();
        let picture = judge.eight_bit(&set, &margin(), judged.point()).unwrap();
        let picture = picture.expect("an 8-bit image always has a picture inside");
        let stored = judged.point().values();
        let shown: Vec<f32> = picture.bytes().iter().copied().map(pixel).collect();
        for x in [stored, &shown] {
            prop_assert!(x.iter().all(|x| (0.0..=1.0).contains(x)));
            // Added up forwards and backwards, as somebody else might.
            let forwards = norm.distance(&widened(x), &widened(&original));
            let reversed = |x: &[f32]| widened(x).into_iter().rev().collect::<Vec<_>>();
            let backwards = norm.distance(&reversed(x), &reversed(&original));
            prop_assert!(forwards < delta && backwards < delta);
        }
        let mut changed = 0;
        for i in 0..original.len() {
            let from = f64::from(original[i]);
            let (wanted, got) = (candidate[i].clamp(0.0, 1.0) - from, f64::from(stored[i]) - from);
            let seen = f64::from(shown[i]) - from;
            prop_assert!(got * wanted >= 0.0 && got.abs() <= wanted.abs(), "{got} {wanted}");
            prop_assert!(seen * got >= 0.0 && seen.abs() <= got.abs(), "{seen} {got}");
            prop_assert!((wanted - got).abs() <= 1e-6 * wanted.abs() + 1.2e-7, "{got} {wanted}");
            changed += usize::from(got != 0.0);
        }
        prop_assert_eq!(judged.point().changed(), changed);
    }
}
