//! Colours by meaning.

use clap::ValueEnum;

/// When to colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// In pipes and files too
    Always,
    /// Not at all
    Never,
}

impl Color {
    /// Whether a stream gets colours. `NO_COLOR` and `TERM=dumb` turn the automatic ones off.
    pub(super) fn applies(self, is_terminal: bool) -> bool {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let plain = || set("NO_COLOR") || std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => is_terminal && !plain(),
        }
    }
}

/// A colour by meaning; only the terminal's sixteen, which work on light and dark themes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Style {
    Good,
    Bad,
    Warn,
    Bold,
    /// Whatever the theme.
    WhiteOnBlack,
}

/// The text in the colour of `style`, or as it is.
pub(super) fn paint(colored: bool, style: Style, text: &str) -> String {
    let code = match style {
        _ if !colored => return text.to_owned(),
        Style::Good => "32",
        Style::Bad => "31",
        Style::Warn => "33",
        Style::Bold => "1",
        Style::WhiteOnBlack => "97;40",
    };
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}
