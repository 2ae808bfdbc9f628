//! Where a linear function is largest over box and budget: a continuous knapsack.

use std::cmp::Ordering;

use super::set::InputSet;

/// A point of the set where a linear function is largest.
#[derive(Clone, Debug)]
pub struct Vertex {
    /// The point.
    pub point: Vec<f64>,
    /// The function's value there.
    pub value: f64,
}

impl InputSet {
    /// The largest value of `w · x` over box and budget, whatever the constraints: a continuous knapsack, the steepest
    /// pixels first.
    pub fn support(&self, w: &[f64]) -> f64 {
        self.spend(w, |_, _| ())
    }

    /// A point where `w · x` is largest over box and budget. It need not keep the constraints: that takes an LP,
    /// [`Vertices`](crate::encode::Vertices).
    pub fn maximise(&self, w: &[f64]) -> Vertex {
        let mut point = self.centre.clone();
        let value = self.spend(w, |i, amount| {
            // Exactly onto the box's side when the whole cap is spent.
            point[i] = if amount >= 0.0 {
                (self.centre[i] + amount).min(self.centre[i] + self.up[i])
            } else {
                (self.centre[i] + amount).max(self.centre[i] - self.down[i])
            };
        });
        Vertex { point, value }
    }

    /// Spends the budget on the steepest pixels; tells `taken` each pixel and its signed amount.
    fn spend(&self, w: &[f64], mut taken: impl FnMut(usize, f64)) -> f64 {
        let mut value: f64 = w.iter().zip(&self.centre).map(|(w, c)| w * c).sum();
        let useful = |&i: &usize| w[i] != 0.0 && self.cap(i, w[i]) > 0.0;
        let Some(budget) = self.budget else {
            for i in (0..w.len()).filter(useful) {
                let cap = self.cap(i, w[i]);
                value += w[i].abs() * cap;
                taken(i, cap.copysign(w[i]));
            }
            return value;
        };
        let mut pixels: Vec<usize> = (0..w.len()).filter(useful).collect();
        let steeper = |a: &usize, b: &usize| -> Ordering {
            w[*b].abs().total_cmp(&w[*a].abs()).then(a.cmp(b))
        };
        // Few pixels are ever used: select and sort just enough of them, instead of all.
        let mut left = budget;
        let mut rest = &mut pixels[..];
        let mut batch = 16;
        while left > 0.0 && !rest.is_empty() {
            let many = batch.min(rest.len());
            if many < rest.len() {
                rest.select_nth_unstable_by(many - 1, steeper);
            }
            let (steepest, others) = rest.split_at_mut(many);
            steepest.sort_unstable_by(steeper);
            for &i in &*steepest {
                let amount = self.cap(i, w[i]).min(left);
                value += w[i].abs() * amount;
                taken(i, amount.copysign(w[i]));
                left -= amount;
                if left <= 0.0 {
                    break;
                }
            }
            rest = others;
            batch *= 4;
        }
        value
    }
}
