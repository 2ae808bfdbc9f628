//! PNG files written while the picture is drawn.
//!
//! The caller passes runs of equal pixels and repeated lines; they become literals and matches in deflate's fixed Huffman code (RFC 1951,
//! 3.2.6). There is no search for matches, so this suits enlarged or tiny pictures; photographs go through the crate `image`.

use flate2::Crc;

/// Files are seldom longer.
const USUAL_LENGTH: usize = 8192;
const SIGNATURE: &[u8; 8] = b"\x89PNG\r\n\x1a\n";
/// A window of 32 KB; deflated fast.
const ZLIB_HEADER: [u8; 2] = [0x78, 0x01];
/// The last block, with the fixed Huffman code: three bits.
const BLOCK_HEADER: (u32, u32) = (0b011, 3);
const END_OF_BLOCK: usize = 256;
const LONGEST_MATCH: usize = 258;
/// Filter types: every line begins with one. Bytes as they are, and differences from the line above.
const FILTER_NONE: u8 = 0;
const FILTER_UP: u8 = 2;
/// Largest prime below 2¹⁶ (RFC 1950).
const ADLER_MODULUS: u64 = 65_521;

/// Codes of literals and lengths: bits, the first one lowest, and how many (RFC 1951, 3.2.6).
const SYMBOLS: [(u32, u32); 288] = symbols();
/// Codes of lengths from 3 to 258, with their extra bits (RFC 1951, 3.2.5).
const LENGTHS: [(u32, u32); LONGEST_MATCH + 1] = lengths();

const fn symbols() -> [(u32, u32); 288] {
    let mut codes = [(0, 0); 288];
    let mut symbol = 0;
    while symbol < 288 {
        let (code, bits) = match symbol as u32 {
            low @ 0..144 => (0x30 + low, 8),
            high @ 144..256 => (0x190 + high - 144, 9),
            short @ 256..280 => (short - 256, 7),
            long => (0xc0 + long - 280, 8),
        };
        // Codes are stored with their first bit lowest.
        codes[symbol] = (code.reverse_bits() >> (32 - bits), bits);
        symbol += 1;
    }
    codes
}

const fn lengths() -> [(u32, u32); LONGEST_MATCH + 1] {
    let mut codes = [(0, 0); LONGEST_MATCH + 1];
    let mut length = 3;
    // Symbols 257 to 264 stand for one length each; then every four have one extra bit more.
    let (mut symbol, mut first, mut extra) = (257, 3, 0);
    while length < LONGEST_MATCH {
        if length == first + (1 << extra) {
            symbol += 1;
            first = length;
            extra = if symbol < 265 { 0 } else { (symbol - 261) / 4 };
        }
        let (code, bits) = SYMBOLS[symbol];
        codes[length] = (code | ((length - first) as u32) << bits, bits + extra as u32);
        length += 1;
    }
    codes[LONGEST_MATCH] = SYMBOLS[285];
    codes
}

/// A PNG to which lines are added, with 1 byte a pixel (grey, or a number in a palette) or 3.
pub struct FlatPng<const CHANNELS: usize> {
    file: Vec<u8>,
    /// Where the chunk of pixels begins.
    begin: usize,
    width: usize,
    /// Bits that are no byte yet, the first one lowest, and how many.
    bits: (u64, u32),
    /// Adler-32 of the lines: the sum of all bytes plus one, and the sum of these sums.
    sums: (u64, u64),
}

impl FlatPng<1> {
    /// A picture without lines, whose pixels are places in this palette of at most 256 colours.
    ///
    /// # Panics
    /// When a side is longer than PNGs can be.
    pub fn with_palette(width: usize, height: usize, palette: &[[u8; 3]]) -> Self {
        Self::begin(width, height, 3, Some(palette))
    }
}

impl<const CHANNELS: usize> FlatPng<CHANNELS> {
    /// A picture of this size without lines.
    ///
    /// # Panics
    /// When a side is longer than PNGs can be.
    pub fn new(width: usize, height: usize) -> Self {
        Self::begin(width, height, if CHANNELS == 1 { 0 } else { 2 }, None)
    }

