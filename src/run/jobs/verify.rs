//! Networks and property files, one record for each instance.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::budget::Budget;
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::record::{Key, VerifyInstance, VerifyRecord, VerifySummary};
use crate::run::job::{BoxError, Job};
use crate::solve::SolveOptions;
use crate::verify::{Verification, VerifyAnswer};
use crate::vnnlib::VnnlibQuery;

/// Decides instances. One whose files cannot be used has a record that says so, and the others go on.
#[derive(Debug, Default)]
pub struct VerifyJob {
    /// How to solve.
    pub options: SolveOptions,
    models: ModelCache,
}

/// An instance, and where its files are.
#[derive(Clone, Debug)]
pub struct VerifyItem {
    /// As the record tells it.
    pub instance: VerifyInstance,
    /// The model.
    pub model: PathBuf,
    /// The property.
    pub property: PathBuf,
    /// The name that a property in VNN-LIB 2.0 has to give the network, if one was demanded.
    pub network: Option<String>,
}

impl VerifyJob {
    /// With these options, about one output of models that have several.
    pub fn new(options: SolveOptions, output: Option<String>) -> Self {
        Self { options, models: ModelCache { output, ..ModelCache::default() } }
    }

    fn answer(
        &self,
        item: &VerifyItem,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<VerifyAnswer, BoxError> {
        let query = VnnlibQuery::read(&item.property)?;
        if let Some(wanted) = &item.network {
            let declared = query.network().map_or("none", |network| network.name.as_str());
            if declared != wanted {
                let file = item.property.display();
                return Err(format!("{file}: declares the network {declared}, not {wanted}").into());
            }
        }
        let model = self.models.get(&item.model)?;
        let problem = Verification::new(&model, query, &self.options)?;
        Ok(problem.solve(budget, observer)?)
    }
}

impl Job for VerifyJob {
    type Item = VerifyItem;
    type Shared = ();
    type Answer = Result<VerifyAnswer, String>;
    type Record = VerifyRecord;
    type Summary = VerifySummary;

    fn input_dims(&self) -> &[usize] {
        // Inputs are in the records.
        &[]
    }

    fn listing(&self, item: &VerifyItem) -> (usize, Vec<usize>) {
        (item.instance.instance, Vec::new())
    }

    fn share(&self, _: &VerifyItem) {}

    fn solve(
        &self,
        item: &VerifyItem,
        (): &(),
        _: Key,
        budget: &Budget,
        observer: &dyn Observer,
    ) -> Result<Self::Answer, BoxError> {
        let budget = budget.capped(item.instance.timeout.map(Duration::from_secs_f64));
        Ok(self.answer(item, &budget, observer).map_err(|error| error.to_string()))
    }

    fn record(
        &self,
        item: &VerifyItem,
        _: Key,
        answer: &Self::Answer,
        seconds: f64,
    ) -> VerifyRecord {
        VerifyRecord::new(&item.instance, answer, self.options.search.seed, seconds)
    }
}

/// Models by their files, each read once, when it is first asked for.
#[derive(Debug, Default)]
struct ModelCache {
    output: Option<String>,
    from_path: Mutex<HashMap<PathBuf, Arc<CachedModel>>>,
}

/// What became of a file.
type CachedModel = OnceLock<Result<Arc<OnnxModel>, String>>;

impl ModelCache {
    fn get(&self, path: &Path) -> Result<Arc<OnnxModel>, String> {
        let cached = {
            let mut models = self.from_path.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(models.entry(path.to_owned()).or_default())
        };
        // Others may wait for the same file, but not for another one.
        let load = || {
            let model = OnnxModel::load_output(path, self.output.as_deref());
            model.map(Arc::new).map_err(|error| error.to_string())
        };
        cached.get_or_init(load).clone()
    }
}
