//! A text: `text/plain`.

use cms_core::Result;

use super::{Body, BodyKind, Content};
use crate::wire::Text;

impl Body for Text {
    const KIND: BodyKind = BodyKind::Text;

    async fn receive(content: Content) -> Result<Self> {
        content.text().map(Self)
    }
}
