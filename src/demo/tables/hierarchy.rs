//! The compiler's levels above instructions, and the framework's module tree.

use std::collections::{BTreeMap, BTreeSet};

use crate::demo::chip;
use crate::demo::profile::{Cover, Profile, merge};
use crate::demo::program::{Engine, Instr, Span};
use crate::demo::schedule::Run;
use crate::demo::table::Table;
use crate::demo::tables::instruction::{bir_name, raw_bir_id};

/// Instructions of one execution that belong together, and the stretches of time that they cover.
struct Group<'a> {
    run: &'a Run,
    /// By start.
    members: Vec<usize>,
    intervals: Cover,
}

impl Group<'_> {
    fn new<'a>(run: &'a Run, mut members: Vec<usize>) -> Group<'a> {
        members.sort_by_key(|i| (run.instrs[*i].0, *i));
        let spans: Vec<Span> = members.iter().map(|i| run.instrs[*i]).collect();
        let intervals = merge(&spans)
            .into_iter()
            .map(|(span, positions)| (span, positions.into_iter().map(|n| members[n]).collect()))
            .collect();
        Group { run, members, intervals }
    }
}

/// Sums over instructions that every level reports.
#[derive(Clone, Copy)]
enum Sum {
    HbmRead,
    HbmWrite,
    SbufRead,
    SbufWrite,
    Weights,
}

fn amount(instr: &Instr, sum: Sum) -> i64 {
    match sum {
        Sum::HbmRead => instr.traffic.hbm_read,
        Sum::HbmWrite => instr.traffic.hbm_write,
        Sum::SbufRead => instr.traffic.sbuf_read,
        Sum::SbufWrite => instr.traffic.sbuf_write,
        Sum::Weights => instr.loads_weights,
    }
}

fn elements(instr: &Instr) -> i64 {
    instr.elements
}

fn turned(instr: &Instr) -> i64 {
    if instr.transpose { instr.elements } else { 0 }
}

fn hbm(instr: &Instr) -> i64 {
    instr.traffic.hbm_read + instr.traffic.hbm_write
}

/// `[[1, 10], [20, 50]]`, with spaces as the profiler writes them.
fn interval_text(spans: impl Iterator<Item = Span>) -> String {
    let parts: Vec<String> = spans.map(|(a, b)| format!("[{a}, {b}]")).collect();
    format!("[{}]", parts.join(", "))
}

pub(super) fn tables(p: &Profile) -> Vec<Table> {
    let bir = groups(p, &raw_bir_id);
    let penguin = groups(p, &|x| x.statement);
    let hlo = groups(p, &|x| x.site.map(|s| s.hlo_id()));
    let framework = groups(p, &|x| x.site.map(|s| s.framework_id()));
    let head = |g: &Group| &p.program.instrs[g.members[0]];
    let bir_table = level(p, Table::new("BirInstruction"), &bir)
        .col("bir_name", bir.iter().map(|g| bir_name(head(g)).unwrap_or_default()))
        .col("pcore_idx", bir.iter().map(|g| Some(head(g).core as i64)));
    let penguin_table = level(p, Table::new("PenguinInstruction"), &penguin).col(
        "penguin_name",
        penguin.iter().map(|g| {
            let number = head(g).statement.unwrap_or_default();
            format!("bfloat16<128 x 512> ${number}[i{}_0, i{}_1]", number % 16, number % 16)
        }),
    );
    let hlo_table = level(p, Table::new("HloInstruction"), &hlo)
        .col("hlo_name", hlo.iter().map(|g| head(g).site.map(|s| s.hlo_name()).unwrap_or_default()));
    let mut framework_table = level(p, Table::new("FrameworkInstruction"), &framework)
        .col("framework_name", framework.iter().map(|g| head(g).site.map(|s| s.path())));
    for (engine, name) in counted_engines() {
        let count = |g: &Group| g.members.iter().filter(|i| p.program.instrs[**i].engine == engine).count() as i64;
        framework_table =
            framework_table.col(&format!("{name}_engine_instruction_count"), framework.iter().map(|g| Some(count(g))));
    }
    vec![bir_table, penguin_table, hlo_table, framework_table, framework_nodes(p)]
}

fn counted_engines() -> [(Engine, &'static str); 5] {
    [
        (Engine::Tensor, "tensor"),
        (Engine::Scalar, "scalar"),
        (Engine::Sync, "sync"),
        (Engine::GpSimd, "gpsimd"),
        (Engine::Vector, "vector"),
    ]
}

/// One group per execution and key, in order of time.
fn groups<'a>(p: &'a Profile, key: &dyn Fn(&Instr) -> Option<i64>) -> Vec<Group<'a>> {
    let mut found: Vec<Group> = Vec::new();
    for run in &p.runs {
        let mut members: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
        for (index, instr) in p.program.instrs.iter().enumerate() {
            if let Some(key) = key(instr) {
                members.entry(key).or_default().push(index);
            }
        }
        let mut mine: Vec<Group> = members.into_values().map(|m| Group::new(run, m)).collect();
        mine.sort_by_key(|g| g.intervals.first().map(|i| i.0));
        found.extend(mine);
    }
    found
}

