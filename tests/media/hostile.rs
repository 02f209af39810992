//! Files that the service takes and that would call a canary, if a browser let them.

/// A file, and what its bytes say it is.
pub struct Hostile {
    pub name: &'static str,
    pub media_type: &'static str,
    pub content: Vec<u8>,
}

/// What the settings must take.
#[rustfmt::skip]
pub const TYPES: [&str; 11] = [
    "image/png", "image/jpeg", "image/gif", "image/svg+xml", "text/html", "text/plain",
    "application/pdf", "application/zip", "video/mp4", "audio/wav", "image/webp",
];

/// Every way of a page to call somebody without a click.
fn page(canary: &str, case: &str) -> String {
    let at = format!("{canary}/canary/{case}");
    format!(
        "<!doctype html><html><head><meta http-equiv=\"refresh\" content=\"1;url={at}/refresh\">\
         <link rel=\"stylesheet\" href=\"{at}/style\"><link rel=\"preload\" as=\"image\" \
         href=\"{at}/preload\"><style>body {{ background: url({at}/background) }}</style></head>\
         <body><img src=\"{at}/image\" onerror=\"fetch('{at}/onerror')\">\
         <iframe src=\"{at}/frame\"></iframe><form id=\"f\" action=\"{at}/form\" method=\"post\">\
         </form><script>fetch('{at}/fetch'); new Image().src = '{at}/script'; \
         navigator.sendBeacon('{at}/beacon'); document.getElementById('f').submit();</script>\
         </body></html>"
    )
}

fn script(canary: &str, case: &str) -> String {
    format!("<script>fetch('{canary}/canary/{case}')</script>")
}

fn drawing(canary: &str, case: &str) -> String {
    let at = format!("{canary}/canary/{case}");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" \
         width=\"9\" height=\"9\" onload=\"fetch('{at}/onload')\"><script>fetch('{at}/script')\
         </script><image id=\"a\" href=\"{at}/image\" width=\"9\" height=\"9\"/>\
         <style>@import url('{at}/style');</style><foreignObject width=\"9\" height=\"9\">\
         <iframe xmlns=\"http://www.w3.org/1999/xhtml\" src=\"{at}/frame\"/></foreignObject></svg>"
    )
}

/// A chunk of a PNG.
fn chunk(name: &[u8; 4], data: &[u8]) -> Vec<u8> {
    [&(data.len() as u32).to_be_bytes()[..], name, data, b"crc!"].concat()
}

/// A PDF that does something when it is opened.
fn document(action: &str) -> Vec<u8> {
    format!(
        "%PDF-1.7\n1 0 obj\n<</Type /Catalog /Pages 2 0 R /OpenAction {action}>>\nendobj\n\
         2 0 obj\n<</Type /Pages /Kids [3 0 R] /Count 1>>\nendobj\n\
         3 0 obj\n<</Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /AA <</O {action}>>>>\nendobj\n\
         trailer\n<</Root 1 0 R>>\n%%EOF\n"
    )
    .into_bytes()
}

