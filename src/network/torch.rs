//! Random networks as PyTorch draws them on the CPU, bit for bit, so that published instances that are a seed can be had
//! without PyTorch.
//!
//! Trap: PyTorch scales a draw to its interval with one rounding where its kernels use fused multiply-add, as those for
//! AVX2 do, and with two where they do not (`ATEN_CPU_CAPABILITY=default`). Half of the weights then differ in their last
//! bits. Here there is one rounding, on every machine.

use rand_mt::Mt;

use super::affine::AffineMap;
use super::chain::Network;
use super::error::NetworkError;

/// The network that PyTorch draws with `torch.manual_seed(seed)` and then one `nn.Linear` after the other, each as it
/// comes: first its weights row by row, then its bias, all uniform in ±1/√inputs. Single precision, widened.
///
/// Like PyTorch's generator this looks at the lower 32 bits of the seed only.
///
/// # Errors
/// With fewer than three widths, or a width of zero.
///
/// ```
/// use rw_adv::network::torch::linear_stack;
///
/// // The generator's first two numbers from this seed are 0xd091bb5c and 0x22ae9ef6. The lower 24 bits are taken as a
/// // fraction, and with one input the interval is ±1.
/// let network = linear_stack(&[1, 1, 1], 5489)?;
/// let hidden = network.affine(0);
/// assert_eq!(hidden.weight(0, 0), 2.0 * f64::from(0x91bb5c) / 16777216.0 - 1.0);
/// assert_eq!(hidden.bias()[0], 2.0 * f64::from(0xae9ef6) / 16777216.0 - 1.0);
/// # Ok::<(), rw_adv::network::NetworkError>(())
/// ```
pub fn linear_stack(widths: &[usize], seed: u64) -> Result<Network, NetworkError> {
    let mut generator = Mt::new(seed as u32);
    let maps = widths.windows(2).map(|pair| linear(pair[0], pair[1], &mut generator));
    Network::new(maps.collect())
}

/// `nn.Linear(inputs, outputs)` with its default initialisation.
fn linear(inputs: usize, outputs: usize, generator: &mut Mt) -> AffineMap {
    // For the weights PyTorch gets there by way of `kaiming_uniform_(a=sqrt(5))`: another f64, but the same f32.
    let bound = (1.0 / (inputs as f64).sqrt()) as f32;
    let mut draw = || f64::from(uniform(generator, bound));
    // By rows, which `AffineMap::from_fn` does not promise.
    let drawn: Vec<f64> = (0..outputs * inputs).map(|_| draw()).collect();
    let bias = (0..outputs).map(|_| draw()).collect();
    AffineMap::from_fn(outputs, inputs, |i, j| drawn[i * inputs + j], bias)
}

/// `tensor.uniform_(-bound, bound)` for one entry: as many bits as an f32 has, the lower ones.
fn uniform(generator: &mut Mt, bound: f32) -> f32 {
    let fraction = (generator.next_u32() & 0xff_ffff) as f32 / 16_777_216.0;
    fraction.mul_add(bound + bound, -bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_and_bias_have_the_same_bound() {
        let gain = (2.0 / (1.0 + 5f64.sqrt() * 5f64.sqrt())).sqrt();
        for inputs in 1..1_000_000 {
            let root = f64::from(inputs).sqrt();
            let kaiming = 3f64.sqrt() * (gain / root);
            assert_eq!(kaiming as f32, (1.0 / root) as f32, "{inputs} inputs");
        }
    }

    #[test]
    fn widths_that_are_no_network_are_refused() {
        let refused = |widths: &[usize]| linear_stack(widths, 0).expect_err("no network");
        assert_eq!(refused(&[]), NetworkError::NoHidden);
        assert_eq!(refused(&[3, 1]), NetworkError::NoHidden);
        assert_eq!(refused(&[0, 2, 1]), NetworkError::Empty { layer: 0, rows: 2, columns: 0 });
        assert_eq!(refused(&[2, 0, 1]), NetworkError::Empty { layer: 0, rows: 0, columns: 2 });
    }
}
