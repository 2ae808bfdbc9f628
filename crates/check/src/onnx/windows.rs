//! Windows that convolutions and pools move over an image.

use super::nodes::{attribute, integers};
use super::proto::NodeProto;

/// For each output position, pairs of a cell of the kernel and the input position that it falls on.
type PlacesByOutput = Vec<Vec<(usize, usize)>>;

/// Cells of all windows, at most.
const MOST: usize = 1 << 23;

/// Where a window lies for each output position.
pub struct Windows {
    /// The sizes of the output.
    pub sizes: Vec<usize>,
    /// For each output position: cells of the window, in row-major order, and the input positions below them.
    pub cells: Vec<Vec<(usize, usize)>>,
    /// For each output position: cells that lie in the input or in its padding.
    pub padded: Vec<usize>,
}

/// One axis: the output's size, and how cells lie.
struct Axis {
    input: usize,
    output: usize,
    stride: usize,
    dilation: usize,
    before: usize,
    after: usize,
}

impl Axis {
    /// Where a cell lies, counted from the first padded position.
    fn place(&self, output: usize, cell: usize) -> usize {
        output * self.stride + cell * self.dilation
    }
}

impl Windows {
    /// The windows of a node over an image of these sizes, by its attributes.
    pub fn new(node: &NodeProto, image: &[usize], kernel: &[usize]) -> Result<Self, String> {
        let axes: Vec<Axis> =
            (0..image.len()).map(|a| axis(node, image, kernel, a)).collect::<Result<_, _>>()?;
        let sizes: Vec<usize> = axes.iter().map(|axis| axis.output).collect();
        let (outputs, cells) = (product(&sizes)?, product(kernel)?);
        let most = outputs.checked_mul(cells).filter(|&all| all <= MOST);
        most.ok_or("its windows are too many")?;
        let (mut of_outputs, mut padded) = (Vec::new(), Vec::new());
        for output in 0..outputs {
            let at = unravelled(output, &sizes);
            let (mut inside, mut counted) = (Vec::new(), 0);
            for cell in 0..cells {
                let of_cell = unravelled(cell, kernel);
                let places = axes.iter().zip(at.iter().zip(&of_cell));
                let places: Vec<usize> = places.map(|(axis, (&o, &c))| axis.place(o, c)).collect();
                let mut each = axes.iter().zip(&places);
                counted += usize::from(each.all(|(a, &p)| p < a.before + a.input + a.after));
                let position = axes.iter().zip(&places).try_fold(0, |position, (axis, &place)| {
                    let i = place.checked_sub(axis.before).filter(|&i| i < axis.input)?;
                    Some(position * axis.input + i)
                });
                inside.extend(position.map(|position| (cell, position)));
            }
            of_outputs.push(inside);
            padded.push(counted);
        }
        Ok(Self { sizes, cells: of_outputs, padded })
    }
}

fn product(sizes: &[usize]) -> Result<usize, String> {
    let all = sizes.iter().try_fold(1usize, |all, &size| all.checked_mul(size));
    all.ok_or_else(|| "its sizes are too large".into())
}

/// The place in each axis of a position in row-major order.
pub fn unravelled(mut position: usize, sizes: &[usize]) -> Vec<usize> {
    let mut places = vec![0; sizes.len()];
    for (place, &size) in places.iter_mut().zip(sizes).rev() {
        (*place, position) = (position % size, position / size);
    }
    places
}

