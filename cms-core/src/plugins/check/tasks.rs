//! Tasks: names, intervals, what runs.

use super::{Check, names};

impl Check<'_> {
    pub(super) fn tasks(&mut self) {
        let tasks = &self.manifest.tasks;
        let all = tasks.iter().enumerate();
        self.doubles(
            all.map(|(i, task)| (format!("/tasks/{i}/name"), task.name.as_str())),
            "is the name of another task",
        );
        for (i, task) in tasks.iter().enumerate() {
            let at = format!("/tasks/{i}");
            if !names::is_identifier(&task.name) {
                let remedy = format!("{} are expected, such as \"tidy\"", names::IDENTIFIER);
                self.fault(format!("{at}/name"), remedy);
            }
            if !(1..=31_536_000).contains(&task.interval_s) {
                let remedy = "1 to 31536000 seconds are expected";
                self.fault(format!("{at}/interval_s"), remedy);
            }
            if task.timeout_s.is_some_and(|limit| !(1..=604_800).contains(&limit)) {
                self.fault(format!("{at}/timeout_s"), "1 to 604800 seconds are expected");
            }
            match (&task.script, &task.handler) {
                (None, None) => {
                    self.fault(format!("{at}/script"), "a task needs script or handler");
                }
                (Some(_), Some(_)) => {
                    let remedy = "a task runs one thing: remove script or handler";
                    self.fault(format!("{at}/handler"), remedy);
                }
                _ => {}
            }
            self.script(&format!("{at}/script"), task.script.as_deref());
        }
    }
}
