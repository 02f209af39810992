//! Backend users of a test, and their authenticators.

use serde_json::{Value as Json, json};
use totp_rs::{Builder, Secret};

use super::{Reply, Site};

pub const PASSWORD: &str = "correct horse battery";

/// A user who has completed his first login.
pub struct Person {
    pub name: String,
    pub id: i64,
    /// Base32, as his authenticator got it.
    pub secret: String,
    pub token: String,
    pub recovery_codes: Vec<String>,
}

/// What an authenticator shows at this moment.
pub fn code(secret: &str, millis: i64) -> String {
    let secret = Secret::try_from_base32(secret).unwrap();
    Builder::new().with_secret(secret).build().unwrap().generate(millis as u64 / 1000).to_string()
}

/// Six digits that no authenticator shows about now.
pub fn wrong_code(secret: &str, millis: i64) -> String {
    let near: Vec<_> = (-2..=2).map(|step| code(secret, millis + step * 30_000)).collect();
    (0..).map(|n| format!("{n:06}")).find(|code| !near.contains(code)).unwrap()
}

impl Site {
    /// Makes a group and returns its id.
    pub async fn group(&self, name: &str, rights: Json) -> i64 {
        let body = json!({"name": name, "rights": rights});
        self.create("/api/backend/user_groups", body).await["id"].as_i64().unwrap()
    }

    /// Makes a user of one group and returns his id.
    pub async fn user(&self, name: &str, group: &str) -> i64 {
        let body = json!({"username": name, "password": PASSWORD, "groups": [group]});
        self.create("/api/backend/users", body).await["id"].as_i64().unwrap()
    }

    /// A user of a new group with these rights, logged in.
    pub async fn person(&self, name: &str, rights: Json) -> Person {
        let group = format!("group of {name}");
        self.group(&group, rights).await;
        let id = self.user(name, &group).await;
        let begun = self.begin(name, PASSWORD).await.data();
        let secret = begun["setup"]["secret"].as_str().unwrap().to_owned();
        let done = self.verify(&begun["pending_token"], self.shown(&secret)).await;
        assert_eq!(done.status, 200, "{}", done.text());
        let done = done.data();
        // The next login needs another step.
        self.clock.advance(30_000);
        let recovery_codes = serde_json::from_value(done["recovery_codes"].clone()).unwrap();
        Person {
            name: name.to_owned(),
            id,
            secret,
            token: done["token"].as_str().unwrap().to_owned(),
            recovery_codes,
        }
    }

    /// Name and password.
    pub async fn begin(&self, name: &str, password: &str) -> Reply {
        let body = json!({"username": name, "password": password});
        self.ask("POST /api/backend/auth/login").json(body).send().await
    }

    /// The token of a login that waits for its second step.
    pub async fn pending(&self, name: &str) -> Json {
        self.begin(name, PASSWORD).await.data()["pending_token"].take()
    }

    /// The proof that an authenticator shows now.
    pub fn shown(&self, secret: &str) -> Json {
        json!({"code": code(secret, self.clock.now())})
    }

    /// A proof that no authenticator shows now.
    pub fn not_shown(&self, secret: &str) -> Json {
        json!({"code": wrong_code(secret, self.clock.now())})
    }

    /// Completes a login: `proof` is a code or a recovery code.
    pub async fn verify(&self, pending: &Json, proof: Json) -> Reply {
        let mut body = proof;
        body["pending_token"] = pending.clone();
        self.ask("POST /api/backend/auth/verify").json(body).send().await
    }

    /// A login with the code of this moment.
    pub async fn log_in_again(&self, person: &Person) -> Reply {
        let begun = self.begin(&person.name, PASSWORD).await;
        if begun.status != 200 {
            return begun;
        }
        let pending = &begun.data()["pending_token"];
        let reply = self.verify(pending, self.shown(&person.secret)).await;
        self.clock.advance(30_000);
        reply
    }
}
