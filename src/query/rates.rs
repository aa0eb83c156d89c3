//! Values that are derived rather than recorded: cumulative throughput, utilisation of the Tensor Engine.

use super::tracks::{Rate, Total};
use crate::model::{Grid, Window};
use crate::store::Store;

/// The value of `rate` in each of `cells`, which are in order of time; `None` where it is not defined (before
/// anything was recorded). An average since a moment is the one at the cell's end.
#[must_use]
pub fn values(store: &Store, rate: &Rate, cells: &[Window]) -> Vec<Option<f64>> {
    let Some(since) = rate.since else {
        let amounts = between(store, &rate.total, cells).into_iter().zip(cells);
        return amounts.map(|(amount, cell)| Some(amount? / cell.length() as f64 * rate.scale)).collect();
    };
    let so_far: Vec<Window> = cells.iter().map(|cell| Window::new(since, cell.end)).collect();
    let amounts = between(store, &rate.total, &so_far).into_iter().zip(&so_far).zip(cells);
    let average = |((amount, window), cell): ((Option<f64>, &Window), &Window)| {
        (cell.end > since).then_some(amount? / window.length() as f64 * rate.scale)
    };
    amounts.map(average).collect()
}

/// The value of `rate` over one window.
#[must_use]
pub fn value(store: &Store, rate: &Rate, window: Window) -> Option<f64> {
    values(store, rate, &[window]).pop().flatten()
}

/// The greatest value over `window` seen in a thousand cells.
#[must_use]
pub fn peak(store: &Store, rate: &Rate, window: Window) -> f64 {
    let grid = Grid::fit(window, 1000);
    let cells: Vec<Window> = (0..1000).map(|k| grid.cell(k)).collect();
    values(store, rate, &cells).into_iter().flatten().fold(0.0, f64::max)
}

/// What is added in each of `cells`.
fn between(store: &Store, total: &Total, cells: &[Window]) -> Vec<Option<f64>> {
    match total {
        Total::Measured(parts) => {
            let mut sums = vec![None; cells.len()];
            for part in parts.iter() {
                let Some(lane) = part.track.lane(store) else { continue };
                for (sum, amount) in sums.iter_mut().zip(lane.sums(part.measure, cells)) {
                    let amount = if part.minus { -amount } else { amount };
                    *sum = Some(sum.unwrap_or(0.0) + amount);
                }
            }
            sums
        }
        Total::Growing(counter) => {
            let Some(counter) = store.counters.get(*counter as usize) else { return vec![None; cells.len()] };
            let starts = counter.values_at(cells.iter().map(|cell| cell.start));
            let ends = counter.values_at(cells.iter().map(|cell| cell.end));
            ends.into_iter().zip(starts).map(|(end, start)| Some(end? - start.unwrap_or(0.0))).collect()
        }
        Total::Integral(counter) => {
            let Some(counter) = store.counters.get(*counter as usize) else { return vec![None; cells.len()] };
            // A rate per second, added up over nanoseconds.
            counter.integrals(cells).into_iter().map(|amount| Some(amount * 1e-9)).collect()
        }
    }
}
