//! `man`: prints the manual page.

use clap::CommandFactory as _;

/// Prints the manual page, subcommands included; gives the exit status.
pub fn run() -> u8 {
    let mut command = super::Cli::command();
    command.build();
    let mut out = Vec::new();
    let written = clap_mangen::Man::new(command.clone()).render(&mut out).and_then(|()| {
        for sub in command.get_subcommands().filter(|s| s.get_name() != "help") {
            let man = clap_mangen::Man::new(sub.clone().display_name(format!("neuron-scope {}", sub.get_name())));
            man.render_name_section(&mut out)?;
            man.render_synopsis_section(&mut out)?;
            man.render_description_section(&mut out)?;
            man.render_options_section(&mut out)?;
        }
        Ok(())
    });
    match written {
        Ok(()) => super::print(&String::from_utf8_lossy(&out)),
        Err(error) => {
            super::complain(&error.to_string());
            super::UNUSABLE
        }
    }
}
