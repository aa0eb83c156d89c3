//! Everything a person can do, in one table.
//!
//! The keymap, the help, the command palette and the documentation are all generated from
//! [`Action::ALL`], so that they cannot disagree. An action's name is stable: key files and
//! scripts rely on it.

use std::fmt;

use super::argument::ArgKind;
use crate::model::nearest::nearest;

/// The chapters of the help, in the order they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// Along the time axis and from track to track.
    Move,
    /// How much time is in the window.
    Zoom,
    /// Which rows are shown, and how.
    Tracks,
    /// Stepping through events and looking at one.
    Events,
    /// Why something started when it did.
    Causes,
    /// Finding events by what they say.
    Search,
    /// Marks, spans and the area selection.
    Marks,
    /// The panes below or beside the timeline.
    Panes,
    /// Colours, themes, layouts and other settings.
    View,
    /// The program itself.
    Program,
}

impl Group {
    /// All groups in the order of the help.
    pub const ALL: [Group; 10] = [
        Group::Move,
        Group::Zoom,
        Group::Tracks,
        Group::Events,
        Group::Causes,
        Group::Search,
        Group::Marks,
        Group::Panes,
        Group::View,
        Group::Program,
    ];

    /// The heading shown above the group.
    pub fn title(self) -> &'static str {
        match self {
            Group::Move => "Move",
            Group::Zoom => "Zoom",
            Group::Tracks => "Tracks",
            Group::Events => "Events",
            Group::Causes => "Causes",
            Group::Search => "Search",
            Group::Marks => "Marks",
            Group::Panes => "Panes",
            Group::View => "View",
            Group::Program => "Program",
        }
    }
}

/// One row of the table of actions.
#[derive(Clone, Copy, Debug)]
pub struct ActionInfo {
    /// The stable kebab-case name, as key files and the palette have it.
    pub name: &'static str,
    /// One line saying what it does.
    pub text: &'static str,
    /// The chapter of the help it belongs to.
    pub group: Group,
    /// What may follow the name; without it the action asks, toggles or takes the next value.
    pub arg: Option<ArgKind>,
    make: fn(Option<String>) -> Action,
}

impl ActionInfo {
    /// The action without an argument.
    pub fn action(&self) -> Action {
        (self.make)(None)
    }

    /// The name with its argument as shown in help: `goto-time <time>`.
    pub fn usage(&self) -> String {
        match self.arg {
            Some(kind) => format!("{} <{}>", self.name, kind.label()),
            None => self.name.to_owned(),
        }
    }
}

/// Why a text is no action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActionError {
    /// Nothing was written.
    Empty,
    /// No action has this name; the nearest name, if one is near.
    Unknown {
        /// What was written.
        name: String,
        /// The name that was probably meant.
        suggestion: Option<&'static str>,
    },
    /// The action takes no argument.
    NoArgument {
        /// The action's name.
        name: &'static str,
        /// What followed the name.
        found: String,
    },
    /// The argument does not have the form the action needs.
    BadArgument {
        /// The action's name.
        name: &'static str,
        /// What is wrong with it, in words.
        reason: String,
    },
}

impl fmt::Display for ActionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ActionError::Empty => write!(f, "an action's name is missing"),
            ActionError::Unknown { name, suggestion: Some(near) } => {
                write!(f, "unknown action {name:?}; did you mean {near:?}?")
            }
            ActionError::Unknown { name, suggestion: None } => {
                write!(f, "unknown action {name:?}; `neuron-scope keys` lists them")
            }
            ActionError::NoArgument { name, found } => write!(f, "{name} takes no argument, found {found:?}"),
            ActionError::BadArgument { name, reason } => write!(f, "{name}: {reason}"),
        }
    }
}

impl std::error::Error for ActionError {}

macro_rules! field {
    ($arg:expr) => { Option<String> };
}

macro_rules! maker {
    ($variant:ident) => {
        |_| Action::$variant
    };
    ($variant:ident, $arg:expr) => {
        Action::$variant
    };
}

macro_rules! kind {
    () => {
        None
    };
    ($arg:expr) => {
        Some($arg)
    };
}

