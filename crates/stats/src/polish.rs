//! Tukey's median polish: effects of rows and columns of a table with holes, separated from its single cells.

/// What a table is made of: each value is about `overall + row + column + residual`.
#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    pub overall: f64,
    pub rows: Vec<f64>,
    pub columns: Vec<f64>,
    /// Row by row; `None` where there is no value.
    pub residuals: Vec<Vec<Option<f64>>>,
}

/// It has settled long before, or swings between two equal answers.
const SWEEPS: usize = 20;

/// Takes a table of `rows` by `columns` apart. Medians, so that a minority of slow rows, columns or cells does not
/// color the others.
pub fn polish(table: &[Vec<Option<f64>>]) -> Polished {
    let columns = table.first().map_or(0, Vec::len);
    let mut p = Polished {
        overall: 0.0,
        rows: vec![0.0; table.len()],
        columns: vec![0.0; columns],
        residuals: table.to_vec(),
    };
    for _ in 0..SWEEPS {
        let mut moved = 0.0_f64;
        for row in 0..table.len() {
            let step = middle(p.residuals[row].iter().copied());
            p.residuals[row].iter_mut().flatten().for_each(|v| *v -= step);
            p.rows[row] += step;
            moved = moved.max(step.abs());
        }
        settle(&mut p.overall, &mut p.columns);
        for column in 0..columns {
            let step = middle(p.residuals.iter().map(|row| row[column]));
            p.residuals.iter_mut().filter_map(|row| row[column].as_mut()).for_each(|v| *v -= step);
            p.columns[column] += step;
            moved = moved.max(step.abs());
        }
        settle(&mut p.overall, &mut p.rows);
        if moved < 1e-9 {
            break;
        }
    }
    settle(&mut p.overall, &mut p.columns);
    settle(&mut p.overall, &mut p.rows);
    p
}

/// Moves what all have in common to the overall value.
fn settle(overall: &mut f64, effects: &mut [f64]) {
    let common = middle(effects.iter().copied().map(Some));
    effects.iter_mut().for_each(|e| *e -= common);
    *overall += common;
}

fn middle(values: impl Iterator<Item = Option<f64>>) -> f64 {
    middle_of(values.flatten()).unwrap_or(0.0)
}

/// The middle of some values, without an interval; `None` of none.
pub fn middle_of(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (n > 0).then(|| (values[(n - 1) / 2] + values[n / 2]) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn square(n: usize, value: impl Fn(usize, usize) -> f64) -> Vec<Vec<Option<f64>>> {
        (0..n).map(|i| (0..n).map(|j| (i != j).then(|| value(i, j))).collect()).collect()
    }

    #[test]
    fn a_slow_row_is_no_slow_cell() {
        let p = polish(&square(8, |i, _| if i == 3 { 4.0 } else { 10.0 }));
        assert_eq!((p.overall, p.rows[3], p.rows[0], p.columns[3]), (10.0, -6.0, 0.0, 0.0));
        assert!(p.residuals.iter().flatten().flatten().all(|r| r.abs() < 1e-9));
    }

    #[test]
    fn a_slow_cell_is_no_slow_row() {
        let p = polish(&square(8, |i, j| if (i, j) == (2, 5) { 1.0 } else { 10.0 }));
        assert!(p.rows.iter().chain(&p.columns).all(|e| e.abs() < 1e-9));
        assert_eq!(p.residuals[2][5], Some(-9.0));
    }

    #[test]
    fn nothing_comes_of_nothing() {
        assert_eq!(polish(&[]).overall, 0.0);
        assert_eq!(polish(&[vec![None, None], vec![None, None]]).rows, [0.0, 0.0]);
    }

    proptest! {
        #[test]
        fn the_parts_add_up(values in prop::collection::vec(-1e3..1e3, 36)) {
            let table = square(6, |i, j| values[i * 6 + j]);
            let p = polish(&table);
            for (i, row) in table.iter().enumerate() {
                for (j, value) in row.iter().enumerate() {
                    let Some(value) = value else { continue };
                    let sum = p.overall + p.rows[i] + p.columns[j] + p.residuals[i][j].unwrap();
                    prop_assert!((sum - value).abs() < 1e-6);
                }
            }
        }
    }
}