/// The columns that all levels share.
fn level(p: &Profile, table: Table, groups: &[Group]) -> Table {
    let instr = |i: usize| &p.program.instrs[i];
    let head = |g: &Group| instr(g.members[0]);
    let sum =
        |s: Sum| groups.iter().map(move |g| g.members.iter().map(|i| amount(&p.program.instrs[*i], s)).sum::<i64>());
    let per_interval = |f: fn(&Instr) -> i64| {
        groups.iter().map(move |g| {
            let total = |members: &Vec<usize>| members.iter().map(|i| f(&p.program.instrs[*i])).sum::<i64>();
            g.intervals.iter().map(|(_, members)| total(members)).collect::<Vec<i64>>()
        })
    };
    table
        .col("id", groups.iter().map(|g| p.instr_id(g.run, g.members[0])))
        .col("raw_bir_id", groups.iter().map(|g| raw_bir_id(head(g)).unwrap_or_default()))
        .col("raw_penguin_id", groups.iter().map(|g| head(g).statement.unwrap_or_default()))
        .col("raw_hlo_id", groups.iter().map(|g| head(g).site.map_or(0, |s| s.hlo_id())))
        .col("raw_framework_id", groups.iter().map(|g| head(g).site.map_or(0, |s| s.framework_id())))
        .col("modular_flow_invocation_idx", groups.iter().map(|g| g.run.index as i64))
        .col("start_ts", groups.iter().map(|g| g.intervals[0].0.0))
        .col("end_ts", groups.iter().map(|g| g.intervals.iter().map(|i| i.0.1).max().unwrap_or_default()))
        .col("time_intervals", groups.iter().map(|g| interval_text(g.intervals.iter().map(|i| i.0))))
        .col("element_count_per_interval", per_interval(elements))
        .col("transpose_element_count_per_interval", per_interval(turned))
        .col("hbm_transfer_size_per_interval", per_interval(hbm))
        .col("hbm_read_bytes", sum(Sum::HbmRead))
        .col("hbm_write_bytes", sum(Sum::HbmWrite))
        .col("sbuf_read_bytes", sum(Sum::SbufRead).map(Some))
        .col("sbuf_write_bytes", sum(Sum::SbufWrite).map(Some))
        .col("load_weight_bytes", sum(Sum::Weights).map(Some))
}

/// A node of the module tree, with what lies below it over all executions.
struct TreeNode<'a> {
    path: String,
    children: Vec<String>,
    ids: BTreeSet<i64>,
    members: Vec<(&'a Run, usize)>,
}

impl TreeNode<'_> {
    fn name(&self) -> &str {
        leaf(&self.path)
    }

    fn parent(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(above, _)| leaf(above))
    }
}

fn leaf(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn tree(p: &Profile) -> Vec<TreeNode<'_>> {
    let mut nodes: Vec<TreeNode> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    let mut order: Vec<usize> = (0..p.program.instrs.len()).filter(|i| p.program.instrs[*i].site.is_some()).collect();
    order.sort_by_key(|i| p.runs.first().map(|r| r.instrs[*i].0));
    for i in order {
        let Some(site) = p.program.instrs[i].site else { continue };
        let path = site.path();
        let cuts = path.match_indices('/').map(|(n, _)| n).chain([path.len()]);
        let mut above: Option<usize> = None;
        for cut in cuts {
            let here = path[..cut].to_owned();
            let n = *index.entry(here.clone()).or_insert_with(|| {
                let (children, ids, members) = (Vec::new(), BTreeSet::new(), Vec::new());
                nodes.push(TreeNode { path: here.clone(), children, ids, members });
                nodes.len() - 1
            });
            if let Some(parent) = above {
                let child = leaf(&here).to_owned();
                if !nodes[parent].children.contains(&child) {
                    nodes[parent].children.push(child);
                }
            }
            nodes[n].ids.insert(site.framework_id());
            nodes[n].members.extend(p.runs.iter().map(|r| (r, i)));
            above = Some(n);
        }
    }
    nodes
}

