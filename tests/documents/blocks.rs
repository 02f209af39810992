//! The blocks of a Markdown file.

/// What a block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `sh` (a script) or `console` (commands after `$ `, and what they print). `<!-- runs on -->`
    /// above it: it is left running once it has printed what is shown.
    Shell {
        runs_on: bool,
    },
    Rust,
    /// TOML with dependencies.
    Cargo,
    /// Any other TOML.
    Settings,
    Json,
    /// Not run, with a reason.
    Excused,
    Unknown,
}

#[derive(Debug)]
pub struct Block {
    pub kind: Kind,
    /// Line of its first line in the file.
    pub line: usize,
    pub text: String,
    console: bool,
}

/// The blocks of a text, in their order.
pub fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut above) = (Vec::new(), "");
    let mut lines = text.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let inside = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```");
            let text: String = inside.map(|line| format!("{line}\n")).collect();
            let kind = kind(language, above, &text);
            found.push(Block { kind, line: number + 2, console: language == "console", text });
        }
        if !line.is_empty() {
            above = line;
        }
    }
    found
}

fn kind(language: &str, above: &str, text: &str) -> Kind {
    let reason = above.strip_prefix("<!-- not run: ").and_then(|rest| rest.strip_suffix(" -->"));
    if reason.is_some_and(|reason| reason.len() > 10) {
        return Kind::Excused;
    }
    match language {
        "sh" | "console" => Kind::Shell { runs_on: above == "<!-- runs on -->" },
        "rust" => Kind::Rust,
        "toml" if text.contains("[dependencies]") => Kind::Cargo,
        "toml" => Kind::Settings,
        "json" => Kind::Json,
        _ => Kind::Unknown,
    }
}

impl Block {
    /// The commands, each with what it prints. A script is one command, and shows nothing.
    pub fn commands(&self) -> Vec<(String, Option<String>)> {
        if !self.console {
            return vec![(self.text.clone(), None)];
        }
        let mut commands: Vec<(String, Option<String>)> = Vec::new();
        let mut goes_on = false;
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((format!("{command}\n"), None)),
                (None, Some((command, _))) if goes_on => *command += &format!("{line}\n"),
                (None, Some((_, shown))) => *shown.get_or_insert_default() += &format!("{line}\n"),
                (None, None) => panic!("line {}: output before a command", self.line),
            }
            goes_on = line.ends_with('\\');
        }
        commands
    }
}
