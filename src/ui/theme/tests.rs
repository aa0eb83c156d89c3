use super::*;
use crate::term::answers::Background;
use crate::term::color::{ColorMap, Depth, STANDS_OUT, oklab_of_linear};

fn themes() -> [Theme; 2] {
    [Theme::dark(), Theme::light()]
}

fn of(color: Color) -> (u8, u8, u8) {
    rgb(color).unwrap()
}

/// The least difference of two colours in any kind of colour vision: normal, and with one cone type missing
/// (Machado, Oliveira and Fernandes 2009, severity 1: protan, deutan, tritan).
fn least_difference(a: Color, b: Color) -> f64 {
    const NORMAL: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    const PROTAN: [[f64; 3]; 3] =
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]];
    const DEUTAN: [[f64; 3]; 3] =
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]];
    const TRITAN: [[f64; 3]; 3] =
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]];
    let seen = |color: Color, vision: &[[f64; 3]; 3]| {
        let (r, g, b) = of(color);
        let linear = [r, g, b].map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        });
        let seen = vision.map(|row| row.iter().zip(linear).map(|(m, c)| m * c).sum::<f64>().clamp(0.0, 1.0));
        oklab_of_linear(seen)
    };
    [NORMAL, PROTAN, DEUTAN, TRITAN]
        .iter()
        .map(|vision| {
            let (a, b) = (seen(a, vision), seen(b, vision));
            a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
        })
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn text_is_easy_to_read() {
    let texts = [
        "text",
        "dim",
        "label",
        "title",
        "value",
        "ruler",
        "key",
        "input",
        "cursor",
        "semaphore",
        "warning",
        "error",
        "good",
        "info",
        "mark",
        "window",
        "highlight",
    ];
    for theme in themes() {
        for role in texts {
            for ground in ["background", "bar", "popup", "current_row", "area"] {
                let ratio = contrast(of(theme.role(role).unwrap()), of(theme.role(ground).unwrap()));
                let least = if ["background", "bar", "popup"].contains(&ground) { 4.5 } else { 3.0 };
                assert!(ratio >= least, "{}: {role} on {ground} is {ratio:.2}:1", theme.name);
            }
        }
    }
}

#[test]
fn what_is_drawn_stands_out_from_the_background() {
    let drawn = [
        "wait",
        "border_focused",
        "counter",
        "counter_other",
        "throttle",
        "selection",
        "dma_starter",
        "transfer",
        "flow",
        "anti",
        "output",
        "ordered",
        "psum_bank",
        "engine_tensor_matrix",
        "engine_tensor",
        "engine_vector",
        "engine_scalar",
        "engine_gpsimd",
        "engine_sync",
        "engine_dma",
        "engine_collective",
    ];
    for theme in themes() {
        for role in drawn {
            let ratio = contrast(of(theme.role(role).unwrap()), of(theme.background));
            assert!(ratio >= 2.5, "{}: {role} is {ratio:.2}:1", theme.name);
        }
        for color in &theme.categories {
            let ratio = contrast(of(*color), of(theme.background));
            assert!(ratio >= 1.85, "{}: category {color:?} is {ratio:.2}:1", theme.name);
        }
    }
}

#[test]
fn text_on_any_fill_is_easy_to_read() {
    let theme = Theme::dark();
    for r in (0..=255).step_by(15) {
        for g in (0..=255).step_by(15) {
            for b in (0..=255).step_by(15) {
                let fill = Color::Rgb(r as u8, g as u8, b as u8);
                assert!(contrast(of(fill), of(theme.text_on(fill))) >= 4.5, "{fill:?}");
            }
        }
    }
    assert_eq!(theme.text_on(Color::Reset), theme.text);
}

#[test]
fn categories_differ_in_every_kind_of_colour_vision() {
    for theme in themes() {
        assert_eq!(theme.categories.len(), 12);
        for (i, a) in theme.categories.iter().enumerate() {
            for b in &theme.categories[..i] {
                assert!(least_difference(*a, *b) >= 0.09, "{}: {a:?} and {b:?}", theme.name);
            }
        }
    }
}

