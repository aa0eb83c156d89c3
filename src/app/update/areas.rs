//! The area selection. (Marks come with their pane.)

use crate::app::App;
use crate::app::action::Action;
use crate::app::area::Area;

pub fn update(app: &mut App, action: &Action) -> bool {
    match action {
        Action::AreaSelect => {
            let cursor = app.scene.view.cursor();
            let track = app.scene.node().map(|n| n.key.clone());
            match (&mut app.scene.area, track) {
                (Some(area), _) if area.growing => {
                    area.growing = false;
                    app.say("the area stays; Esc clears it");
                }
                (_, Some(track)) => {
                    app.scene.area = Some(Area::begin(cursor, track));
                    app.say("move the cursor to the other corner; v again ends it");
                }
                (_, None) => app.refuse("there is no track to begin an area on"),
            }
        }
        _ => return false,
    }
    true
}
