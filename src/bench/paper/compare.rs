//! Who wins: one method against the others, instance by instance.

use std::collections::BTreeMap;

use rw_adv::search::Method;

use super::method_run::MethodRun;

/// Below this relative difference two values are a tie.
pub const TIE: f64 = 1e-3;

/// From this relative difference on a win is a clear one; the paper counts these.
pub const CLEAR: f64 = 1e-2;

/// How much better `a` is than `b`, relative to `b`. Differences within solvers' tolerances count as 0.
pub fn gain(a: f64, b: f64) -> f64 {
    let difference = a - b;
    if difference.abs() <= 1e-6 * b.abs().max(1.0) { 0.0 } else { difference / b.abs().max(1e-9) }
}

/// The runs of an experiment: instances in their order, and what each method made of them.
pub struct MethodComparison<'r> {
    pub methods: Vec<String>,
    pub instances: Vec<InstanceRow<'r>>,
}

/// One instance.
pub struct InstanceRow<'r> {
    pub name: &'r str,
    pub group: &'r str,
    runs: BTreeMap<&'r str, &'r MethodRun>,
}

impl<'r> InstanceRow<'r> {
    pub fn run(&self, method: &str) -> Option<&'r MethodRun> {
        self.runs.get(method).copied()
    }

    pub fn value(&self, method: &str) -> Option<f64> {
        self.run(method).map(|run| run.value)
    }

    /// The best value of all methods.
    pub fn best(&self) -> f64 {
        self.runs.values().map(|run| run.value).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Method `a` against method `b`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WinCounts {
    pub instances: usize,
    pub clear_wins: usize,
    pub wins: usize,
    pub ties: usize,
    pub losses: usize,
    pub clear_losses: usize,
}

impl<'r> MethodComparison<'r> {
    /// Sorts the runs of the asked methods and instances.
    pub fn new(
        methods: Vec<String>,
        names: &'r [(String, String)],
        runs: &'r BTreeMap<(String, String), MethodRun>,
    ) -> Self {
        let of = |(name, group): &'r (String, String)| {
            let asked =
                methods.iter().filter_map(|method| runs.get(&(name.clone(), method.clone())));
            let runs =
                asked.filter(|run| !run.refused).map(|run| (run.method.as_str(), run)).collect();
            InstanceRow { name, group, runs }
        };
        let instances = names.iter().map(of).filter(|row| !row.runs.is_empty()).collect();
        Self { methods, instances }
    }

    /// Whether a method was asked for.
    pub fn has(&self, method: &str) -> bool {
        self.methods.iter().any(|name| name == method)
    }

    /// How much of a core the threads got, mean over the methods that are built in: less than 1 on a busy machine. None if only the time on the
    /// wall clock is known.
    pub fn core_share(&self) -> Option<f64> {
        let built_in = |run: &&&MethodRun| Method::NAMES.contains(&run.method.as_str());
        let runs = self.instances.iter().flat_map(|row| row.runs.values()).filter(built_in);
        let (mut cpu, mut wall) = (0.0, 0.0);
        for run in runs {
            cpu += run.seconds;
            wall += run.wall_seconds?;
        }
        (wall > 0.0).then(|| cpu / wall)
    }

    /// The groups, in the order in which they first appear.
    pub fn groups(&self) -> Vec<&'r str> {
        let mut groups: Vec<&str> = Vec::new();
        for row in &self.instances {
            if !groups.contains(&row.group) {
                groups.push(row.group);
            }
        }
        groups
    }

    /// The values of two methods, where both have one.
    pub fn pairs(&self, a: &str, b: &str) -> impl Iterator<Item = (&InstanceRow<'r>, f64, f64)> {
        let both = move |row: &'_ InstanceRow<'r>| Some((row.value(a)?, row.value(b)?));
        self.instances.iter().filter_map(move |row| both(row).map(|(a, b)| (row, a, b)))
    }

    /// How often which of two methods is better.
    pub fn win_counts(&self, a: &str, b: &str) -> WinCounts {
        let mut counts = WinCounts::default();
        for (_, a, b) in self.pairs(a, b) {
            let gain = gain(a, b);
            counts.instances += 1;
            counts.clear_wins += usize::from(gain >= CLEAR);
            counts.wins += usize::from(gain > TIE);
            counts.losses += usize::from(gain < -TIE);
            counts.clear_losses += usize::from(gain <= -CLEAR);
        }
        counts.ties = counts.instances - counts.wins - counts.losses;
        counts
    }

    /// The instances in which `method` is further than a tie below the best of all, worst first, with how far.
    pub fn losses(&self, method: &str) -> Vec<(&InstanceRow<'r>, f64)> {
        let behind = self.instances.iter().filter_map(|row| {
            let gain = gain(row.value(method)?, row.best());
            (gain < -TIE).then_some((row, gain))
        });
        let mut behind: Vec<(&InstanceRow, f64)> = behind.collect();
        behind.sort_by(|a, b| a.1.total_cmp(&b.1));
        behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_relative_and_forgive_tolerances() {
        assert_eq!(gain(1.0 + 1e-7, 1.0), 0.0);
        assert!((gain(1.02, 1.0) - 0.02).abs() < 1e-12);
        assert!((gain(-0.98, -1.0) - 0.02).abs() < 1e-12);
        assert!((gain(-1.02, -1.0) + 0.02).abs() < 1e-12);
    }

    #[test]
    fn wins_are_counted_by_hand() {
        let run = |instance: &str, method: &str, value: f64| {
            let key = (instance.to_owned(), method.to_owned());
            let run = MethodRun {
                instance: key.0.clone(),
                group: "g".into(),
                method: key.1.clone(),
                value,
                seconds: 1.0,
                wall_seconds: Some(1.0),
                seconds_to_best: 1.0,
                starts: 1,
                finished: 1,
                points: Some(1),
                refused: false,
                regions: 0,
                lps: 0,
                iterations: 0,
                claimed_bound: None,
                claimed_optimal: false,
                trace: Vec::new(),
            };
            (key, run)
        };
        // A clear win, a win, a tie, a clear loss, and one that only the first method has.
        let values = [(1.1, 1.0), (1.005, 1.0), (1.0005, 1.0), (0.9, 1.0)];
        let mut runs = BTreeMap::new();
        let mut names = Vec::new();
        for (k, (a, b)) in values.into_iter().enumerate() {
            let name = format!("i{k}");
            runs.extend([run(&name, "a", a), run(&name, "b", b)]);
            names.push((name, "g".to_owned()));
        }
        runs.extend([run("alone", "a", 1.0)]);
        names.push(("alone".to_owned(), "g".to_owned()));
        let results = MethodComparison::new(vec!["a".into(), "b".into()], &names, &runs);
        let counts =
            WinCounts { instances: 4, clear_wins: 1, wins: 2, ties: 1, losses: 1, clear_losses: 1 };
        assert_eq!(results.win_counts("a", "b"), counts);
        let losses: Vec<&str> = results.losses("a").iter().map(|(row, _)| row.name).collect();
        assert_eq!(losses, ["i3"]);
        assert_eq!(results.groups(), ["g"]);
    }
}