/// All of them.
pub fn files(canary: &str) -> Vec<Hostile> {
    let mut files = Vec::new();
    let mut add = |name, media_type, content: &[u8]| {
        files.push(Hostile { name, media_type, content: content.to_vec() });
    };
    let at = |case: &str| format!("{canary}/canary/{case}");
    add("page.html", "text/html", page(canary, "page").as_bytes());
    add("photo.png.html", "text/html", format!("\n {}", page(canary, "disguise")).as_bytes());
    let strict = format!(
        "<?xml version=\"1.0\"?><html xmlns=\"http://www.w3.org/1999/xhtml\"><body>{}</body>\
         </html>",
        script(canary, "xhtml")
    );
    add("strict.xhtml", "text/html", strict.as_bytes());
    add("drawing.svg", "image/svg+xml", drawing(canary, "drawing").as_bytes());
    let sheet = format!(
        "<?xml version=\"1.0\"?><?xml-stylesheet type=\"text/xsl\" href=\"{}\"?>{}",
        at("sheet"),
        drawing(canary, "drawing-xsl")
    );
    add("sheet.png", "image/svg+xml", sheet.as_bytes());
    add("page.txt", "text/plain", format!("Hello\n{}", page(canary, "text")).as_bytes());
    let mail = format!("MIME-Version: 1.0\nContent-Type: text/html\n\n{}", page(canary, "mail"));
    add("mail.mht", "text/plain", mail.as_bytes());
    let code = format!("fetch('{}');import('{}');//", at("code"), at("module"));
    add("code.js", "text/plain", code.as_bytes());
    let style = format!("@import url('{}'); * {{ background: url('{0}') }}", at("css"));
    add("style.css", "text/plain", style.as_bytes());
    // A whole GIF with a page in its comment; read as a script, it is one too.
    let html = page(canary, "gif");
    let mut gif = b"GIF89a\x2f\x2a\x01\0\0\0\0".to_vec();
    gif.extend(b"\x21\xfe");
    for part in html.as_bytes().chunks(255) {
        gif.push(part.len() as u8);
        gif.extend(part);
    }
    gif.extend(b"\0\x3b");
    add("polyglot.gif", "image/gif", &gif);
    let call = format!("*/=1;fetch('{}');/*", at("gif-script"));
    let comment = [&[call.len() as u8][..], call.as_bytes(), b"\0\x3b"].concat();
    let script_gif = [&b"GIF89a\x2f\x2a\x01\0\0\0\0\x21\xfe"[..], &comment].concat();
    add("script.gif", "image/gif", &script_gif);
    let png = [
        b"\x89PNG\r\n\x1a\n".to_vec(),
        chunk(b"IHDR", b"\0\0\0\x08\0\0\0\x08\x08\x06\0\0\0"),
        chunk(b"tEXt", page(canary, "png").as_bytes()),
        chunk(b"IDAT", b"x"),
        chunk(b"IEND", b""),
    ];
    add("text.png", "image/png", &png.concat());
    let html = page(canary, "jpeg");
    let mut jpeg = b"\xff\xd8\xff\xfe".to_vec();
    jpeg.extend((html.len() as u16 + 2).to_be_bytes());
    jpeg.extend(html.as_bytes());
    jpeg.extend(b"\xff\xc0\x00\x0b\x08\x00\x05\x00\x07\x01\x01\x11\x00");
    jpeg.extend(b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00data\xff\xd9");
    jpeg.extend(page(canary, "jpeg-tail").as_bytes());
    add("tail.jpg", "image/jpeg", &jpeg);
    add(
        "action.pdf",
        "application/pdf",
        &document(&format!("<</S /JavaScript /JS (app.launchURL\\('{}'\\))>>", at("pdf-script"))),
    );
    add("uri.pdf", "application/pdf", &document(&format!("<</S /URI /URI ({})>>", at("pdf-uri"))));
    add(
        "form.pdf",
        "application/pdf",
        &document(&format!("<</S /SubmitForm /F ({})>>", at("pdf-form"))),
    );
    let html = page(canary, "pdf-page");
    let both = format!("%PDF-1.7\n<!--\n-->{html}\n%%EOF");
    add("page.pdf", "application/pdf", both.as_bytes());
    let html = page(canary, "film");
    let mut film = b"\0\0\0\x14ftypmp42\0\0\0\0mp42".to_vec();
    film.extend((html.len() as u32 + 8).to_be_bytes());
    film.extend(b"free");
    film.extend(html.as_bytes());
    add("film.mp4", "video/mp4", &film);
    let html = page(canary, "sound");
    let mut sound = b"RIFF".to_vec();
    sound.extend((html.len() as u32 + 4).to_le_bytes());
    sound.extend(b"WAVE");
    sound.extend(html.as_bytes());
    add("sound.wav", "audio/wav", &sound);
    let html = page(canary, "archive");
    let mut archive = b"PK\x03\x04".to_vec();
    archive.extend(html.as_bytes());
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 18]);
    add("archive.zip", "application/zip", &archive);
    files
}
