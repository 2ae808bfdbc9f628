//! What `verify` prints: a table of instances, and one result in the words of VNN-COMP or of VNN-LIB 2.0.

use std::io::{self, Write};

use crate::record::{RecordedResult, VerifyRecord, VerifySummary};
use crate::report::paint::Paint;
use crate::report::text::{duration, finite};

/// Whose words a single result is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultWords {
    /// The competition's: `timeout`.
    Competition,
    /// Those of the command line of VNN-LIB 2.0: `timed-out`.
    Standard,
}

/// The head of the table.
pub fn header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "{:>8} {:<7} {:>9} {:>8} {:>10}  network, property",
        "instance", "result", "seconds", "nodes", "bound"
    )
}

/// One line per instance.
pub fn row(out: &mut impl Write, record: &VerifyRecord, paint: Paint) -> io::Result<()> {
    let bound = record.upper_bound.map_or("-".into(), finite);
    writeln!(
        out,
        "{:>8} {} {:>9.2} {:>8} {:>10}  {}, {}{}",
        record.instance.instance,
        paint.result(record.result, 7),
        record.seconds,
        record.nodes,
        bound,
        record.instance.model,
        record.instance.property,
        record.error.as_ref().map(|error| format!(": {error}")).unwrap_or_default()
    )
}

/// The lines below the table.
pub fn summary(
    out: &mut impl Write,
    summary: &VerifySummary,
    seconds: Option<f64>,
) -> io::Result<()> {
    let VerifySummary { asked, records, results, .. } = summary;
    if summary.interrupted {
        writeln!(out, "interrupted: {records} of {asked} instances were looked at")?;
    }
    let count = |result| results.get(&result).copied().unwrap_or(0);
    let [sat, unsat, unknown, timeout, error] = [
        RecordedResult::Sat,
        RecordedResult::Unsat,
        RecordedResult::Unknown,
        RecordedResult::Timeout,
        RecordedResult::Error,
    ]
    .map(count);
    write!(
        out,
        "{records} instances{}: {sat} sat, {unsat} unsat, {unknown} unknown, {timeout} timeout",
        duration(seconds)
    )?;
    if error > 0 {
        write!(out, ", {error} error")?;
    }
    writeln!(out)
}

/// One result: a word, and the counterexample, if there is one, in the format of the property file's version.
pub fn result(out: &mut impl Write, record: &VerifyRecord, words: ResultWords) -> io::Result<()> {
    let word = match (record.result, words) {
        (RecordedResult::Timeout, ResultWords::Standard) => "timed-out",
        (result, _) => result.name(),
    };
    writeln!(out, "{word}")?;
    let (Some(inputs), Some(outputs)) = (&record.inputs, &record.outputs) else { return Ok(()) };
    let Some(network) = &record.network else {
        return assignment(out, inputs, outputs);
    };
    for (tensor, values) in [(&network.input, inputs), (&network.output, outputs)] {
        let shape: Vec<String> = tensor.shape.iter().map(usize::to_string).collect();
        writeln!(out, "{} {} [{}]", tensor.name, tensor.element_type, shape.join(","))?;
        values.iter().try_for_each(|value| writeln!(out, "{}", exactly(*value)))?;
    }
    Ok(())
}

/// `((X_0 v)` … `(Y_0 v))`.
fn assignment(out: &mut impl Write, inputs: &[f32], outputs: &[f32]) -> io::Result<()> {
    let named = |letter: char, values: &[f32]| {
        let of_value = |(i, value): (usize, &f32)| format!("({letter}_{i} {})", exactly(*value));
        values.iter().enumerate().map(of_value).collect::<Vec<String>>()
    };
    let all = [named('X', inputs), named('Y', outputs)].concat();
    writeln!(out, "({})", all.join("\n"))
}

/// All digits: whoever reads them as f64 has the same number.
fn exactly(value: f32) -> f64 {
    f64::from(value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::record::VerifyInstance;
    use crate::solve::Stop;
    use crate::verify::{Counterexample, VerifyAnswer, VerifyResult};
    use crate::vnnlib::VnnlibQuery;

    fn record(result: VerifyResult, query: &str) -> VerifyRecord {
        let query = VnnlibQuery::from_text(query, "p").unwrap();
        let counterexample = (result == VerifyResult::Sat)
            .then(|| Counterexample { inputs: vec![0.1, -1e-9], outputs: vec![-2.5] });
        let answer = VerifyAnswer {
            result,
            counterexample,
            network: query.network().cloned(),
            cases: 1,
            conjunctions: 1,
            excluded: 0,
            bound: None,
            nodes: 0,
            starts: 1,
            lps: 0,
            stop: Stop::First,
            proof: None,
        };
        let (model, property) = ("m.onnx".into(), "p.vnnlib".into());
        let instance = VerifyInstance { instance: 0, model, property, timeout: None };
        VerifyRecord::new(&instance, &Ok(answer), 0, 1.0)
    }

    fn told(record: &VerifyRecord, words: ResultWords) -> String {
        let mut text = Vec::new();
        result(&mut text, record, words).unwrap();
        String::from_utf8(text).unwrap()
    }

    const ONE: &str = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)
        (assert (and (<= X_0 1)(>= X_0 -1)(<= X_1 1)(>= X_1 -1)))";
    const TWO: &str = "(vnnlib-version <2.0>)(declare-network N (declare-input X float32 [1,2]) (declare-output Y Real []))
        (assert (and (<= X[0,0] 1)(>= X[0,0] -1)(<= X[0,1] 1)(>= X[0,1] -1)))";

    #[test]
    fn results_as_the_competition_and_the_standard_want_them() {
        let sat =
            "sat\n((X_0 0.10000000149011612)\n(X_1 -0.0000000009999999717180685)\n(Y_0 -2.5))\n";
        assert_eq!(told(&record(VerifyResult::Sat, ONE), ResultWords::Competition), sat);
        let sat = "sat\nX float32 [1,2]\n0.10000000149011612\n-0.0000000009999999717180685\nY Real []\n-2.5\n";
        assert_eq!(told(&record(VerifyResult::Sat, TWO), ResultWords::Standard), sat);
        let timeout = record(VerifyResult::Timeout, ONE);
        assert_eq!(told(&timeout, ResultWords::Competition), "timeout\n");
        assert_eq!(told(&timeout, ResultWords::Standard), "timed-out\n");
        assert_eq!(told(&record(VerifyResult::Unsat, TWO), ResultWords::Standard), "unsat\n");
    }
}
