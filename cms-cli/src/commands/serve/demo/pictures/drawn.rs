//! The pictures as code: `CMS_WRITE_DOCS=1 cargo test -p cms-cli pictures` draws them again. Every
//! machine draws the same pixels, because all operations used here round the same way everywhere.

use image::{
    Rgb, RgbImage,
    codecs::png::{CompressionType::Best, FilterType, PngEncoder},
};

use super::PICTURES;

const SIZE: (u32, u32) = (800, 450);
/// Directions of spokes, 30 degrees apart.
const SPOKES: [Point; 6] =
    [(1.0, 0.0), (0.866, 0.5), (0.5, 0.866), (0.0, 1.0), (-0.5, 0.866), (-0.866, 0.5)];

/// From the left and from the top, in pixels.
type Point = (f64, f64);

struct Canvas(RgbImage);

impl Canvas {
    /// A background that fades from one colour at the top to another at the bottom.
    fn new(top: u32, bottom: u32) -> Self {
        let share = |y: u32| f64::from(y) / f64::from(SIZE.1 - 1);
        Self(RgbImage::from_fn(SIZE.0, SIZE.1, |_, y| mixed(rgb(top), rgb(bottom), share(y))))
    }

    /// Paints the shape: points with a negative distance. `corners` enclose all of it.
    fn paint(
        mut self,
        color: u32,
        [from, to]: [Point; 2],
        distance: impl Fn(f64, f64) -> f64,
    ) -> Self {
        let pixels =
            |from: f64, to: f64, end: u32| from.max(0.0) as u32..(to.ceil() as u32).min(end);
        for y in pixels(from.1, to.1, SIZE.1) {
            for x in pixels(from.0, to.0, SIZE.0) {
                let inside = 0.5 - distance(f64::from(x) + 0.5, f64::from(y) + 0.5);
                if inside > 0.0 {
                    let pixel = self.0.get_pixel_mut(x, y);
                    // Few shades at the edges make small files.
                    let share = (inside.min(1.0) * 4.0).round() / 4.0;
                    *pixel = mixed(*pixel, rgb(color), share);
                }
            }
        }
        self
    }

    fn disc(self, color: u32, (x, y): Point, radius: f64) -> Self {
        let far = radius + 1.0;
        let corners = [(x - far, y - far), (x + far, y + far)];
        self.paint(color, corners, |left, top| length(left - x, top - y) - radius)
    }

    fn ring(self, color: u32, (x, y): Point, radius: f64, width: f64) -> Self {
        let far = radius + width;
        let corners = [(x - far, y - far), (x + far, y + far)];
        self.paint(color, corners, |left, top| {
            (length(left - x, top - y) - radius).abs() - width / 2.0
        })
    }

    /// A line with round ends.
    fn line(self, color: u32, from: Point, to: Point, width: f64) -> Self {
        let (right, down) = (to.0 - from.0, to.1 - from.1);
        let corners = [
            (from.0.min(to.0) - width, from.1.min(to.1) - width),
            (from.0.max(to.0) + width, from.1.max(to.1) + width),
        ];
        self.paint(color, corners, |x, y| {
            let (x, y) = (x - from.0, y - from.1);
            let along = ((x * right + y * down) / (right * right + down * down)).clamp(0.0, 1.0);
            length(x - along * right, y - along * down) - width / 2.0
        })
    }

    fn path(self, color: u32, points: &[Point], width: f64) -> Self {
        let parts = points.windows(2);
        parts.fold(self, |canvas, ends| canvas.line(color, ends[0], ends[1], width))
    }

    /// A bicycle that faces right, placed by the axle of its back wheel.
    fn bicycle(self, [frame, tyre]: [u32; 2], (x, y): Point, radius: f64) -> Self {
        let at = |right: f64, up: f64| (x + right * radius, y - up * radius);
        let (back, front, crank) = (at(0.0, 0.0), at(2.95, 0.0), at(1.25, -0.1));
        let (seat, head, fork) = (at(0.95, 1.2), at(2.43, 1.3), at(2.5, 1.05));
        let tube = radius * 0.13;
        let wheels = [back, front].into_iter().fold(self, |canvas, axle| {
            canvas.ring(tyre, axle, radius, tube).disc(tyre, axle, tube)
        });
        wheels
            .path(frame, &[back, seat, head, fork, crank, back], tube)
            .path(frame, &[crank, seat], tube)
            .path(frame, &[head, front], tube)
            .ring(tyre, crank, radius * 0.25, tube * 0.7)
            .path(tyre, &[seat, at(0.85, 1.55)], tube * 0.8)
            .path(tyre, &[at(0.55, 1.6), at(1.1, 1.57)], tube * 1.4)
            .path(tyre, &[head, at(2.36, 1.62), at(2.75, 1.75)], tube * 0.9)
    }
}

fn rgb(color: u32) -> Rgb<u8> {
    let [_, red, green, blue] = color.to_be_bytes();
    Rgb([red, green, blue])
}

fn mixed(one: Rgb<u8>, other: Rgb<u8>, share: f64) -> Rgb<u8> {
    let part = |n: usize| {
        let (one, other) = (f64::from(one.0[n]), f64::from(other.0[n]));
        (one + (other - one) * share + 0.5) as u8
    };
    Rgb([part(0), part(1), part(2)])
}

fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

