//! Networks and property files, one record for each instance.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use crate::budget::Budget;
use crate::observer::Observer;
use crate::onnx::OnnxModel;
use crate::record::{Key, VerifyInstance, VerifyRecord, VerifySummary};
use crate::run::error::StoreError;
use crate::run::job::{BoxError, Job};
use crate::run::property_proof::{PropertyProofFiles, property_proof_text};
use crate::run::record_files::RecordFiles;
use crate::run::self_check::SelfCheck;
use crate::solve::SolveOptions;
use crate::verify::{Verification, VerifyAnswer, VerifyResult};
use crate::vnnlib::VnnlibQuery;

/// Decides instances. One whose files cannot be used has a record that says so, and the others go on.
#[derive(Debug, Default)]
pub struct VerifyJob {
    /// How to solve.
    pub options: SolveOptions,
    /// Where proofs of what is unsat go. The options have to ask for proofs then.
    pub proofs: Option<PropertyProofFiles>,
    /// Whether the proofs of all that is called unsat are checked before it is stored.
    pub self_check: bool,
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
        let models = ModelCache { output, ..ModelCache::default() };
        Self { options, models, ..Self::default() }
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
        let CachedModel { model, .. } = &*self.models.get(&item.model);
        let model = model.as_ref().map_err(Clone::clone)?;
        let problem = Verification::new(model, query, &self.options)?;
        let answer = problem.solve(budget, observer)?;
        if self.self_check && answer.result == VerifyResult::Unsat {
            let (checker, text) = self.proof(item, &answer).map_err(unproven)?;
            checker.check_property(&text).map_err(unproven)?;
        }
        Ok(answer)
    }

    /// The text of an answer's proof, and what can check it; or why there is none.
    fn proof(
        &self,
        item: &VerifyItem,
        answer: &VerifyAnswer,
    ) -> Result<(SelfCheck, Vec<u8>), String> {
        let CachedModel { model, checker } = &*self.models.get(&item.model);
        let sha256 = &model.as_ref().map_err(Clone::clone)?.sha256;
        let open = || SelfCheck::open(&item.model, sha256);
        let checker = checker.get_or_init(open).clone();
        let checker = checker.map_err(|error| format!("the checker: {error}"))?;
        let text = property_proof_text(sha256, &item.property, answer);
        let text = text.map_err(|error| error.to_string())?;
        Ok((
            checker,
            text.ok_or(
                "there are proofs of boxes only, without other linear conditions on inputs",
            )?,
        ))
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

    fn store(
        &self,
        item: &VerifyItem,
        answer: &Self::Answer,
        record: &mut VerifyRecord,
        _: Option<&RecordFiles>,
    ) -> Result<(), StoreError> {
        let (Some(files), Ok(answer)) = (&self.proofs, answer) else { return Ok(()) };
        if answer.result != VerifyResult::Unsat {
            return Ok(());
        }
        let instance = item.instance.instance;
        match self.proof(item, answer) {
            Ok((_, text)) => {
                let name = files.save(instance, [&item.model, &item.property], &text)?;
                record.proof = Some(name);
            }
            Err(why) => {
                let property = item.property.display();
                log::warn!("instance {instance}, {property}: unsat, but there is no proof: {why}");
            }
        }
        Ok(())
    }
}

fn unproven(problem: String) -> String {
    format!("unsat, but not proven to the checker: {problem}")
}

/// Models by their files, each read once, when it is first asked for.
#[derive(Debug, Default)]
struct ModelCache {
    output: Option<String>,
    from_path: Mutex<HashMap<PathBuf, Arc<OnceLock<Arc<CachedModel>>>>>,
}

/// What became of a file.
#[derive(Debug)]
struct CachedModel {
    model: Result<OnnxModel, String>,
    /// The checker, with the model as it read it, once it was asked for.
    checker: OnceLock<Result<SelfCheck, String>>,
}

impl ModelCache {
    fn get(&self, path: &Path) -> Arc<CachedModel> {
        let cached = {
            let mut models = self.from_path.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(models.entry(path.to_owned()).or_default())
        };
        // Others may wait for the same file, but not for another one.
        let load = || {
            let model = OnnxModel::load_output(path, self.output.as_deref());
            let model = model.map_err(|error| error.to_string());
            Arc::new(CachedModel { model, checker: OnceLock::new() })
        };
        Arc::clone(cached.get_or_init(load))
    }
}
