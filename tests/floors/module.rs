//! What a source file says: its items, its imports and the paths it names.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Token, tokens};

/// A `use` of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// The name it has here; None for `*`.
    pub(super) name: Option<String>,
    /// Whether others may import it from here.
    pub(super) public: bool,
}

/// A module without its tests.
#[derive(Clone, Debug, Default)]
pub(super) struct Module {
    pub(super) items: BTreeSet<String>,
    pub(super) imports: Vec<Import>,
    pub(super) paths: Vec<Vec<String>>,
    /// Modules declared only for tests, by name, or by the file that `#[path]` names.
    pub(super) tests: Vec<String>,
}

const ITEMS: [&str; 9] =
    ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules"];

/// Reads the module `name` (such as `webhooks::sign`) and the modules inside its text.
pub(super) fn read(name: &str, text: &str) -> BTreeMap<String, Module> {
    let mut reader = Reader { tokens: tokens(text), at: 0, modules: BTreeMap::new() };
    reader.block(name);
    reader.modules
}

/// The path of a module inside another.
pub(super) fn join(parent: &str, child: &str) -> String {
    if parent.is_empty() { child.to_owned() } else { format!("{parent}::{child}") }
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    modules: BTreeMap<String, Module>,
}

impl Reader {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is(&self, ahead: usize, sign: char) -> bool {
        self.peek(ahead).is_some_and(|token| token.is(sign))
    }

    fn word(&self, ahead: usize) -> Option<String> {
        self.peek(ahead)?.word().map(str::to_owned)
    }

    /// Reads up to the brace that closes this module.
    fn block(&mut self, name: &str) {
        self.modules.entry(name.to_owned()).or_default();
        let (mut depth, mut public, mut test, mut file) = (0_usize, false, false, None);
        while let Some(token) = self.peek(0).cloned() {
            match &token {
                Token::Sign('#') => {
                    let (is_test, path) = self.attribute();
                    (test, file) = (test || is_test, path.or(file));
                    continue;
                }
                Token::Word(word) if word == "pub" => {
                    public = true;
                    self.at += 1;
                    if self.is(0, '(') {
                        self.skip_group('(', ')');
                    }
                    continue;
                }
                Token::Word(word) if test => {
                    if word == "mod" {
                        let declared = file.take().or(self.word(1));
                        self.module(name).tests.extend(declared);
                    }
                    self.skip_item();
                    (public, test, file) = (false, false, None);
                    continue;
                }
                Token::Word(word) if word == "use" => {
                    self.at += 1;
                    self.import(name, Vec::new(), public);
                }
                Token::Word(word) if word == "mod" && self.is(2, '{') => {
                    let inner = join(name, &self.word(1).unwrap_or_default());
                    self.at += 3;
                    self.block(&inner);
                }
                Token::Word(word) => self.item_or_path(name, word, depth),
                Token::Sign('{') => (depth, self.at) = (depth + 1, self.at + 1),
                Token::Sign('}') if depth == 0 => {
                    self.at += 1;
                    return;
                }
                Token::Sign('}') => (depth, self.at) = (depth - 1, self.at + 1),
                _ => self.at += 1,
            }
            (public, file) = (false, None);
        }
    }

    fn module(&mut self, name: &str) -> &mut Module {
        self.modules.entry(name.to_owned()).or_default()
    }

    /// Passes an attribute; tells whether it is for tests only, and which file `path` names.
    fn attribute(&mut self) -> (bool, Option<String>) {
        self.at += 1;
        if self.is(0, '!') {
            self.at += 1;
        }
        let start = self.at;
        self.skip_group('[', ']');
        let inside = &self.tokens[start..self.at];
        let has = |word: &str| inside.iter().any(|token| token.word() == Some(word));
        let path = inside.iter().find_map(|token| match token {
            Token::Text(text) if has("path") => Some(text.clone()),
            _ => None,
        });
        (has("cfg") && has("test") && !has("not"), path)
    }

    fn skip_group(&mut self, open: char, close: char) {
        let mut depth = 0;
        while let Some(token) = self.peek(0) {
            if token.is(open) {
                depth += 1;
            } else if token.is(close) {
                depth -= 1;
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }

    /// Passes an item: up to its semicolon, or to the end of its braces.
    fn skip_item(&mut self) {
        while let Some(token) = self.peek(0) {
            match token {
                Token::Sign(';') => {
                    self.at += 1;
                    return;
                }
                Token::Sign('{') => return self.skip_group('{', '}'),
                Token::Sign('(') => self.skip_group('(', ')'),
                Token::Sign('[') => self.skip_group('[', ']'),
                _ => self.at += 1,
            }
        }
    }

    /// A name that is defined, or a path that is named.
    fn item_or_path(&mut self, module: &str, word: &str, depth: usize) {
        if depth == 0 && ITEMS.contains(&word) {
            let name_at = if self.is(1, '!') { 2 } else { 1 };
            let name = self.word(name_at).filter(|name| name != "fn");
            self.module(module).items.extend(name);
        }
        let mut path = vec![word.to_owned()];
        self.at += 1;
        while self.peek(0) == Some(&Token::Step) {
            let Some(next) = self.word(1) else { break };
            path.push(next);
            self.at += 2;
        }
        if path.len() > 1 {
            self.module(module).paths.push(path);
        }
    }

    /// One branch of a `use` tree.
    fn import(&mut self, module: &str, mut path: Vec<String>, public: bool) {
        loop {
            match self.peek(0).cloned() {
                Some(Token::Word(word)) if word == "as" => {
                    let name = self.word(1);
                    self.at += 2;
                    return self.imported(module, path, name, public);
                }
                Some(Token::Word(word)) => {
                    self.at += 1;
                    path.push(word);
                }
                Some(Token::Step) => self.at += 1,
                Some(Token::Sign('*')) => {
                    self.at += 1;
                    return self.imported(module, path, None, public);
                }
                Some(Token::Sign('{')) => {
                    self.at += 1;
                    while !self.is(0, '}') && self.peek(0).is_some() {
                        self.import(module, path.clone(), public);
                        if self.is(0, ',') {
                            self.at += 1;
                        }
                    }
                    self.at += 1;
                    return;
                }
                _ => {
                    let name = path.iter().rfind(|word| *word != "self").cloned();
                    return self.imported(module, path, name, public);
                }
            }
        }
    }

    fn imported(&mut self, module: &str, path: Vec<String>, name: Option<String>, public: bool) {
        let mut path = path;
        if path.len() > 1 && path.last().is_some_and(|word| word == "self") {
            path.pop();
        }
        self.module(module).imports.push(Import { path, name, public });
    }
}
