//! Visitors of the demo's funnel, and where they come from.

/// Where visitors come from.
pub(super) struct Source {
    pub(super) source: &'static str,
    pub(super) medium: &'static str,
    pub(super) campaign: &'static str,
    pub(super) term: &'static str,
    pub(super) referer: &'static str,
    /// The percentage of visitors from here who stay where others would leave.
    pub(super) stays: u64,
}

const NOTHING: Source =
    Source { source: "", medium: "", campaign: "", term: "", referer: "", stays: 20 };

/// Each source with the percentage of visitors that it brings.
pub(super) const SOURCES: [(u64, Source); 7] = [
    (22, NOTHING),
    (26, Source { referer: "https://www.google.com/", stays: 25, ..NOTHING }),
    (
        17,
        Source {
            source: "google",
            medium: "cpc",
            campaign: "fleet-autumn",
            term: "company bicycle lease",
            referer: "https://www.google.com/",
            stays: 5,
        },
    ),
    (
        14,
        Source { source: "newsletter", medium: "email", campaign: "october", stays: 60, ..NOTHING },
    ),
    (
        12,
        Source {
            source: "linkedin",
            medium: "social",
            campaign: "fleet-autumn",
            referer: "https://www.linkedin.com/",
            stays: 0,
            ..NOTHING
        },
    ),
    (
        6,
        Source {
            source: "cycling-association",
            medium: "referral",
            referer: "https://association.example/members",
            stays: 50,
            ..NOTHING
        },
    ),
    (3, Source { source: "fair", medium: "qr", campaign: "trade-fair", stays: 40, ..NOTHING }),
];

pub(super) const FIRST: [&str; 28] = [
    "Ada",
    "Ahmet",
    "Anna",
    "Bernd",
    "Birgit",
    "Carla",
    "Daniel",
    "Elif",
    "Emma",
    "Felix",
    "Franziska",
    "Georg",
    "Hanna",
    "Ines",
    "Jonas",
    "Katrin",
    "Lena",
    "Lukas",
    "Marie",
    "Murat",
    "Nina",
    "Olga",
    "Paul",
    "Rosa",
    "Sabine",
    "Stefan",
    "Thomas",
    "Ulrike",
];

pub(super) const LAST: [&str; 28] = [
    "Bauer", "Becker", "Berg", "Braun", "Demir", "Fischer", "Gruber", "Hoffmann", "Huber",
    "Jansen", "Keller", "Koch", "Krüger", "Lang", "Maier", "Möller", "Novak", "Peters", "Richter",
    "Roth", "Schäfer", "Schmid", "Schulz", "Vogel", "Wagner", "Weber", "Wolf", "Yilmaz",
];

/// Invented names: the first word of each makes an e-mail domain.
pub(super) const COMPANIES: [&str; 30] = [
    "Alpenblick Hotels",
    "Anker Logistics",
    "Birkenhof Care",
    "Blaufeld Software",
    "Deichgraf Energy",
    "Eichenwerk Furniture",
    "Falken Insurance",
    "Fjordline Travel",
    "Granit Building",
    "Hafenstadt Media",
    "Hellweg Textiles",
    "Isarwerk Design",
    "Kastanie Bakeries",
    "Kiesel Concrete",
    "Kornblume Foods",
    "Leuchtturm Publishers",
    "Lindenthal Clinic",
    "Marktplatz Services",
    "Morgenrot Solar",
    "Nordlicht Consulting",
    "Pfeiler Engineering",
    "Quelle Water",
    "Rheinbogen Advisors",
    "Seestern Pharmacy",
    "Silberpfeil Couriers",
    "Steinbock Outdoor",
    "Talblick School",
    "Uferweg Catering",
    "Weitblick Research",
    "Zeder Gardens",
];

/// The code of each city, and the first of a thousand numbers there that belong to nobody.
pub(super) const CITIES: [(&str, i64); 4] =
    [("030", 23_125_000), ("040", 66_969_000), ("069", 90_009_000), ("0221", 4_710_000)];