fn framework_nodes(p: &Profile) -> Table {
    let nodes = tree(p);
    let instr = |i: usize| &p.program.instrs[i];
    let intervals: Vec<Cover> =
        nodes.iter().map(|n| merge(&n.members.iter().map(|(r, i)| r.instrs[*i]).collect::<Vec<_>>())).collect();
    let rows = || nodes.iter().zip(&intervals);
    let list = |values: Vec<String>| format!("[{}]", values.join(", "));
    let sum = |n: &TreeNode, f: &dyn Fn(&Instr) -> i64| n.members.iter().map(|(_, i)| f(instr(*i))).sum::<i64>();
    let part = |n: &TreeNode, members: &[usize], f: fn(&Instr) -> i64| {
        members.iter().map(|m| f(instr(n.members[*m].1))).sum::<i64>()
    };
    let per_interval = |f: fn(&Instr) -> i64| {
        rows().map(move |(n, cover)| Some(list(cover.iter().map(|(_, m)| part(n, m, f).to_string()).collect())))
    };
    // Percent of what the Tensor Engines of all cores, or HBM, could have done in the time.
    let peak = chip::PEAK_FLOPS * chip::CORES as f64;
    let flops = |elements: i64| 2.0 * 128.0 * elements as f64;
    let percent = |done: f64, rate: f64, ns: i64| 100.0 * done * 1e9 / (rate * ns.max(1) as f64);
    let useful: fn(&Instr) -> i64 = |x| elements(x) - turned(x);
    let rate_text = |f: fn(&Instr) -> i64, of: &dyn Fn(i64) -> f64, rate: f64| {
        rows()
            .map(|(n, cover)| {
                let one = |(span, m): &(Span, Vec<usize>)| percent(of(part(n, m, f)), rate, span.1 - span.0);
                Some(list(cover.iter().map(|c| format!("{:.3}", one(c))).collect()))
            })
            .collect::<Vec<_>>()
    };
    let whole = |f: fn(&Instr) -> i64| {
        rows().map(move |(n, cover)| {
            let ns: i64 = cover.iter().map(|(span, _)| span.1 - span.0).sum();
            Some(percent(flops(sum(n, &f)), peak, ns) as f32)
        })
    };
    let mut table = Table::new("FrameworkNode")
        .col("node_name", rows().map(|(n, _)| n.name().to_owned()))
        .col("children_names", rows().map(|(n, _)| list(n.children.clone())))
        .col("parent_name", rows().map(|(n, _)| n.parent().to_owned()))
        .col("children_ids", rows().map(|(n, _)| list(n.ids.iter().map(i64::to_string).collect())))
        .col("start_ts", rows().map(|(_, cover)| cover[0].0.0))
        .col("end_ts", rows().map(|(_, cover)| cover.iter().map(|c| c.0.1).max().unwrap_or_default()))
        .col("time_intervals", rows().map(|(_, cover)| interval_text(cover.iter().map(|c| c.0))))
        .col("element_count_per_interval", per_interval(elements))
        .col("transpose_element_count_per_interval", per_interval(turned))
        .col("hbm_transfer_size_per_interval", per_interval(hbm))
        .col("hfu", whole(elements))
        .col("mfu", whole(useful))
        .col("hfu_per_interval", rate_text(elements, &flops, peak))
        .col("mfu_per_interval", rate_text(useful, &flops, peak))
        .col("mbu_per_interval", rate_text(hbm, &|bytes| bytes as f64, chip::HBM_BANDWIDTH))
        .col("hbm_read_bytes", rows().map(|(n, _)| Some(sum(n, &|x| x.traffic.hbm_read))))
        .col("hbm_write_bytes", rows().map(|(n, _)| Some(sum(n, &|x| x.traffic.hbm_write))))
        .col("sbuf_read_bytes", rows().map(|(n, _)| Some(sum(n, &|x| x.traffic.sbuf_read))))
        .col("sbuf_write_bytes", rows().map(|(n, _)| Some(sum(n, &|x| x.traffic.sbuf_write))));
    for (engine, name) in counted_engines() {
        let count = |n: &TreeNode| n.members.iter().filter(|(_, i)| instr(*i).engine == engine).count() as i64;
        table = table.col(&format!("{name}_engine_instruction_count"), rows().map(|(n, _)| Some(count(n))));
    }
    for (engine, name) in counted_engines() {
        let range = |n: &TreeNode| {
            let spans = || n.members.iter().filter(|(_, i)| instr(*i).engine == engine).map(|(r, i)| r.instrs[*i]);
            match (spans().map(|s| s.0).min(), spans().map(|s| s.1).max()) {
                (Some(start), Some(end)) => format!("[{start}, {end}]"),
                _ => "[]".to_owned(),
            }
        };
        table = table.col(&format!("total_time_{name}"), rows().map(|(n, _)| Some(range(n))));
    }
    let channels = |n: &TreeNode, engine| sum(n, &|x| if x.engine == engine { x.channels } else { 0 });
    table
        .col("load_weight_bytes", rows().map(|(n, _)| Some(sum(n, &|x| x.loads_weights))))
        .col("total_channels_scalar", rows().map(|(n, _)| Some(channels(n, Engine::Scalar))))
        .col("total_channels_vector", rows().map(|(n, _)| Some(channels(n, Engine::Vector))))
}
