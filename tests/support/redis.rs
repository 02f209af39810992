//! A real Redis for one test: started, stopped, made to hang. Where `CMS_TEST_REDIS` names the
//! server's binary, such as `redis-server`.

use std::{
    io::{Read, Write},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

pub struct Redis {
    binary: String,
    port: u16,
    child: Child,
}

impl Redis {
    /// None, said loudly, where no server is to be had.
    pub fn start() -> Option<Self> {
        let Ok(binary) = std::env::var("CMS_TEST_REDIS") else {
            println!("skipped: CMS_TEST_REDIS names no redis-server");
            return None;
        };
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = Self::spawn(&binary, port);
        Some(Self { binary, port, child })
    }

    fn spawn(binary: &str, port: u16) -> Child {
        let port = port.to_string();
        let arguments =
            ["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
        let child = Command::new(binary)
            .args(arguments)
            .stdout(Stdio::null())
            .spawn()
            .expect("CMS_TEST_REDIS starts");
        let began = Instant::now();
        while std::net::TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
            assert!(began.elapsed() < Duration::from_secs(10), "redis does not answer");
            std::thread::sleep(Duration::from_millis(10));
        }
        child
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/", self.port)
    }

    pub fn signal(&self, name: &str) {
        super::process::signal(self.child.id(), name);
    }

    pub fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    pub fn restart(&mut self) {
        self.child = Self::spawn(&self.binary, self.port);
    }

    /// Sends a command as one line; returns the first line of the answer.
    pub fn send(&self, line: &str) -> String {
        let mut stream = std::net::TcpStream::connect(format!("127.0.0.1:{}", self.port)).unwrap();
        write!(stream, "{line}\r\n").unwrap();
        let mut answer = [0; 512];
        let length = stream.read(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..length]).lines().next().unwrap_or_default().to_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.stop();
    }
}