fn axis(node: &NodeProto, image: &[usize], kernel: &[usize], a: usize) -> Result<Axis, String> {
    let rank = image.len();
    let listed = |name: &str, place: usize, default: usize| listed(node, name, place, default);
    let (stride, dilation) = (listed("strides", a, 1)?, listed("dilations", a, 1)?);
    let (input, kernel) = (image[a], *kernel.get(a).ok_or("its kernel does not fit")?);
    if stride == 0 || dilation == 0 || kernel == 0 || kernel > 1 << 20 {
        return Err("its strides, dilations or kernel are 0".into());
    }
    let reach = (kernel - 1) * dilation + 1;
    let (before, after) = match attribute(node, "auto_pad").map_or(&b"NOTSET"[..], |a| &a.s) {
        b"NOTSET" => (listed("pads", a, 0)?, listed("pads", rank + a, 0)?),
        b"VALID" => (0, 0),
        same @ (b"SAME_UPPER" | b"SAME_LOWER") => {
            let all = ((input.div_ceil(stride).max(1) - 1) * stride + reach).saturating_sub(input);
            let small = all / 2;
            if same == b"SAME_UPPER" { (small, all - small) } else { (all - small, small) }
        }
        _ => return Err("its auto_pad is not supported".into()),
    };
    let room = (input + before + after).checked_sub(reach).ok_or("its kernel is too large")?;
    let ceil = attribute(node, "ceil_mode").is_some_and(|a| a.i != 0);
    let mut output = if ceil { room.div_ceil(stride) } else { room / stride } + 1;
    // A window that begins behind the image is left out.
    if ceil && (output - 1) * stride >= input + before {
        output -= 1;
    }
    Ok(Axis { input, output, stride, dilation, before, after })
}

/// For each output position of a transposed convolution: the kernel's cells that fall there, and the input positions that they come from. Also
/// the sizes of the output.
pub fn transposed_windows(
    node: &NodeProto,
    image: &[usize],
    kernel: &[usize],
) -> Result<(Vec<usize>, PlacesByOutput), String> {
    let rank = image.len();
    let listed = |name: &str, place: usize, default: usize| listed(node, name, place, default);
    if attribute(node, "auto_pad").is_some_and(|a| !matches!(&a.s[..], b"NOTSET" | b"")) {
        return Err("its auto_pad is not supported".into());
    }
    if attribute(node, "output_shape").is_some() {
        return Err("its output_shape is not supported".into());
    }
    let (mut sizes, mut along) = (Vec::new(), Vec::new());
    for a in 0..rank {
        let (stride, dilation) = (listed("strides", a, 1)?, listed("dilations", a, 1)?);
        let (before, after) = (listed("pads", a, 0)?, listed("pads", rank + a, 0)?);
        if stride == 0 || dilation == 0 || kernel[a] == 0 || kernel[a] > 1 << 20 || image[a] == 0 {
            return Err("its strides, dilations or kernel are 0".into());
        }
        let full = stride * (image[a] - 1)
            + listed("output_padding", a, 0)?
            + (kernel[a] - 1) * dilation
            + 1;
        let size = full.checked_sub(before + after).filter(|&size| size > 0);
        sizes.push(size.ok_or("its pads are too large")?);
        along.push((stride, dilation, before));
    }
    let (all, cells, outputs) = (product(image)?, product(kernel)?, product(&sizes)?);
    if all.checked_mul(cells).is_none_or(|all| all > MOST) || outputs > MOST {
        return Err("its windows are too many".into());
    }
    let mut windows = vec![Vec::new(); outputs];
    for from in 0..all {
        let at = unravelled(from, image);
        for cell in 0..cells {
            let of_cell = unravelled(cell, kernel);
            let to = (0..rank).try_fold(0, |to, a| {
                let (stride, dilation, before) = along[a];
                let place = (at[a] * stride + of_cell[a] * dilation).checked_sub(before)?;
                (place < sizes[a]).then(|| to * sizes[a] + place)
            });
            if let Some(to) = to {
                windows[to].push((cell, from));
            }
        }
    }
    Ok((sizes, windows))
}

/// A number of a list in an attribute.
fn listed(node: &NodeProto, name: &str, place: usize, default: usize) -> Result<usize, String> {
    let Some(list) = integers(node, name) else { return Ok(default) };
    let value = list.get(place).and_then(|&value| usize::try_from(value).ok());
    value.filter(|&v| v <= 1 << 20).ok_or_else(|| format!("its {name} do not fit"))
}
