//! Styles by meaning. They use only the 16 colours of the terminal, so that light and
//! dark both work.

use ratatui::style::{Color, Modifier, Style};

/// What a part of the screen means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Plain,
    Quiet,
    Title,
    Focus,
    Cursor,
    CursorElsewhere,
    Marked,
    Good,
    Warn,
    Bad,
    Key,
    Site,
    Disabled,
}

/// How roles look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// The terminal's own colours.
    #[default]
    Ansi,
    /// No colour: bold, dim, reverse and signs only.
    Mono,
}

impl Theme {
    /// Chooses a theme. A `NO_COLOR` that is not empty wins over the setting.
    ///
    /// # Errors
    /// For an unknown theme.
    pub(crate) fn choose(setting: Option<&str>, no_color: bool) -> Result<Self, String> {
        let theme = match setting {
            None | Some("ansi") => Self::Ansi,
            Some("mono") => Self::Mono,
            Some(other) => {
                return Err(format!("keys.toml: there is no theme {other:?}: write ansi or mono"));
            }
        };
        Ok(if no_color { Self::Mono } else { theme })
    }

    pub(crate) fn style(self, role: Role) -> Style {
        let plain = Style::new();
        let base = match role {
            Role::Plain | Role::Good | Role::Warn => plain,
            Role::Quiet | Role::Disabled => plain.add_modifier(Modifier::DIM),
            Role::Title | Role::Key | Role::Marked | Role::Bad => {
                plain.add_modifier(Modifier::BOLD)
            }
            Role::Focus => plain.add_modifier(Modifier::BOLD),
            Role::Cursor | Role::Site => plain.add_modifier(Modifier::REVERSED),
            Role::CursorElsewhere => plain.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
        };
        match (self, role) {
            (Self::Mono, _) => base,
            (_, Role::Good) => base.fg(Color::Green),
            (_, Role::Warn) => base.fg(Color::Yellow),
            (_, Role::Bad) => base.fg(Color::Red),
            (_, Role::Key | Role::Focus) => base.fg(Color::Cyan),
            (_, Role::Marked) => base.fg(Color::Magenta),
            _ => base,
        }
    }
}