fn drawn(name: &str) -> Canvas {
    match name {
        "sehle-valley.png" => Canvas::new(0xa9dbf0, 0xfff3d6)
            .disc(0xffd166, (640.0, 90.0), 42.0)
            .disc(0xa8cfae, (150.0, 620.0), 400.0)
            .disc(0x8cbf97, (620.0, 700.0), 470.0)
            .path(
                0x6fb9dc,
                &[(372.0, 312.0), (450.0, 335.0), (410.0, 365.0), (560.0, 405.0), (600.0, 470.0)],
                26.0,
            )
            .disc(0x4f8a5b, (140.0, 900.0), 530.0)
            .bicycle([0xb5452c, 0x2b2b2b], (95.0, 336.0), 34.0),
        "city-bike.png" => Canvas::new(0xf9e3a8, 0xf2cf73)
            .path(0xa98d68, &[(-60.0, 430.0), (860.0, 430.0)], 90.0)
            .path(0x8c7250, &[(-60.0, 389.0), (860.0, 389.0)], 6.0)
            .bicycle([0xb5452c, 0x2b2b2b], (220.0, 300.0), 115.0),
        "evening-tour.png" => Canvas::new(0x2b2d5b, 0xf28f5b)
            .disc(0xffd9a0, (420.0, 300.0), 95.0)
            .disc(0x6b4569, (720.0, 700.0), 400.0)
            .disc(0x4a3355, (60.0, 760.0), 450.0)
            .disc(0x1b1726, (420.0, 1560.0), 1190.0)
            .bicycle([0x1b1726, 0x1b1726], (280.0, 346.0), 30.0)
            .bicycle([0x1b1726, 0x1b1726], (450.0, 344.0), 30.0),
        "truing-stand.png" => {
            let wall = Canvas::new(0x3d566e, 0x263849)
                .path(0x7b4f2e, &[(-60.0, 430.0), (860.0, 430.0)], 60.0)
                .ring(0x16202a, (400.0, 205.0), 172.0, 20.0)
                .ring(0xc9d1d9, (400.0, 205.0), 155.0, 8.0);
            let spoke = |canvas: Canvas, (x, y): Point| {
                let end = |far: f64| (400.0 + x * far, 205.0 + y * far);
                canvas.line(0xdfe5ea, end(-152.0), end(152.0), 2.5)
            };
            SPOKES
                .into_iter()
                .fold(wall, spoke)
                .disc(0xc9d1d9, (400.0, 205.0), 22.0)
                .path(0xb5452c, &[(340.0, 400.0), (382.0, 205.0)], 18.0)
                .path(0xb5452c, &[(460.0, 400.0), (418.0, 205.0)], 18.0)
                .path(0xb5452c, &[(300.0, 400.0), (500.0, 400.0)], 22.0)
        }
        "coffee.png" => Canvas::new(0xf6e9d8, 0xe3c7a4)
            .path(0x7b4f2e, &[(-60.0, 400.0), (860.0, 400.0)], 110.0)
            .path(0xd9cfc2, &[(290.0, 342.0), (510.0, 342.0)], 20.0)
            .ring(0xffffff, (500.0, 255.0), 40.0, 18.0)
            .path(0xffffff, &[(370.0, 230.0), (430.0, 230.0)], 140.0)
            .path(0xffffff, &[(380.0, 270.0), (420.0, 270.0)], 140.0)
            .path(0x5b3a22, &[(345.0, 185.0), (455.0, 185.0)], 26.0)
            .path(0xffffff, &[(360.0, 140.0), (350.0, 110.0), (364.0, 80.0)], 8.0)
            .path(0xffffff, &[(400.0, 140.0), (390.0, 100.0), (404.0, 60.0)], 8.0)
            .path(0xffffff, &[(440.0, 140.0), (430.0, 110.0), (444.0, 80.0)], 8.0),
        "town-map.png" => Canvas::new(0xefe8d8, 0xefe8d8)
            .disc(0xc9dfb4, (620.0, 110.0), 90.0)
            .disc(0xc9dfb4, (150.0, 360.0), 70.0)
            .path(0x9ccbe8, &[(-30.0, 90.0), (220.0, 190.0), (420.0, 260.0), (830.0, 300.0)], 46.0)
            .path(0xffffff, &[(-20.0, 250.0), (300.0, 330.0), (820.0, 400.0)], 16.0)
            .path(0xffffff, &[(300.0, 470.0), (300.0, 330.0), (350.0, 150.0), (330.0, -20.0)], 16.0)
            .path(0xffffff, &[(350.0, 150.0), (560.0, 190.0), (820.0, 150.0)], 10.0)
            .path(0xffffff, &[(560.0, 470.0), (520.0, 300.0), (560.0, 190.0)], 10.0)
            .path(0xb5452c, &[(432.0, 232.0), (432.0, 180.0)], 10.0)
            .disc(0xb5452c, (432.0, 170.0), 30.0)
            .disc(0xffffff, (432.0, 170.0), 12.0),
        other => panic!("nobody draws {other}"),
    }
}

#[test]
fn pictures_are_as_they_are_drawn() {
    let mut bytes = 0;
    for picture in &PICTURES {
        let (name, Canvas(drawn)) = (picture.name, drawn(picture.name));
        if std::env::var_os("CMS_WRITE_DOCS").is_some() {
            let file = format!("{}/demo/pictures/{name}", env!("CARGO_MANIFEST_DIR"));
            let file = std::fs::File::create(file).expect("a file");
            let best = PngEncoder::new_with_quality(file, Best, FilterType::NoFilter);
            drawn.write_with_encoder(best).expect("written");
            continue;
        }
        let kept = image::load_from_memory(picture.content).expect("a picture").to_rgb8();
        assert!(kept == drawn, "{name} is old: CMS_WRITE_DOCS=1 cargo test -p cms-cli pictures");
        bytes += picture.content.len();
    }
    assert!(bytes < 100 << 10, "{bytes} bytes in every program");
}
