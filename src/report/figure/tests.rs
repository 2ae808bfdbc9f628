use super::canvas::{HEIGHT, Mark, PNG_SIZE, WIDTH};
use super::*;
use crate::record::record;
use crate::report::png;

fn series(name: &str, points: &[(f64, f64)]) -> Series {
    Series { name: name.to_owned(), points: points.to_vec() }
}

fn scatter(log: bool, groups: Vec<Series>) -> Scatter {
    Scatter {
        title: "Best margin".to_owned(),
        subtitle: "rw ≥ 1 % better: 2 <of> 3".to_owned(),
        x_label: "apgd".to_owned(),
        y_label: "rw & walk".to_owned(),
        log,
        groups,
    }
}

fn curves(log_x: bool, curves: Vec<Series>) -> Curves {
    Curves {
        title: "Within 0.1 % of the best".to_owned(),
        subtitle: String::new(),
        x_label: "time (s)".to_owned(),
        y_label: "instances".to_owned(),
        log_x,
        curves,
    }
}

/// Everything that is written, and all of it inside the sheet.
fn texts(drawing: &Drawing) -> Vec<String> {
    let written = drawing.marks.iter().filter_map(|mark| match mark {
        Mark::Text(text) => Some(text),
        _ => None,
    });
    written
        .map(|text| {
            let width = font::width(&text.text, text.size).expect("a font");
            let before = match text.anchor {
                canvas::Anchor::Start => 0.0,
                canvas::Anchor::Middle => width / 2.0,
                canvas::Anchor::End => width,
            };
            let (along, room) =
                if text.upward { (HEIGHT - text.at.1, HEIGHT) } else { (text.at.0, WIDTH) };
            assert!(along - before >= 0.0, "{text:?}");
            assert!(along - before + width <= room, "{text:?}");
            assert!(text.size >= 12.0, "{text:?}");
            text.text.clone()
        })
        .collect()
}

/// Where the markers of a colour are: in the plot and in the legend.
fn discs(drawing: &Drawing) -> Vec<(f64, f64)> {
    let of_first = |mark: &Mark| match mark {
        Mark::Disc { centre, colour, .. } if *colour == marker::colour(0) => Some(*centre),
        _ => None,
    };
    drawing.marks.iter().filter_map(of_first).collect()
}

/// All marks within the sheet, both files well formed, and the picture not empty.
fn check(drawing: &Drawing, what: &str) {
    for mark in &drawing.marks {
        let places = match mark {
            Mark::Line { points, .. } => points.clone(),
            Mark::Polygon { corners, .. } => corners.clone(),
            Mark::Disc { centre, .. } => vec![*centre],
            Mark::Text(text) => vec![text.at],
        };
        for (x, y) in places {
            assert!((0.0..=WIDTH).contains(&x) && (0.0..=HEIGHT).contains(&y), "{what}: {mark:?}");
        }
    }
    texts(drawing);
    let svg = drawing.svg().expect("memory takes everything");
    assert!(svg.starts_with(r#"<svg width="800" height="640" viewBox="0 0 3200 2560""#), "{what}");
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count(), "{what}");
    assert!(svg.trim_end().ends_with("</svg>"), "{what}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{what}");
    let (width, height, pixels) = png::decoded(&drawing.png().expect("memory takes everything"));
    assert_eq!((width, height), PNG_SIZE, "{what}");
    assert_eq!(pixels[..3], [255; 3], "{what}: white ground");
    let inked = pixels.chunks_exact(3).filter(|pixel| pixel[0] < 128).count();
    assert!(inked > 2000, "{what}: {inked} dark pixels");
}

/// Sets of points that a plot has trouble with.
fn odd_points() -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let (nan, infinite) = (f64::NAN, f64::INFINITY);
    vec![
        ("nothing", vec![]),
        ("one", vec![(3.0, 4.0)]),
        ("zero", vec![(0.0, 0.0)]),
        ("equal", vec![(2.5, 2.5); 7]),
        ("negative", vec![(-3.0, -1.0), (-2.0, -7.5)]),
        ("signs", vec![(-3.0, 1.0), (0.0, -7.5), (4.0, 2.0)]),
        ("no numbers", vec![(nan, 1.0), (1.0, infinite), (-infinite, nan)]),
        ("some numbers", vec![(nan, 1.0), (1.0, 2.0), (-infinite, 2.0)]),
        ("largest", vec![(f64::MIN, f64::MAX), (-1e300, 1e300)]),
        ("smallest", vec![(5e-324, 1e-310), (f64::MIN_POSITIVE, 5e-324)]),
        ("all sizes", vec![(1e-300, 1e300), (1.0, 2.0)]),
        ("close", vec![(1.0, 1.0 + f64::EPSILON), (1.0, 1.0)]),
        ("close and large", vec![(1e15, 1e15 + 1.0)]),
        ("five decades", vec![(3e-3, 1e-2), (1.0, 470.0)]),
    ]
}

