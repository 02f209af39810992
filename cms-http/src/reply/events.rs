//! Server-sent events (HTML standard, 9.2.6).

/// Seconds of silence after which a comment shows that the connection lives.
pub(crate) const HEARTBEAT_S: i64 = 15;
/// A comment: clients ignore it.
pub(crate) const HEARTBEAT: &str = ": \n\n";
/// The first line of a stream: how many milliseconds clients wait before they reconnect.
pub(crate) const BEGINNING: &str = "retry: 2000\n\n";

/// Reports that events may be missing, because the one to go on after was not found. The event
/// has no id, so that a client that breaks off here sends the same id again.
pub(crate) fn gap(last: &str) -> String {
    let data = serde_json::json!({"last_event_id": last});
    format!("event: stream.gap\ndata: {data}\n\n")
}

/// Writes an event. `id` and `event` hold no line ends; data of several lines are kept.
pub(crate) fn write(text: &mut String, id: &str, event: &str, data: &str) {
    for part in ["id: ", id, "\nevent: ", event, "\n"] {
        text.push_str(part);
    }
    // All three forms of a line end would end the field.
    for line in data.split("\r\n").flat_map(|line| line.split(['\r', '\n'])) {
        for part in ["data: ", line, "\n"] {
            text.push_str(part);
        }
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    #[test]
    fn data_of_several_lines_stay_one_event() {
        let mut text = String::new();
        super::write(&mut text, "7", "a.b", "one\r\ntwo\rthree\n\nfive");
        assert_eq!(
            text,
            "id: 7\nevent: a.b\ndata: one\ndata: two\ndata: three\ndata: \ndata: five\n\n"
        );
    }
}
