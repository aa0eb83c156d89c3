//! What is to be exported, how, and where to.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::style::Modifier;

use super::{Flow, Overlay};
use crate::app::App;
use crate::app::entry::{Completions, Entry, EntryEvent};
use crate::app::history::Purpose;
use crate::app::update::export::{Order, What, start};
use crate::app::update::marks::expanded;
use crate::query::export::Format;
use crate::ui::popup;

const FORMATS: [(Format, &str); 3] =
    [(Format::Csv, "CSV"), (Format::Json, "JSON, an object a line"), (Format::Parquet, "Parquet")];

/// The lines, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    What,
    Tables,
    Events,
    Format,
    Directory,
}

const FIELDS: [(Field, &str); 5] = [
    (Field::What, "events of"),
    (Field::Tables, "tables"),
    (Field::Events, "how many"),
    (Field::Format, "format"),
    (Field::Directory, "directory"),
];

/// The overlay.
pub struct ExportOverlay {
    what: Vec<What>,
    chosen: usize,
    sampled: bool,
    format: usize,
    tables: Entry,
    directory: Entry,
    /// Position in [`FIELDS`].
    field: usize,
}

/// The directory that is proposed.
const FOLDER: &str = "neuron-scope-export";

impl ExportOverlay {
    /// Offers what can be exported now.
    #[must_use]
    pub fn new(app: &App) -> ExportOverlay {
        // Nothing that is there is written over.
        let names = (1u32..).map(|n| if n == 1 { FOLDER.to_owned() } else { format!("{FOLDER}-{n}") });
        let unused = names.take(10_000).find(|name| !std::path::Path::new(name).exists()).unwrap_or_default();
        ExportOverlay {
            what: What::offered(app),
            chosen: 0,
            sampled: false,
            format: 0,
            tables: Entry::new(Purpose::Name, "", "all tables of events; or names: Instruction, DmaPacket"),
            directory: Entry::new(Purpose::Directory, "", "a directory").proposing(&unused),
            field: 0,
        }
    }

    fn turn(&mut self, forward: bool) {
        let turned = |at: usize, n: usize| if forward { (at + 1) % n } else { (at + n - 1) % n };
        match FIELDS[self.field].0 {
            Field::What => self.chosen = turned(self.chosen, self.what.len()),
            Field::Events => self.sampled = !self.sampled,
            Field::Format => self.format = turned(self.format, FORMATS.len()),
            Field::Tables | Field::Directory => {}
        }
    }

    fn entry(&mut self) -> Option<&mut Entry> {
        match FIELDS[self.field].0 {
            Field::Tables => Some(&mut self.tables),
            Field::Directory => Some(&mut self.directory),
            _ => None,
        }
    }

    fn submit(&mut self, app: &mut App) -> Flow {
        let out = self.directory.text().trim().to_owned();
        if out.is_empty() {
            self.field = FIELDS.len() - 1;
            return Flow::Stay;
        }
        app.history.push(Purpose::Directory, &out);
        let tables = self.tables.text().split([',', ' ']).filter(|t| !t.is_empty()).map(str::to_owned).collect();
        let format = FORMATS[self.format].0;
        let order = Order { what: self.what[self.chosen], tables, sampled: self.sampled, format, out: expanded(&out) };
        start(app, order);
        Flow::Close
    }

    fn value(&self, field: Field, app: &App) -> String {
        match field {
            Field::What => self.what[self.chosen].text(app),
            Field::Events if self.sampled => "one per column of the screen".into(),
            Field::Events => "all".into(),
            Field::Format => FORMATS[self.format].1.into(),
            Field::Tables | Field::Directory => String::new(),
        }
    }
}

impl Overlay for ExportOverlay {
    fn key(&mut self, key: KeyEvent, app: &mut App) -> Flow {
        let last = FIELDS.len() - 1;
        match key.code {
            KeyCode::Enter => return self.submit(app),
            KeyCode::Esc => return Flow::Close,
            KeyCode::Down | KeyCode::Tab => self.field = if self.field == last { 0 } else { self.field + 1 },
            KeyCode::Up | KeyCode::BackTab => self.field = self.field.checked_sub(1).unwrap_or(last),
            code => {
                if let Some(entry) = self.entry() {
                    let none = |_: &str, _: usize| Completions::default();
                    if entry.on_key(key, &app.history, &none) == EntryEvent::Cancel {
                        return Flow::Close;
                    }
                } else {
                    match code {
                        KeyCode::Right | KeyCode::Char(' ' | 'l') => self.turn(true),
                        KeyCode::Left | KeyCode::Char('h') => self.turn(false),
                        KeyCode::Char('j') => self.field += 1,
                        KeyCode::Char('k') => self.field = self.field.saturating_sub(1),
                        KeyCode::Char('q') => return Flow::Close,
                        _ => {}
                    }
                }
            }
        }
        Flow::Stay
    }

    fn paste(&mut self, text: &str, _app: &mut App) {
        if let Some(entry) = self.entry() {
            entry.on_paste(text);
        }
    }

    fn draw(&self, screen: Rect, buffer: &mut Buffer, app: &App) -> Option<Position> {
        let look = &app.look;
        let (width, height) = (screen.width.saturating_sub(4).min(76), 9.min(screen.height));
        let area = Rect {
            x: screen.x + (screen.width - width) / 2,
            y: screen.y + screen.height.saturating_sub(height) / 3,
            width,
            height,
        };
        let inside = popup::frame(area, "Export: a file per table", buffer, look);
        let mut cursor = None;
        for (i, (field, name)) in FIELDS.into_iter().enumerate() {
            let y = inside.y + i as u16;
            if y >= inside.bottom() {
                break;
            }
            let here = i == self.field;
            let mut label = look.on_popup(if here { look.theme.key } else { look.theme.dim });
            if here {
                label = label.add_modifier(Modifier::BOLD);
                buffer.set_string(inside.x, y, look.glyphs.folded, label);
            }
            buffer.set_stringn(inside.x + 2, y, name, 10, label);
            let value = Rect { x: inside.x + 13, y, width: inside.width.saturating_sub(13), height: 1 };
            let entry = match field {
                Field::Tables => Some(&self.tables),
                Field::Directory => Some(&self.directory),
                _ => None,
            };
            match entry {
                Some(entry) => {
                    let at = super::draw_entry(entry, value, buffer, look);
                    cursor = cursor.or(at.filter(|_| here));
                }
                None => {
                    let text = self.value(field, app);
                    let text = if here { format!("{} {text} {}", look.glyphs.left, look.glyphs.right) } else { text };
                    buffer.set_stringn(value.x, y, text, usize::from(value.width), look.on_popup(look.theme.text));
                }
            }
        }
        let keys = "up/down field   left/right change   Enter export   Esc leave";
        let y = inside.bottom().saturating_sub(1);
        buffer.set_stringn(
            inside.x + 2,
            y,
            keys,
            usize::from(inside.width).saturating_sub(2),
            look.on_popup(look.theme.dim),
        );
        cursor
    }
}
