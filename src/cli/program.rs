//! `--neff FILE`: the program of a raw capture that has it elsewhere.

use std::path::{Path, PathBuf};

use crate::source::{Found, Survey, survey, with_program};
use crate::store::Problem;

/// The program of a raw capture.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProgramArg {
    /// The NEFF that ran, for a raw capture (.ntff) that does not have it beside it
    #[arg(short = 'n', long, value_name = "FILE")]
    pub neff: Option<PathBuf>,
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
        match &self.neff {
            Some(neff) => with_program(found, neff),
            None => Ok(found),
        }
    }

    /// What lies at one path, be it something that can be opened or not.
    ///
    /// # Errors
    /// Says why the path could not be read, or why the NEFF belongs to nothing there.
    pub fn survey(&self, path: &Path) -> Result<Survey, Problem> {
        let survey = survey(path)?;
        match &self.neff {
            Some(neff) => survey.with_program(neff),
            None => Ok(survey),
        }
    }

    /// The profiles that one path holds.
    ///
    /// # Errors
    /// As [`ProgramArg::discover`].
    pub fn discover_one(&self, path: &Path) -> Result<Vec<Found>, Problem> {
        self.discover(&[path.to_path_buf()])
    }
}
