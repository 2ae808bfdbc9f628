//! Random networks as PyTorch draws them on the CPU, bit for bit, so that published instances that are a seed can be had
//! without PyTorch.
//!
//! Trap: PyTorch scales a draw to its interval with one rounding where its kernels use fused multiply-add, as those for
//! AVX2 do, and with two where they do not (`ATEN_CPU_CAPABILITY=default`). Half of the weights then differ in their last
//! bits. Here there is one rounding, on every machine.

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
    let mut generator = MersenneTwister::new(seed as u32);
    let maps = widths.windows(2).map(|pair| linear(pair[0], pair[1], &mut generator));
    Network::new(maps.collect())
}

/// `nn.Linear(inputs, outputs)` with its default initialisation.
fn linear(inputs: usize, outputs: usize, generator: &mut MersenneTwister) -> AffineMap {
    // For the weights PyTorch gets there by way of `kaiming_uniform_(a=sqrt(5))`: another f64, but the same f32.
    let bound = (1.0 / (inputs as f64).sqrt()) as f32;
    let mut draw = || f64::from(generator.uniform(bound));
    // By rows, which `AffineMap::from_fn` does not promise.
    let drawn: Vec<f64> = (0..outputs * inputs).map(|_| draw()).collect();
    let bias = (0..outputs).map(|_| draw()).collect();
    AffineMap::from_fn(outputs, inputs, |i, j| drawn[i * inputs + j], bias)
}

/// MT19937 of Matsumoto and Nishimura, "Mersenne Twister", ACM TOMACS 8 (1998), seeded as in their revision of 2002.
struct MersenneTwister {
    state: [u32; Self::WORDS],
    /// How much of the state has been handed out.
    used: usize,
}

impl MersenneTwister {
    /// `n` of the paper.
    const WORDS: usize = 624;
    /// `m` of the paper: how far ahead the word lies that joins a twisted one.
    const AHEAD: usize = 397;

    fn new(seed: u32) -> Self {
        let mut state = [seed; Self::WORDS];
        for i in 1..Self::WORDS {
            let before = state[i - 1];
            state[i] = (before ^ before >> 30).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { state, used: Self::WORDS }
    }

    /// Replaces the whole state.
    fn twist(&mut self) {
        for i in 0..Self::WORDS {
            let upper = self.state[i] & 0x8000_0000;
            let lower = self.state[(i + 1) % Self::WORDS] & 0x7fff_ffff;
            let matrix = if lower & 1 == 1 { 0x9908_b0df } else { 0 };
            self.state[i] =
                self.state[(i + Self::AHEAD) % Self::WORDS] ^ (upper | lower) >> 1 ^ matrix;
        }
        self.used = 0;
    }

    /// The next 32 bits.
    fn next(&mut self) -> u32 {
        if self.used == Self::WORDS {
            self.twist();
        }
        let mut y = self.state[self.used];
        self.used += 1;
        y ^= y >> 11;
        y ^= y << 7 & 0x9d2c_5680;
        y ^= y << 15 & 0xefc6_0000;
        y ^ y >> 18
    }

    /// `tensor.uniform_(-bound, bound)` for one entry: as many bits as an f32 has, the lower ones.
    fn uniform(&mut self, bound: f32) -> f32 {
        let fraction = (self.next() & 0xff_ffff) as f32 / 16_777_216.0;
        fraction.mul_add(bound + bound, -bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The C++ standard asks for the 10000th ([rand.predef]); the first is that of the authors' own program.
    #[test]
    fn the_generator_is_mt19937() {
        let mut generator = MersenneTwister::new(5489);
        assert_eq!(generator.next(), 3_499_211_612);
        assert_eq!((2..=10_000).map(|_| generator.next()).last(), Some(4_123_659_995));
    }

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
        assert_eq!(refused(&[]), NetworkError::NoRelu);
        assert_eq!(refused(&[3, 1]), NetworkError::NoRelu);
        assert_eq!(refused(&[0, 2, 1]), NetworkError::Empty { layer: 0, rows: 2, columns: 0 });
        assert_eq!(refused(&[2, 0, 1]), NetworkError::Empty { layer: 0, rows: 0, columns: 2 });
    }
}
