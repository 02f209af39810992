//! The pictures of the demo's start page, which code in `drawn` draws.

#[cfg(test)]
mod drawn;

use std::collections::BTreeMap;

use cms_core::{
    Actor, Cms, Error, Result,
    items::IfMatch,
    media::{MediaFile, Stored},
};
use serde_json::{Map, Value as Json};

use super::LANGUAGES;

/// The media folder of the pictures.
const FOLDER: &str = "home";

struct Picture {
    name: &'static str,
    content: &'static [u8],
    /// The text that stands for the picture, in each language.
    alt: [&'static str; 2],
}

macro_rules! picture {
    ($name:literal, $($alt:literal),+) => {
        Picture {
            name: $name,
            content: include_bytes!(concat!("../../../../demo/pictures/", $name)),
            alt: [$($alt),+],
        }
    };
}

const PICTURES: [Picture; 6] = [
    picture!(
        "sehle-valley.png",
        "A bicycle on a green hill above the river Sehle",
        "Ein Fahrrad auf einem grünen Hügel über der Sehle"
    ),
    picture!(
        "city-bike.png",
        "A red city bike in front of a yellow wall",
        "Ein rotes Stadtrad vor einer gelben Wand"
    ),
    picture!(
        "evening-tour.png",
        "Two bicycles on a hill while the sun sets",
        "Zwei Fahrräder auf einem Hügel bei Sonnenuntergang"
    ),
    picture!(
        "truing-stand.png",
        "A wheel in the truing stand of the workshop",
        "Ein Laufrad im Zentrierständer der Werkstatt"
    ),
    picture!(
        "coffee.png",
        "A steaming cup of coffee on a wooden table",
        "Eine dampfende Tasse Kaffee auf einem Holztisch"
    ),
    picture!(
        "town-map.png",
        "Map of Lindenbruck with a pin at the old mill by the river",
        "Karte von Lindenbruck mit einer Nadel an der alten Mühle am Fluss"
    ),
];

/// Stores the pictures with their texts. Returns their paths by name.
pub(super) async fn store(cms: &Cms) -> Result<BTreeMap<String, String>> {
    let (media, mut ready) = (cms.media(), Vec::new());
    for picture in &PICTURES {
        let mut incoming = media.incoming().await?;
        incoming.write(picture.content).await?;
        ready.push((picture, media.judge(incoming, picture.name).await?));
    }
    let (mut paths, mut stored) = (BTreeMap::new(), Vec::new());
    let mut change = cms.change(Actor::System).await?;
    for (picture, ready) in ready {
        let Stored::New(name, written) = media.store(&mut change, ready, FOLDER).await? else {
            return Err(Error::internal(format!("{} is there already", picture.name)));
        };
        let file: MediaFile = written.record.values_as()?;
        media.update(&mut change, file.id, &IfMatch::Nothing, &picture.texts()).await?;
        paths.insert(picture.name.to_owned(), file.path);
        stored.push(name);
    }
    change.commit().await?;
    stored.iter().for_each(|name| media.settled(name));
    Ok(paths)
}

impl Picture {
    fn texts(&self) -> Map<String, Json> {
        let texts = LANGUAGES.into_iter().zip(self.alt);
        let alt: Map<_, _> =
            texts.map(|(language, alt)| (language.to_owned(), alt.into())).collect();
        [("alt".to_owned(), alt.into())].into_iter().collect()
    }
}