    fn begin(width: usize, height: usize, colour: u8, palette: Option<&[[u8; 3]]>) -> Self {
        debug_assert!(width >= 1, "a line has at least one pixel");
        let side = |length| u32::try_from(length).expect("a picture has short sides").to_be_bytes();
        let mut file = Vec::with_capacity(USUAL_LENGTH);
        file.extend_from_slice(SIGNATURE);
        let head = [&side(width)[..], &side(height), &[8, colour, 0, 0, 0]].concat();
        chunk(&mut file, b"IHDR", &head);
        if let Some(palette) = palette {
            chunk(&mut file, b"PLTE", palette.as_flattened());
        }
        let begin = file.len();
        // The length comes at the end.
        file.extend_from_slice(b"\0\0\0\0IDAT");
        file.extend_from_slice(&ZLIB_HEADER);
        let mut png = Self { file, begin, width, bits: (0, 0), sums: (1, 0) };
        png.push(BLOCK_HEADER);
        png
    }

    /// Adds a line: runs of equal pixels, as many as the picture is wide.
    pub fn line(&mut self, runs: impl IntoIterator<Item = ([u8; CHANNELS], usize)>) {
        self.literal(FILTER_NONE);
        let mut drawn = 0;
        for (pixel, count) in runs.into_iter().filter(|&(_, count)| count > 0) {
            drawn += count;
            pixel.iter().for_each(|&byte| self.push(SYMBOLS[usize::from(byte)]));
            self.repeat(pixel[0], (count - 1) * CHANNELS, CHANNELS);
            self.sum(&pixel, count);
        }
        debug_assert_eq!(drawn, self.width, "runs fill a line");
    }

    /// Adds lines like the last one.
    pub fn lines_as_above(&mut self, count: usize) {
        let bytes = self.width * CHANNELS;
        for _ in 0..count {
            self.literal(FILTER_UP);
            self.push(SYMBOLS[0]);
            self.repeat(0, bytes - 1, 1);
            self.sum(&[0], bytes);
        }
    }

    /// The file.
    pub fn finish(mut self) -> Vec<u8> {
        self.push(SYMBOLS[END_OF_BLOCK]);
        let (rest, count) = self.bits;
        self.file.extend_from_slice(&rest.to_le_bytes()[..count.div_ceil(8) as usize]);
        let sum = (self.sums.1 << 16 | self.sums.0) as u32;
        self.file.extend_from_slice(&sum.to_be_bytes());
        let name = self.begin + 4;
        let length = u32::try_from(self.file.len() - name - 4).expect("a small file");
        self.file[self.begin..name].copy_from_slice(&length.to_be_bytes());
        let crc = crc(&self.file[name..]);
        self.file.extend_from_slice(&crc);
        chunk(&mut self.file, b"IEND", &[]);
        self.file
    }

    /// A byte that is no part of a match.
    fn literal(&mut self, byte: u8) {
        self.push(SYMBOLS[usize::from(byte)]);
        self.sum(&[byte], 1);
    }

    /// Copies `count` bytes from `distance` (1 or 3) before. What is too short for a match is written as literals; that happens only at
    /// distance 1, since at 3 `count` and the longest match are multiples of three.
    fn repeat(&mut self, literal: u8, mut count: usize, distance: usize) {
        while count >= 3 {
            let length = count.min(LONGEST_MATCH);
            let (code, bits) = LENGTHS[length];
            // Distances 1 and 3 have the codes 0 and 2, of five bits.
            let distance = ((distance as u32 - 1).reverse_bits() >> 27) << bits;
            self.push((code | distance, bits + 5));
            count -= length;
        }
        (0..count).for_each(|_| self.push(SYMBOLS[usize::from(literal)]));
    }

    fn push(&mut self, (code, count): (u32, u32)) {
        self.bits.0 |= u64::from(code) << self.bits.1;
        self.bits.1 += count;
        if self.bits.1 >= 32 {
            self.file.extend_from_slice(&(self.bits.0 as u32).to_le_bytes());
            self.bits = (self.bits.0 >> 32, self.bits.1 - 32);
        }
    }

    /// Adds these bytes to the sums, so many times: as if one after the other.
    fn sum(&mut self, bytes: &[u8], times: usize) {
        let (length, times) = (bytes.len() as u64, times as u64);
        let (mut all, mut sums) = (0, 0);
        for &byte in bytes {
            all += u64::from(byte);
            sums += all;
        }
        let (first, second) = self.sums;
        let pairs = times * times.saturating_sub(1) / 2;
        let second = second + times * (length * first + sums) + length * all * pairs;
        self.sums = ((first + times * all) % ADLER_MODULUS, second % ADLER_MODULUS);
    }
}

