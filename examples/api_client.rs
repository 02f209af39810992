//! A program that reads from a running site with a key.
//!
//! `CMS_API_KEY=cms_k1_... cargo run -p cms-examples --example api_client -- http://127.0.0.1:8080
//! pages`

use cms_core::Secret;
use cms_http::client::{Ask, Client, ClientError, Credential};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(table)) = (arguments.next(), arguments.next()) else {
        println!(
            "give the address of a site and the name of a table; the key is read from CMS_API_KEY"
        );
        return Ok(());
    };
    let key = Secret::new(std::env::var("CMS_API_KEY").unwrap_or_default());
    let client = Client::remote(&url, &Credential::Key(key))?;
    match titles(&client, &table).await {
        Ok(titles) => titles.iter().for_each(|title| println!("{title}")),
        Err(ClientError::Problem { code, detail, .. }) => println!("refused ({code}): {detail}"),
        Err(other) => return Err(other),
    }
    Ok(())
}

/// All titles, a page of the list at a time.
async fn titles(client: &Client, table: &str) -> Result<Vec<String>, ClientError> {
    let (mut titles, mut cursor) = (Vec::new(), None);
    loop {
        let ask = Ask::get("/api/backend/item")
            .query("table", table)
            .query("fields", "title")
            .query("limit", 100)
            .maybe("cursor", cursor);
        let page = client.send(ask).await?.json()?;
        let rows = page["data"].as_array().into_iter().flatten();
        titles.extend(rows.filter_map(|row| row["title"].as_str()).map(str::to_owned));
        match page["meta"]["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(titles),
        }
    }
}

#[tokio::test]
async fn it_reads_from_a_running_site() -> Result<(), Box<dyn std::error::Error>> {
    use cms_core::{Actor, Cms, access::Right, keys::NewApiKey, settings::Settings};
    use cms_http::{Api, Server};

    let folder = tempfile::tempdir()?;
    let mut settings = Settings::default();
    settings.dirs.data = folder.path().join("data");
    let cms = Cms::open(settings).await?;
    let mut new = NewApiKey::new("x");
    new.rights = vec![Right::parse("GET /api/backend/item?table=pages")?];
    let mut change = cms.change(Actor::Operator).await?;
    for n in 0..3 {
        let page = serde_json::json!({"title": format!("T{n}"), "url_rewrite": format!("/{n}")});
        cms.items().create(&mut change, "pages", page.as_object().ok_or("object")?).await?;
    }
    let (_, value) = cms.keys().create(&mut change, &[Right::everything()], new).await?;
    change.commit().await?;
    let server = Server::bind(Api::new(cms)?, "127.0.0.1:0").await?;
    let (url, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let client = Client::remote(&url, &Credential::Key(Secret::new(value.expose())))?;
    assert_eq!(titles(&client, "pages").await?, ["T0", "T1", "T2"]);
    assert!(matches!(
        titles(&client, "settings").await,
        Err(ClientError::Problem { code, .. }) if code == "api_key_forbidden"
    ));
    stop.now();
    running.await?;
    Ok(())
}