/// Builds the enum and its table from one list, so that a row cannot be forgotten.
macro_rules! actions {
    ($( $group:ident { $( $variant:ident $(($arg:expr))? $name:literal $text:literal; )* } )*) => {
        /// Something a person can ask for. The argument of those that have one is optional text
        /// of the form [`ActionInfo::arg`] says; without it the action asks, toggles or takes the next value.
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub enum Action {
            $($(
                #[doc = $text]
                $variant $( (field!($arg)) )?,
            )*)*
        }

        #[derive(Clone, Copy)]
        enum Row { $($( $variant, )*)* }

        impl Action {
            /// The table: every action once, grouped as in the help.
            pub const ALL: &'static [ActionInfo] = &[
                $($(
                    ActionInfo {
                        name: $name,
                        text: $text,
                        group: Group::$group,
                        arg: kind!($($arg)?),
                        make: maker!($variant $(, $arg)?),
                    },
                )*)*
            ];

            fn row(&self) -> usize {
                (match self {
                    $($( Action::$variant { .. } => Row::$variant, )*)*
                }) as usize
            }

            /// The argument, where one was given.
            pub fn arg(&self) -> Option<&str> {
                match self {
                    $($( actions!(@pattern $variant arg $($arg)?) => actions!(@value arg $($arg)?), )*)*
                }
            }
        }
    };
    (@pattern $variant:ident $name:ident) => { Action::$variant };
    (@pattern $variant:ident $name:ident $arg:expr) => { Action::$variant($name) };
    (@value $name:ident) => { None };
    (@value $name:ident $arg:expr) => { $name.as_deref() };
}