fn chunk(file: &mut Vec<u8>, name: &[u8; 4], data: &[u8]) {
    file.extend_from_slice(&(data.len() as u32).to_be_bytes());
    let begin = file.len();
    file.extend_from_slice(name);
    file.extend_from_slice(data);
    let crc = crc(&file[begin..]);
    file.extend_from_slice(&crc);
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::report::png::decoded;

    /// Where the pixels of a picture without palette begin: behind signature and head.
    const PIXELS: usize = 8 + 25;

    #[test]
    fn a_black_pixel_by_hand() {
        let mut png = FlatPng::<1>::new(1, 1);
        png.line([([0], 1)]);
        let file = png.finish();
        assert_eq!(file[..16], *b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR");
        // Length 10: the header of zlib; three bits of the block, two literals 0 (00110000) and the end (0000000); Adler-32 of two zeros.
        let pixels = b"\0\0\0\x0aIDAT\x78\x01\x63\x60\0\0\0\x02\0\x01";
        assert_eq!(file[PIXELS..PIXELS + 18], *pixels, "{:x?}", &file[PIXELS..]);
        assert_eq!(file[file.len() - 12..], *b"\0\0\0\0IEND\xae\x42\x60\x82");
    }

    #[test]
    fn the_lengths_of_matches_are_those_of_the_format() {
        let of = |length: usize| {
            let symbol = (257..286).rfind(|&symbol| {
                let (code, bits) = SYMBOLS[symbol];
                LENGTHS[length].0 & ((1 << bits) - 1) == code && LENGTHS[length].1 >= bits
            });
            let symbol = symbol.unwrap_or(0);
            let (_, bits) = SYMBOLS[symbol];
            (symbol, LENGTHS[length].1 - bits, LENGTHS[length].0 >> bits)
        };
        // RFC 1951, the table in 3.2.5.
        let table = [
            (3, (257, 0, 0)),
            (10, (264, 0, 0)),
            (11, (265, 1, 0)),
            (12, (265, 1, 1)),
            (18, (268, 1, 1)),
            (19, (269, 2, 0)),
            (34, (272, 2, 3)),
            (35, (273, 3, 0)),
            (66, (276, 3, 7)),
            (67, (277, 4, 0)),
            (130, (280, 4, 15)),
            (131, (281, 5, 0)),
            (257, (284, 5, 30)),
            (258, (285, 0, 0)),
        ];
        for (length, expected) in table {
            assert_eq!(of(length), expected, "{length}");
        }
    }

    proptest! {
        /// Another decoder, which checks both checksums, gives back what was drawn.
        #[test]
        fn what_is_drawn_is_read_again(
            lines in prop::collection::vec((prop::collection::vec((any::<[u8; 3]>(), 1usize..400), 1..8), 1usize..5), 1..5),
        ) {
            let of = |line: &[([u8; 3], usize)]| line.iter().map(|run| run.1).sum::<usize>();
            let width = lines.iter().map(|(line, _)| of(line)).max().unwrap_or(0);
            let height = lines.iter().map(|(_, times)| times).sum();
            let palette: [[u8; 3]; 256] = std::array::from_fn(|k| [k as u8, 255 - k as u8, 7]);
            let mut colours = FlatPng::<3>::new(width, height);
            let mut greys = FlatPng::<1>::new(width, height);
            let mut numbered = FlatPng::with_palette(width, height, &palette);
            let mut expected: Vec<[u8; 3]> = Vec::new();
            for (line, times) in &lines {
                let rest = [([7, 8, 9], width - of(line))];
                let runs = || line.iter().chain(&rest).copied();
                colours.line(runs());
                colours.lines_as_above(times - 1);
                greys.line(runs().map(|([grey, ..], count)| ([grey], count)));
                greys.lines_as_above(times - 1);
                numbered.line(runs().map(|([grey, ..], count)| ([grey], count)));
                numbered.lines_as_above(times - 1);
                let pixels: Vec<[u8; 3]> = runs().flat_map(|(pixel, count)| std::iter::repeat_n(pixel, count)).collect();
                (0..*times).for_each(|_| expected.extend(&pixels));
            }
            let (wide, high) = (width as u32, height as u32);
            let grey: Vec<u8> = expected.iter().flat_map(|pixel| [pixel[0]; 3]).collect();
            let of_palette = expected.iter().flat_map(|pixel| palette[usize::from(pixel[0])]);
            prop_assert_eq!(decoded(&numbered.finish()), (wide, high, of_palette.collect()));
            prop_assert_eq!(decoded(&colours.finish()), (wide, high, expected.into_flattened()));
            prop_assert_eq!(decoded(&greys.finish()), (wide, high, grey));
        }
    }
}
