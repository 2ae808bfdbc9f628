//! What a path means: a directory, a pattern or a file of images.
//!
//! That is decided here and nowhere else. Bytes stay bytes, and pictures stay files, until an image is asked for.

use std::path::{Path, PathBuf};

use super::array::{Element, ImageArray, fits};
use super::error::SampleError;
use super::file::FileReader;
use super::labels::{self, Labels};
use super::picture::PictureLayout;
use super::source::{DataSource, Split};
use super::{cifar, idx, listing, mnist_dir, npy, npz, picture_file};
use crate::network::Label;

/// Images that fit one model; at least one.
pub(super) enum Images {
    Array(ImageArray),
    Pictures {
        files: Vec<PathBuf>,
        layout: PictureLayout,
        /// Whether files are named with their folders.
        folders: bool,
    },
}

impl Images {
    pub fn len(&self) -> usize {
        match self {
            Self::Array(array) => array.len(),
            Self::Pictures { files, .. } => files.len(),
        }
    }

    /// The file name of image `index < len()`, where each has a file of its own.
    pub fn name(&self, index: usize) -> Option<String> {
        match self {
            Self::Array(_) => None,
            Self::Pictures { files, folders, .. } => {
                let file = &files[index];
                let name = file.file_name()?.to_string_lossy();
                let folder = file.parent().and_then(Path::file_name).filter(|_| *folders);
                Some(match folder {
                    Some(folder) => format!("{}/{name}", folder.to_string_lossy()),
                    None => name.into_owned(),
                })
            }
        }
    }

    /// The pixels of image `index < len()`.
    pub fn pixels(&self, index: usize) -> Result<Vec<f32>, SampleError> {
        match self {
            Self::Array(array) => array.pixels(index),
            Self::Pictures { files, layout, .. } => picture_file::read(&files[index], layout),
        }
    }

    /// What they are, for people: `images of 28x28`.
    pub fn kind(&self) -> String {
        let plural = if self.len() == 1 { "" } else { "s" };
        match self {
            Self::Array(array) => format!("image{plural} of {}", array.image_shape()),
            // Their sizes are not known before they are decoded.
            Self::Pictures { .. } => format!("picture{plural}"),
        }
    }

    fn pictures(path: &Path, files: Vec<PathBuf>, dims: &[usize]) -> Result<Self, SampleError> {
        match PictureLayout::from_dims(dims) {
            Some(layout) => Ok(Self::Pictures { files, layout, folders: false }),
            None => Err(SampleError::NotAPicture { path: path.to_owned(), model: dims.to_vec() }),
        }
    }
}

/// Images, and what was found beside them.
pub(super) struct OpenImages {
    /// Where they are, for people.
    pub origin: String,
    pub images: Images,
    /// Labels that lie beside the images by convention; not looked for where others are named.
    pub labels: Option<Labels>,
    /// Names of classes that lie beside the images, or that their folders have.
    pub names: Vec<String>,
}

impl OpenImages {
    fn new(origin: String, images: Images, labels: Option<Labels>) -> Self {
        Self { origin, images, labels, names: Vec::new() }
    }
}

/// Opens the images for a model whose input has these dimensions.
pub(super) fn open(source: &DataSource, dims: &[usize]) -> Result<OpenImages, SampleError> {
    let path = &source.path;
    let origin = path.display().to_string();
    if path.is_dir() {
        return open_directory(source, origin, dims);
    }
    if listing::is_pattern(path) && !path.exists() {
        let images = Images::pictures(path, listing::pattern(path)?, dims)?;
        return Ok(OpenImages::new(origin, images, None));
    }
    if cifar::is_batch(path) {
        return open_batches(path.parent(), std::slice::from_ref(path), origin, dims);
    }
    let file = npz::open(path)?;
    if picture_file::STARTS.iter().any(|mark| file.starts_with(mark)) && !file.packed() {
        let images = Images::pictures(path, vec![path.clone()], dims)?;
        return Ok(OpenImages::new(origin, images, None));
    }
    let images = open_array(file, dims)?.in_ranges(&source.ranges);
    let beside = mnist_dir::labels_beside(path).filter(|_| source.labels.is_none());
    let count = images.len();
    let labels = beside.map(|file| labels::read(&file, count, &source.classes)).transpose()?;
    Ok(OpenImages::new(origin, Images::Array(images), labels))
}

