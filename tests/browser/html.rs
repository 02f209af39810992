//! HTML of an author, shown by a page in a real Chromium as a theme would show it: it runs nothing,
//! names nothing, also after the browser has written and read it again (mutation XSS).

use cms_http::Server;
use serde_json::json;

use super::{Website, register};
use crate::support::{Site, visits::leads};

/// Ways that have once led through sanitizers, or through ours in an earlier form.
const ATTACKS: [&str; 71] = [
    // Plain.
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//127.0.0.1/x></SCRIPT><script>alert(1)",
    "<img src=x onerror=alert(1)>",
    "<img/src=x/onerror=alert(1)>",
    "<img src=`x`onerror=alert(1)>",
    "<img src='x'onerror=alert(1)>",
    "<img src=x: onerror\u{c}=\u{c}alert(1)>",
    "<body onload=alert(1)>",
    "<b onmouseover=alert(1)>x</b>",
    "<details open ontoggle=alert(1)><summary>x</summary></details>",
    "<input autofocus onfocus=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<audio src onerror=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<meta http-equiv=refresh content='0;url=javascript:alert(1)'>",
    "<base href=javascript:/x/><a href=alert(1)>x</a>",
    "<link rel=stylesheet href=data:text/css,x onload=alert(1)>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<isindex type=image src=1 onerror=alert(1)>",
    "<template><img src=x onerror=alert(1)></template>",
    // Addresses.
    "<a href=javascript:alert(1)>x</a>",
    "<a href=' java\tscript:alert(1)'>x</a>",
    "<a href='java&#10;script:alert(1)'>x</a>",
    "<a href='&#106;avascript:alert(1)'>x</a>",
    "<a href='javascript&colon;alert(1)'>x</a>",
    "<a href='\u{1}javascript:alert(1)'>x</a>",
    "<a href='JaVaScRiPt:alert(1)'>x</a>",
    "<a href='data:text/html,<script>opener.alert(1)</script>'>x</a>",
    "<a href='vbscript:alert(1)'>x</a>",
    "<a href='{{ a | javascript:alert(1) }}'>x</a>",
    "<a href='{{ a }}javascript:alert(1)'>x</a>",
    "<img src=javascript:alert(1)>",
    "<blockquote cite=javascript:alert(1)>x</blockquote>",
    // Styles.
    "<p style='background:url(javascript:alert(1))'>x</p>",
    "<p style='width:expression(alert(1))'>x</p>",
    "<p style='x:\\65xpression(alert(1))'>x</p>",
    "<style>@import 'javascript:alert(1)';</style>",
    "<style><img src=x onerror=alert(1)></style>",
    // Comments, declarations, raw text.
    "<!--><img src=x onerror=alert(1)>-->",
    "<!--!><img src=x onerror=alert(1)>--!>",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<img src=x onerror=alert(1)>]]>",
    "<?xml version='1.0'?><img src=x onerror=alert(1)>",
    "<title><img src=x onerror=alert(1)></title>",
    "<textarea></textarea><img src=x onerror=alert(1)>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<xmp><p title='</xmp><img src=x onerror=alert(1)>'>",
    "<noembed><p title='</noembed><img src=x onerror=alert(1)>'>",
    "<plaintext><img src=x onerror=alert(1)>",
    // Foreign content, and what becomes of it when it is written and read again.
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "<svg></p><style><a id='</style><img src=x onerror=alert(1)>'>",
    "<svg><p><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "<svg><animate xlink:href=#x attributeName=href values=javascript:alert(1) /><a id=x>x</a>",
    "<svg><foreignObject><iframe srcdoc='<script>parent.alert(1)</script>'></foreignObject></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>",
    "<math><annotation-xml encoding=text/html><style><img src=x onerror=alert(1)></style></math>",
    "<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(1)>",
    "<table><td><svg><desc><table><td></svg><style><a title='</style><img src onerror=alert(1)>'>",
    "<select><template><style><!--</style><a rel='--><img src=x onerror=alert(1)>'></template>",
    // Names that a page's code could meet.
    "<a id=clobbered><a id=clobbered name=x href='cid:x'><img name=clobbered>x</a>",
    "<form name=clobbered><input name=x value=1></form>",
    "<form id=clobbered><input id=attributes><input name=parentNode><button name=remove></form>",
    "<div id=clobbered><p id=clobbered><b id=x name=getElementById>x</b></p></div>",
    "<iframe name=clobbered srcdoc=\"<a id=x name=y href='cid:x'>x</a>\"></iframe>",
    "<form id=clobbered name=x><output id=x>1</output><fieldset name=x><select name=x></form>",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn html_of_authors_runs_nothing_and_names_nothing() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site = Site::open().await;
    let mut funnel = leads();
    funnel["slug"] = "hostile".into();
    let statement = |(at, html): (usize, &&str)| {
        let id = format!("s{at}");
        json!({"id": id, "type": "statement", "html": html})
    };
    let fields: Vec<_> = ATTACKS.iter().enumerate().map(statement).collect();
    funnel["nodes"][0]["config_json"]["fields"] = fields.into();
    site.funnel(funnel).await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (api, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let loud: Vec<_> = ATTACKS.iter().filter(|html| html.contains("onerror=alert")).collect();
    let raw = serde_json::to_string(&loud).unwrap().replace('<', "\\u003c");
    let page = include_str!("html.html").replace("{{api}}", &api).replace("{{raw}}", &raw);
    let website = Website::of(page, site.cms.clone()).await;
    register(&site.cms, &website.origin).await;
    let seen = website.visit("/").await;
    let expected = json!({
        "shown": ATTACKS.len(), "ran": [], "left": [], "clobbered": "undefined", "awake": true,
    });
    assert_eq!(seen, expected);
    stop.now();
    running.await.unwrap();
}