actions! {
    Move {
        PanLeft(ArgKind::Step) "pan-left" "Pan left by a share of the window";
        PanRight(ArgKind::Step) "pan-right" "Pan right by a share of the window";
        PanWindowLeft "pan-window-left" "Pan left by a whole window";
        PanWindowRight "pan-window-right" "Pan right by a whole window";
        CursorLeft(ArgKind::Count) "cursor-left" "Move the time cursor a column to the left";
        CursorRight(ArgKind::Count) "cursor-right" "Move the time cursor a column to the right";
        CursorLeftTen "cursor-left-ten" "Move the time cursor ten columns to the left";
        CursorRightTen "cursor-right-ten" "Move the time cursor ten columns to the right";
        CursorCenter "cursor-center" "Pan so that the time cursor is in the middle";
        TrackNext "track-next" "Go to the next track with something in view";
        TrackPrev "track-prev" "Go to the previous track with something in view";
        TrackPageDown "track-page-down" "Go a screenful of tracks down";
        TrackPageUp "track-page-up" "Go a screenful of tracks up";
        TrackFirst "track-first" "Go to the first track";
        TrackLast "track-last" "Go to the last track";
        GotoStart "goto-start" "Go to the start of the profile";
        GotoEnd "goto-end" "Go to the end of the profile";
        GotoTime(ArgKind::Time) "goto-time" "Go to a time";
        GotoPc(ArgKind::Pc) "goto-pc" "Go to an instruction by its pc (asks core, engine and occurrence)";
        GotoId(ArgKind::Id) "goto-id" "Go to an event by its id";
        Goto(ArgKind::Place) "goto" "Go to a time, a pc, an id or a mark";
        Back "back" "Go back along the places visited";
        Forth "forth" "Go forth along the places visited";
    }
    Zoom {
        ZoomIn "zoom-in" "Zoom in about the time cursor";
        ZoomOut "zoom-out" "Zoom out about the time cursor";
        ZoomAll "zoom-all" "Show the whole profile";
        ZoomUndo "zoom-undo" "Undo the last zoom";
        ZoomRedo "zoom-redo" "Redo the zoom undone";
        Focus "focus" "Centre the selection; again: fit it";
        ZoomArea "zoom-area" "Zoom to the selected area";
        ZoomMarks "zoom-marks" "Zoom to the stretch between two marks";
        ZoomRange(ArgKind::Range) "zoom-range" "Zoom to a range of time";
    }
    Tracks {
        Fold "fold" "Fold or unfold the track or its group";
        FoldAll "fold-all" "Fold all groups";
        UnfoldAll "unfold-all" "Unfold all groups";
        Pin "pin" "Pin the track to the top, or unpin it";
        Hide "hide" "Hide the track";
        ShowOnly "show-only" "Show only this track or group";
        ShowAll "show-all" "Show all tracks again";
        TrackFind(ArgKind::Track) "track-find" "Find a track by its name";
        TrackMoveUp "track-move-up" "Move the track up";
        TrackMoveDown "track-move-down" "Move the track down";
        Taller "taller" "Make the track taller";
        Shorter "shorter" "Make the track shorter";
        DmaGrouping(ArgKind::Choice(&["engine", "queue", "transfer"])) "dma-grouping"
            "DMA tracks by engine, by queue on each engine, or by queue with whole transfers";
        SplitSequencer(ArgKind::Switch) "split-sequencer" "Split engine tracks into sequencer and compute";
        Grouping(ArgKind::Choice(&["core", "engine"])) "grouping" "Group tracks by core or by engine";
        IdleTracks(ArgKind::Switch) "idle-tracks" "Show or leave out tracks without events";
        Core(ArgKind::Core) "core" "Show one core, the next, or all";
        BlameTrack(ArgKind::Switch) "blame-track" "Show below each engine what its idle time waited for";
        FollowSemaphore(ArgKind::Semaphore) "follow-semaphore"
            "Follow a semaphore as a track: its value, who raises it, who waits";
    }
    Events {
        EventNext "event-next" "Select the next event of the track";
        EventPrev "event-prev" "Select the previous event of the track";
        SameNameNext "same-name-next" "Select the next event with the same name";
        SameNamePrev "same-name-prev" "Select the previous event with the same name";
        HighlightSameName "highlight-same-name" "Highlight all events with the same name";
        IdleNext "idle-next" "Select the next idle gap of this engine that a column shows";
        IdlePrev "idle-prev" "Select the previous idle gap of this engine that a column shows";
        IdleLongest "idle-longest" "Select the longest idle gap in the window";
        Enter "enter" "Open: drill down, or jump from a list";
        CopyJson "copy-json" "Copy the selection as JSON to the clipboard and a file";
        RawValues(ArgKind::Switch) "raw-values" "Show values as recorded, or formatted with units";
        NextWarning "next-warning" "Show the next warning of the profile";
    }
    Causes {
        BlockedBy "blocked-by" "Go to what this waited for last";
        Unblocks "unblocks" "Go to what this unblocked";
        BlockedByChoose "blocked-by-choose" "Choose among all this waited for";
        UnblocksChoose "unblocks-choose" "Choose among all this unblocked";
        BindingChain "binding-chain" "List and draw the chain of causes back to the root";
        Reach(ArgKind::Count) "reach" "Show what a delay here would delay";
        CriticalPath "critical-path" "Show the chain that bounds the whole profile";
        WhatIf(ArgKind::Text) "whatif" "Estimate the run if an event, opcode or layer took a share of its time";
        CopyTrail "copy-trail" "Copy the trail of causes walked so far";
        CopyNeighborhood "copy-neighborhood" "Copy the event with its dependencies as JSON";
        Legend(ArgKind::Switch) "legend" "Show what colours, glyphs and kinds of dependency mean";
    }
    Search {
        Search(ArgKind::Query) "search" "Search all events";
        SearchNext "search-next" "Go to the next match";
        SearchPrev "search-prev" "Go to the previous match";
        SearchClear "search-clear" "Clear the search";
        SearchDim(ArgKind::Switch) "search-dim" "Dim what does not match";
        SearchFuzzy(ArgKind::Switch) "search-fuzzy" "Match names loosely";
        SearchCategory(ArgKind::Choice(&["all", "operator", "instruction", "dma"])) "search-category"
            "Search all events, framework operators, instructions or DMA only";
    }
    Marks {
        MarkHere(ArgKind::Text) "mark-here" "Mark the time cursor (snaps to the nearest edge)";
        MarkSpan(ArgKind::Text) "mark-span" "Mark the selection or the area as a span";
        MarkNext "mark-next" "Go to the next mark";
        MarkPrev "mark-prev" "Go to the previous mark";
        MarkRename(ArgKind::Text) "mark-rename" "Rename the mark";
        MarkNote(ArgKind::Text) "mark-note" "Write a note on the mark";
        MarkColor(ArgKind::Text) "mark-color" "Give the mark another colour";
        MarkMoveLeft "mark-move-left" "Move the mark a column to the left";
        MarkMoveRight "mark-move-right" "Move the mark a column to the right";
        MarkCompare "mark-compare" "Measure from this mark";
        MarkDelete "mark-delete" "Delete the mark";
        MarksLoad(ArgKind::Path) "marks-load" "Merge the marks of a file into these";
        MarksExport(ArgKind::Path) "marks-export" "Write the marks to a file (JSON or CSV)";
        AreaSelect "area-select" "Select an area of time and tracks; again: end it";
        AreaMetrics "area-metrics" "Show the metrics of the area, or of the window";
        Export(ArgKind::Path) "export" "Export the events of the area or the window to files";
    }
    Panes {
        PaneDetails "pane-details" "Details: every column of the selected event";
        PaneDependencies "pane-dependencies" "Dependencies: what the selection waited for and unblocked";
        PaneCauses "pane-causes" "Causes: the chain, reach or totals last asked for";
        PaneSearch "pane-search" "Search: the list of matches";
        PaneMarks "pane-marks" "Marks: the list, and the time between them";
        PaneNext "pane-next" "Give the focus to the next pane or the timeline";
        PanePrev "pane-prev" "Give the focus to the previous pane or the timeline";
        PaneMaximize "pane-maximize" "Give the pane the whole screen, or give it back";
        PaneBeside "pane-beside" "Keep a second pane beside this one, or only one";
        PaneGrow "pane-grow" "Make the pane larger";
        PaneShrink "pane-shrink" "Make the pane smaller";
        PaneClose "pane-close" "Close the pane";
        ScrollDown "scroll-down" "Go a line down in the pane";
        ScrollUp "scroll-up" "Go a line up in the pane";
        ScrollLeft "scroll-left" "Scroll the pane to the left";
        ScrollRight "scroll-right" "Scroll the pane to the right";
        ScrollPageDown "scroll-page-down" "Go a page down in the pane";
        ScrollPageUp "scroll-page-up" "Go a page up in the pane";
        ScrollTop "scroll-top" "Go to the first line of the pane";
        ScrollBottom "scroll-bottom" "Go to the last line of the pane";
        SortNext "sort-next" "Sort the list by the next column";
        SortPrev "sort-prev" "Sort the list by the previous column";
        SortReverse "sort-reverse" "Sort the list the other way round";
    }
    View {
        ColorNext "color-next" "Colour by the next thing: operator, opcode, engine, layer, source line";
        ColorBy(ArgKind::Choice(&["operator", "opcode", "engine", "layer", "line"])) "color-by"
            "Choose what colours mean";
        Theme(ArgKind::Name("theme")) "theme" "Choose a theme";
        Set(ArgKind::Setting) "set" "Change a setting";
        LayoutSave(ArgKind::Name("layout")) "layout-save" "Save folds, pins, panes and colours as a named layout";
        LayoutLoad(ArgKind::Name("layout")) "layout-load" "Load a named layout";
        Mouse(ArgKind::Switch) "mouse" "Use the mouse here, or leave it to the terminal for copying text";
        Redraw "redraw" "Draw the whole screen again";
    }
    Program {
        Palette(ArgKind::Text) "palette" "Commands and settings by name";
        Help "help" "Show all keys";
        Escape "escape" "Undo one level: pop-up, area, highlight, selection";
        Quit "quit" "Close the pane; at the root: quit";
        QuitNow "quit-now" "Quit at once; marks and state are kept";
        Open(ArgKind::Path) "open" "Open another profile";
        Suspend "suspend" "Suspend to the shell (`fg` comes back)";
    }
}