#[test]
fn what_is_shown_together_differs_in_every_kind_of_colour_vision() {
    let groups: [&[&str]; 3] = [
        &["dma_starter", "transfer", "flow", "anti", "output", "ordered", "psum_bank", "matched", "current_match"],
        &[
            "engine_tensor_matrix",
            "engine_tensor",
            "engine_vector",
            "engine_scalar",
            "engine_gpsimd",
            "engine_sync",
            "engine_dma",
            "engine_collective",
        ],
        &["counter", "counter_other"],
    ];
    let mut alike = Vec::new();
    for theme in themes() {
        for group in groups {
            for (i, a) in group.iter().enumerate() {
                for b in &group[..i] {
                    let d = least_difference(theme.role(a).unwrap(), theme.role(b).unwrap());
                    if d < 0.05 {
                        alike.push(format!("{}: {a} and {b} differ by {d:.3}", theme.name));
                    }
                }
            }
        }
    }
    assert!(alike.is_empty(), "{alike:#?}");
}

#[test]
fn a_name_keeps_its_colour_and_names_spread() {
    let theme = Theme::dark();
    assert_eq!(name_hash(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(name_hash("foobar"), 0x8594_4171_f739_67e8, "the published FNV-1a test vector");
    assert_eq!(theme.category_of("MATMUL"), theme.clone().category(name_hash("MATMUL")));
    let mut used = std::collections::HashMap::new();
    for n in 0..1200 {
        *used.entry(theme.category_of(&format!("layers.{n}/attn"))).or_insert(0) += 1;
    }
    assert_eq!(used.len(), 12);
    assert!(used.values().all(|n| (60..150).contains(n)), "{used:?}");
}

#[test]
fn engines_have_colours_by_name() {
    let theme = Theme::light();
    assert_eq!(theme.engine("TensorMatrix nc0"), theme.engine_tensor_matrix);
    assert_eq!(theme.engine("Tensor"), theme.engine_tensor);
    assert_eq!(theme.engine("vector·1"), theme.engine_vector);
    assert_eq!(theme.engine("qSyncIO"), theme.category_of("qSyncIO"));
}

#[test]
fn themes_survive_fewer_colours() {
    for theme in themes() {
        for (depth, least) in [(Depth::Ansi256, 9), (Depth::Ansi16, 5)] {
            let mut map = ColorMap::new(depth, theme.ground());
            let mut left: Vec<_> = theme.categories.iter().map(|c| of(map.color(*c))).collect();
            left.sort_unstable();
            left.dedup();
            assert!(left.len() >= least, "{} {depth:?}: {}", theme.name, left.len());
            let (text, ground) = (of(map.color(theme.text)), of(map.color(theme.background)));
            assert!(contrast(text, ground) >= 4.5, "{} {depth:?}", theme.name);
        }
    }
}

#[test]
fn without_colours_selections_show_and_tints_do_not() {
    for theme in themes() {
        let stands_out = |role: &str| {
            let ratio = contrast(of(theme.role(role).unwrap()), of(theme.ground()));
            (ratio >= STANDS_OUT, format!("{}: {role} is {ratio:.2}:1", theme.name))
        };
        for role in ["area", "selection", "matched", "current_match", "window"] {
            assert!(stands_out(role).0, "{}", stands_out(role).1);
        }
        for role in ["background", "bar", "popup", "current_row"] {
            assert!(!stands_out(role).0, "{}", stands_out(role).1);
        }
    }
}

#[test]
fn the_terminals_own_background_is_kept_where_text_is_readable_on_it() {
    let theme = |light, color| Theme::for_terminal(Some(Background { light, color }));
    let dark = theme(false, Some((0, 0, 0)));
    assert_eq!((dark.background, dark.ground()), (Color::Reset, Theme::dark().background));
    assert_eq!(dark.text, Theme::dark().text);
    let light = theme(true, Some((253, 246, 227)));
    assert_eq!((light.background, light.ground()), (Color::Reset, Theme::light().background));
    assert_eq!(theme(false, Some((100, 100, 100))), Theme::dark(), "too light for the text");
    assert_eq!(theme(true, None), Theme::light(), "not known exactly");
    assert_eq!(Theme::for_terminal(None), Theme::dark());
}
