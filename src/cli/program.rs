//! `--neff FILE`, `--merge`: the program of a raw capture that has it elsewhere, and several captures at once.

use std::path::{Path, PathBuf};

use crate::source::{Found, Survey, merged, survey, with_program};
use crate::store::Problem;

/// How raw captures are opened.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProgramArg {
    /// The NEFF that ran, for a raw capture (.ntff) that does not have it beside it
    #[arg(short = 'n', long, value_name = "FILE")]
    pub neff: Option<PathBuf>,
    /// Show the raw captures of one run (its cores or ranks) together, on one time axis
    #[arg(long)]
    pub merge: bool,
}

impl ProgramArg {
    /// The profiles that paths hold.
    ///
    /// # Errors
    /// Says which path holds none and why, or why the NEFF belongs to none of them.
    pub fn discover(&self, paths: &[PathBuf]) -> Result<Vec<Found>, Problem> {
        let mut found = Vec::new();
        for path in paths {
            let survey = survey(path)?;
            if survey.found.is_empty() {
                return Err(survey.nothing(path));
            }
            survey.problems.iter().for_each(super::complain_of);
            found.extend(survey.found);
        }
        if let Some(neff) = &self.neff {
            found = with_program(found, neff)?;
        }
        match (self.merge, paths) {
            (true, [root, ..]) => Ok(vec![merged(found, root)?]),
            _ => Ok(found),
        }
    }

    /// What lies at one path, be it something that can be opened or not.
    ///
    /// # Errors
    /// Says why the path could not be read, or why the NEFF belongs to nothing there.
    pub fn survey(&self, path: &Path) -> Result<Survey, Problem> {
        let mut survey = survey(path)?;
        if let Some(neff) = &self.neff {
            survey = survey.with_program(neff)?;
        }
        if self.merge {
            survey.found = vec![merged(survey.found, path)?];
        }
        Ok(survey)
    }

    /// The profiles that one path holds.
    ///
    /// # Errors
    /// As [`ProgramArg::discover`].
    pub fn discover_one(&self, path: &Path) -> Result<Vec<Found>, Problem> {
        self.discover(&[path.to_path_buf()])
    }
}
