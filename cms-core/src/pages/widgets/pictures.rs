//! Data about the pictures that built-in widgets show: their texts in the page's language, their
//! size and their focal point. One query serves all widgets of a page.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::Widgets;
use crate::{
    Result,
    items::{Filter, Op, Query},
    plugins::{PlacedWidget, manifest::FieldType},
};

/// The content table.
pub(super) const TABLE: &str = "media";
/// Files per query.
const BATCH_SIZE: usize = 500;

/// The widgets that show pictures from the media. Content of other widgets with pictures comes
/// from code alone.
const WIDGETS: [&str; 12] = [
    "image", "imageButton", "imageOverlayText", "titleBanner", "titleBannerElement", "infoBoxes",
    "uspIconList", "instagramJourney", "locationMap", "jobs", "gallery", "newsletter",
];

/// Whether the content of a widget includes data about its pictures.
pub(super) fn has_picture_data(widget: &str) -> bool {
    WIDGETS.contains(&widget)
}

/// The columns of a file that a page shows.
#[derive(Deserialize)]
struct File {
    path: String,
    alt: BTreeMap<String, String>,
    title: BTreeMap<String, String>,
    width: Option<i64>,
    height: Option<i64>,
    focal_x: Option<f64>,
    focal_y: Option<f64>,
}

/// The pictures of each widget by path. Widgets outside of `WIDGETS` get none.
pub(super) async fn of(
    widgets: &Widgets,
    placed: &[PlacedWidget],
) -> Result<Vec<Map<String, Json>>> {
    let paths: Vec<_> = placed.iter().map(|widget| picture_paths(widgets, widget)).collect();
    let all: Vec<String> =
        paths.iter().flatten().collect::<BTreeSet<_>>().into_iter().cloned().collect();
    let mut files = BTreeMap::new();
    for some in all.chunks(BATCH_SIZE) {
        let query = Query {
            fields: ["path", "alt", "title", "width", "height", "focal_x", "focal_y"]
                .map(str::to_owned)
                .to_vec(),
            filters: vec![Filter { column: "path".to_owned(), op: Op::In, values: some.to_vec() }],
            limit: BATCH_SIZE as u32,
            ..Query::default()
        };
        let list = widgets.0.items.list(TABLE, &query).await?;
        for found in list.records()? {
            let file: File = found.values_as()?;
            files.insert(file.path.clone(), file);
        }
    }
    let first = widgets.0.base.settings().languages.first().map(String::as_str);
    let told = |(paths, widget): (BTreeSet<String>, &PlacedWidget)| {
        let found = paths.into_iter().filter_map(|path| {
            let file = files.get(&path)?;
            Some((path, file.in_language(&widget.language, first)))
        });
        found.collect()
    };
    Ok(paths.into_iter().zip(placed).map(told).collect())
}

/// Adds the pictures to the content of a widget, as a member.
pub(super) fn add(content: &mut Json, pictures: Map<String, Json>) {
    match content {
        Json::Object(members) => drop(members.insert("pictures".to_owned(), pictures.into())),
        Json::Null => *content = json!({"pictures": pictures}),
        _ => {}
    }
}

/// The paths of the pictures that a widget and its items show.
fn picture_paths(widgets: &Widgets, placed: &PlacedWidget) -> BTreeSet<String> {
    let known = widgets.find(&placed.widget).filter(|widget| has_picture_data(&widget.name));
    let Some(widget) = known else { return BTreeSet::new() };
    let own = widget.menu.iter().map(|entry| (entry, &placed.data));
    let of_items = placed
        .items
        .iter()
        .flat_map(|item| widget.item_menu.iter().map(move |entry| (entry, item)));
    let values = own.chain(of_items).filter_map(|(entry, data)| {
        let is_picture = entry.field_type == FieldType::Image;
        data.get(&entry.row).filter(|_| is_picture)?.as_str().map(str::to_owned)
    });
    values.collect()
}

impl File {
    fn in_language(&self, language: &str, first: Option<&str>) -> Json {
        let text = |texts: &BTreeMap<String, String>| {
            let other = || texts.get(first?).cloned();
            texts.get(language).cloned().or_else(other)
        };
        json!({
            "alt": text(&self.alt),
            "title": text(&self.title),
            "width": self.width,
            "height": self.height,
            "focal_x": self.focal_x,
            "focal_y": self.focal_y,
        })
    }
}