impl Action {
    /// The action's row of the table.
    pub fn info(&self) -> &'static ActionInfo {
        // The table and `Row` come from the same list, so the index is always inside.
        &Self::ALL[self.row()]
    }

    /// The stable kebab-case name.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// The row with this name.
    pub fn find(name: &str) -> Option<&'static ActionInfo> {
        Self::ALL.iter().find(|info| info.name == name)
    }

    /// The same action, whatever the argument.
    pub fn same_kind(&self, other: &Action) -> bool {
        self.row() == other.row()
    }

    /// Reads `name` or `name argument`. The argument is everything after the first blank, trimmed.
    ///
    /// # Errors
    /// Unknown names (with the nearest known one), arguments that are not taken or malformed.
    pub fn parse(text: &str) -> Result<Action, ActionError> {
        let text = text.trim();
        let (name, arg) = match text.split_once(char::is_whitespace) {
            Some((name, rest)) => (name, Some(rest.trim()).filter(|rest| !rest.is_empty())),
            None => (text, None),
        };
        if name.is_empty() {
            return Err(ActionError::Empty);
        }
        let Some(info) = Self::find(name) else {
            let suggestion = nearest(name, Self::ALL.iter().map(|info| info.name));
            return Err(ActionError::Unknown { name: name.to_owned(), suggestion });
        };
        match (arg, info.arg) {
            (None, _) => Ok(info.action()),
            (Some(arg), None) => Err(ActionError::NoArgument { name: info.name, found: arg.to_owned() }),
            (Some(arg), Some(kind)) => match kind.check(arg) {
                Ok(()) => Ok((info.make)(Some(arg.to_owned()))),
                Err(reason) => Err(ActionError::BadArgument { name: info.name, reason }),
            },
        }
    }
}