#[test]
fn every_scatter_comes_out() {
    for (what, points) in odd_points() {
        for log in [false, true] {
            let figure = scatter(log, vec![series("a", &points), series("b", &points)]);
            check(&figure.drawing(), &format!("{what}, log: {log}"));
        }
    }
    check(&Scatter::default().drawing(), "nothing at all");
}

#[test]
fn every_set_of_curves_comes_out() {
    for (what, points) in odd_points() {
        for log in [false, true] {
            let figure = curves(log, vec![series("a", &points), series("", &points)]);
            check(&figure.drawing(), &format!("{what}, log: {log}"));
        }
    }
    check(&Curves::default().drawing(), "nothing at all");
}

#[test]
fn both_files_show_what_was_given() {
    let figure = scatter(false, vec![series("2x16", &[(1.0, 2.0), (3.0, 3.0), (f64::NAN, 1.0)])]);
    let svg = figure.drawing().svg().expect("memory takes everything");
    for text in ["Best margin", "rw ≥ 1 % better: 2 &lt;of&gt; 3", "apgd", "rw &amp; walk", "2x16"]
    {
        assert!(svg.contains(&format!("\n{text}\n")), "{text}");
    }
    // Two points and one sample, each with its halo.
    assert_eq!(svg.matches("<circle").count(), 2 * 3);
    let file = figure.drawing().png().expect("memory takes everything");
    assert_eq!(png::decoded(&file).0, PNG_SIZE.0);
}

#[test]
fn points_are_where_their_values_are() {
    let groups = vec![series("a", &[(1.0, 1.0), (1.0, 100.0), (100.0, 1.0), (10.0, 10.0)])];
    for log in [false, true] {
        let drawing = scatter(log, groups.clone()).drawing();
        let places = discs(&drawing);
        let [low, above, right, between, sample] = places[..] else { panic!("{places:?}") };
        // Equal ranges, the value of the second method upward.
        let side = right.0 - low.0;
        assert!((low.1 - above.1 - side).abs() < 1e-9, "{places:?}");
        assert_eq!((low.0, right.1), (above.0, low.1));
        let share = if log { 0.5 } else { 9.0 / 99.0 };
        assert!((between.0 - low.0 - share * side).abs() < 1e-9, "{places:?}");
        // The legend is beside the plot.
        assert!(sample.0 > right.0 + 10.0);
    }
}

#[test]
fn a_logarithmic_scatter_with_a_zero_is_linear() {
    let groups = vec![series("a", &[(0.0, 1.0), (50.0, 100.0)])];
    let (log, linear) = (scatter(true, groups.clone()).drawing(), scatter(false, groups).drawing());
    assert_eq!(texts(&log), texts(&linear));
    assert_eq!(discs(&log), discs(&linear));
}

#[test]
fn a_curve_goes_up_where_its_value_does() {
    // At time zero the first value is there already; the order of the points does not matter.
    let points = [(10.0, 3.0), (0.0, 1.0), (1.0, 2.0), (100.0, 3.0)];
    let drawing = curves(true, vec![series("a", &points)]).drawing();
    let line = drawing.marks.iter().find_map(|mark| match mark {
        Mark::Line { points, colour, .. } if *colour == marker::colour(0) => Some(points),
        _ => None,
    });
    let corners = line.expect("a curve");
    assert_eq!(corners.len(), 7);
    for pair in corners.windows(2) {
        assert!(pair[0].0 == pair[1].0 || pair[0].1 == pair[1].1, "{pair:?}");
        assert!(pair[1].0 >= pair[0].0 && pair[1].1 <= pair[0].1, "{pair:?}");
    }
    // A decade between each.
    assert!((corners[4].0 - corners[2].0 - (corners[6].0 - corners[4].0)).abs() < 1e-9);
    assert!(corners[0].0 < corners[2].0);
}