fn open_batches(
    directory: Option<&Path>,
    files: &[PathBuf],
    origin: String,
    dims: &[usize],
) -> Result<OpenImages, SampleError> {
    let cifar::Batches { pixels, labels } = cifar::read(files)?;
    let shape = [&[labels.len()], &cifar::SHAPE[..]].concat();
    let images = ImageArray::new(&files[0], &shape, Element::BYTE, pixels, dims)?;
    let names = directory.map(cifar::names).unwrap_or_default();
    Ok(OpenImages { origin, images: Images::Array(images), labels: Some(labels), names })
}

/// MNIST's names are told from all others, so they come first; only without them a directory is one of pictures.
fn open_directory(
    source: &DataSource,
    origin: String,
    dims: &[usize],
) -> Result<OpenImages, SampleError> {
    let (directory, split) = (&source.path, source.split);
    if let Some(file) = mnist_dir::image_file(directory, split) {
        let read = mnist_dir::read(directory, file, split, source.labels.is_none())?;
        let images = Images::Array(idx_images(&read.path, read.images, dims)?);
        let origin = format!("{origin} ({split} split)");
        return Ok(OpenImages::new(origin, images, read.labels));
    }
    if let Some(files) = cifar::files(directory, split) {
        return open_batches(Some(directory), &files, format!("{origin} ({split} split)"), dims);
    }
    let names = mnist_dir::image_names(split);
    let other = match split {
        Split::Train => Split::Test,
        Split::Test => Split::Train,
    };
    if mnist_dir::image_file(directory, other).is_some() {
        let problem =
            format!("no {split} split ({names}), only the other one; ask for --split {other}");
        return Err(SampleError::no_data(directory, problem));
    }
    let files = listing::directory(directory)?;
    if !files.is_empty() {
        return Ok(OpenImages::new(origin, Images::pictures(directory, files, dims)?, None));
    }
    let folders = listing::folders(directory)?;
    if folders.is_empty() {
        let problem = format!(
            "no images in this directory; looked for {names}, test_batch.bin, *.png, *.jpg, *.webp, and folders of these"
        );
        return Err(SampleError::no_data(directory, problem));
    }
    open_folders(source, folders, origin, dims)
}

/// One folder for each class. Where classes have no names, folders are numbered as they are sorted, unless they are numbers themselves.
fn open_folders(
    source: &DataSource,
    folders: Vec<(PathBuf, Vec<PathBuf>)>,
    origin: String,
    dims: &[usize],
) -> Result<OpenImages, SampleError> {
    let name =
        |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let names: Vec<String> = folders.iter().map(|(folder, _)| name(folder)).collect();
    let numbers: Option<Vec<usize>> = names.iter().map(|name| name.parse().ok()).collect();
    let (mut files, mut labels) = (Vec::new(), Vec::new());
    for (place, (folder, pictures)) in folders.into_iter().enumerate() {
        let label = match &numbers {
            _ if !source.classes.names().is_empty() => {
                source.classes.find(&names[place]).ok_or_else(|| {
                    let choices = source.classes.choices();
                    let problem = format!("is not named as a class is: {choices}");
                    SampleError::no_data(&folder, problem)
                })?
            }
            Some(numbers) => Label(numbers[place]),
            None => Label(place),
        };
        labels.extend(std::iter::repeat_n(Some(label), pictures.len()));
        files.extend(pictures);
    }
    let images = match Images::pictures(&source.path, files, dims)? {
        Images::Pictures { files, layout, .. } => Images::Pictures { files, layout, folders: true },
        array => array,
    };
    let names = if numbers.is_some() { Vec::new() } else { names };
    Ok(OpenImages { origin, images, labels: Some(labels), names })
}

fn open_array(file: FileReader, dims: &[usize]) -> Result<ImageArray, SampleError> {
    let path = file.path().to_owned();
    if file.starts_with(npy::START) {
        let array = npy::read(file)?;
        // An array that fits as a whole is one image. There is nothing to guess: were its first dimension a number of
        // images that fit as well, that number would be 1.
        let shape =
            if fits(&array.shape, dims) { [&[1], &array.shape[..]].concat() } else { array.shape };
        ImageArray::new(&path, &shape, array.element, array.bytes, dims)
    } else if file.starts_with(&idx::START) {
        idx_images(&path, idx::read(file)?, dims)
    } else {
        Err(file.not("an IDX, .npy, .npz, PNG, JPEG or WebP file"))
    }
}

fn idx_images(
    path: &Path,
    array: idx::IdxArray,
    dims: &[usize],
) -> Result<ImageArray, SampleError> {
    if array.shape.len() < 2 {
        let problem = "an IDX file with one dimension holds labels, not images";
        return Err(SampleError::unsupported(path, problem));
    }
    ImageArray::new(path, &array.shape, Element::BYTE, array.bytes, dims)
}