impl fmt::Display for Action {
    /// Writes what [`Action::parse`] reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.arg() {
            Some(arg) => write!(f, " {arg}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_is_consistent() {
        let mut names = HashSet::new();
        let mut texts = HashSet::new();
        for (index, info) in Action::ALL.iter().enumerate() {
            assert!(names.insert(info.name), "{} twice", info.name);
            assert!(texts.insert(info.text), "{:?} twice", info.text);
            assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{}", info.name);
            assert!(!info.text.ends_with('.') && info.text.chars().count() <= 80, "{}", info.text);
            let action = info.action();
            assert_eq!((action.row(), action.name()), (index, info.name));
            assert_eq!(Action::parse(info.name), Ok(action));
        }
        for group in Group::ALL {
            assert!(Action::ALL.iter().any(|info| info.group == group), "{group:?} is empty");
        }
        assert!(Action::ALL.is_sorted_by_key(|info| info.group), "the table is in the order of the help");
    }

    #[test]
    fn arguments_are_kept_and_written_back() {
        let action = Action::parse("  goto-time   17.2 us ").unwrap();
        assert_eq!(action, Action::GotoTime(Some("17.2 us".into())));
        assert_eq!(action.arg(), Some("17.2 us"));
        assert_eq!(action.to_string(), "goto-time 17.2 us");
        assert_eq!(Action::parse(&action.to_string()), Ok(action.clone()));
        assert!(action.same_kind(&Action::GotoTime(None)) && !action.same_kind(&Action::GotoPc(None)));
        assert_eq!(action.info().usage(), "goto-time <time>");
    }

    #[test]
    fn what_is_no_action_is_refused_in_words() {
        let message = |text: &str| Action::parse(text).unwrap_err().to_string();
        assert_eq!(message(" "), "an action's name is missing");
        assert_eq!(message("zoom-inn"), "unknown action \"zoom-inn\"; did you mean \"zoom-in\"?");
        assert_eq!(message("fly"), "unknown action \"fly\"; `neuron-scope keys` lists them");
        assert_eq!(message("zoom-in 3"), "zoom-in takes no argument, found \"3\"");
        assert_eq!(message("grouping queue"), "grouping: \"queue\" is none of core, engine");
    }
}