#[test]
fn the_legend_lists_curves_as_they_end() {
    let figure = curves(
        false,
        vec![
            series("lowest", &[(0.0, 9.0), (1.0, 1.0)]),
            series("never there", &[]),
            series("highest", &[(0.0, 0.0), (0.5, 8.0)]),
            series("middle", &[(0.0, 4.0)]),
        ],
    );
    let written = texts(&figure.drawing());
    let listed: Vec<&str> = written[written.len() - 4..].iter().map(String::as_str).collect();
    assert_eq!(listed, ["highest", "middle", "lowest", "never there"]);
}

#[test]
fn long_and_many_names_are_cut() {
    let long =
        "a name that somebody thought would explain everything there is to explain ".repeat(9);
    let groups = (0..40).map(|k| series(&format!("{k} {long}"), &[(1.0, f64::from(k))]));
    let mut figure = scatter(false, groups.collect());
    for text in [&mut figure.title, &mut figure.subtitle, &mut figure.x_label, &mut figure.y_label]
    {
        long.clone_into(text);
    }
    let drawing = figure.drawing();
    check(&drawing, "long");
    let written = texts(&drawing);
    assert_eq!(written.iter().filter(|text| text.ends_with('…')).count(), 4 + 19);
    assert!(written.contains(&"… and 21 more".to_owned()));
}

#[test]
fn control_characters_do_not_reach_the_file() {
    let figure = scatter(false, vec![series("a\0b\nc\u{1b}[0m\u{FFFF}", &[(1.0, 1.0)])]);
    let svg = figure.drawing().svg().expect("memory takes everything");
    assert!(svg.contains("\na b c [0m \n"));
}

#[test]
fn the_first_groups_differ_in_colour_and_in_shape() {
    let mut drawing = Drawing::default();
    for k in 0..7 {
        for other in 0..k {
            assert_ne!(marker::colour(k), marker::colour(other));
        }
        marker::draw(&mut drawing, k, (0.0, 0.0), 4.0);
    }
    let outlines: Vec<String> = drawing
        .marks
        .iter()
        .map(|mark| match mark {
            Mark::Polygon { corners, .. } => format!("{corners:?}"),
            Mark::Disc { radius, .. } => format!("disc {radius}"),
            _ => panic!("{mark:?}"),
        })
        .collect();
    for (k, outline) in outlines.iter().enumerate() {
        assert!(!outlines[..k].contains(outline), "{outline}");
    }
}

#[test]
fn letters_are_as_wide_as_in_arial() {
    // Advance widths of Arial and its like, in 2048ths: digits 1139, M 1706, i 455, comma 569.
    for (text, units) in [("0", 1139), ("10", 2278), ("M", 1706), ("i,", 455 + 569)] {
        let width = font::width(text, 2048.0).expect("a font");
        assert!((width - f64::from(units)).abs() < 0.5, "{text}: {width}");
    }
    // All that ticks are written with, and what titles need, is in the font.
    let missing = font::width("\u{4E2D}", 100.0).expect("a font");
    let boxed = ink("\u{4E2D}");
    for c in "0123456789−×⁰¹²³⁴⁵⁶⁷⁸⁹⁻…≥≤±%εΔ∞ℓ₁".chars() {
        assert!(ink(&c.to_string()) != boxed, "{c}, a box {missing} wide");
    }
}

fn ink(text: &str) -> Vec<(i32, i32)> {
    let mut covered = Vec::new();
    let drawn: Result<(), ()> = font::rasterise(text, 40.0, |x, y, _| {
        covered.push((x, y));
        Ok(())
    })
    .expect("a font");
    assert_eq!(drawn, Ok(()));
    covered
}

#[test]
fn gaps_are_drawn_from_margin_to_bound() {
    let records = [
        record(0, 2, "robust", r#","margin":-3.0,"upper_bound":-1.0"#),
        record(1, 2, "adversarial", r#","margin":2.0,"upper_bound":4.0"#),
        record(2, 2, "unknown", r#","margin":-1.0"#),
    ];
    let drawing = Gaps::of(&records).drawing();
    check(&drawing, "gaps");
    let words = texts(&drawing);
    for word in ["1 adversarial", "1 robust", "1 unknown"] {
        assert!(words.iter().any(|text| text == word), "{word}: {words:?}");
    }
    check(&Gaps::of(&[]).drawing(), "no gaps");
    let wave = |k: usize| format!(r#","margin":{},"upper_bound":1.5"#, (k as f64).sin());
    let many: Vec<_> = (0..3000).map(|k| record(k, 2, "unknown", &wave(k))).collect();
    check(&Gaps::of(&many).drawing(), "many gaps");
}
