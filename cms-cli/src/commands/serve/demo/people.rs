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

const fn of([source, medium, campaign, term, referer]: [&'static str; 5], stays: u64) -> Source {
    Source { source, medium, campaign, term, referer, stays }
}

const GOOGLE: &str = "https://www.google.com/";

/// The percentage of visitors, and the source that brings them; its members in the order above.
pub(super) const SOURCES: [(u64, Source); 7] = [
    (22, of(["", "", "", "", ""], 20)),
    (26, of(["", "", "", "", GOOGLE], 25)),
    (17, of(["google", "cpc", "fleet-autumn", "company bicycle lease", GOOGLE], 5)),
    (14, of(["newsletter", "email", "october", "", ""], 60)),
    (12, of(["linkedin", "social", "fleet-autumn", "", "https://www.linkedin.com/"], 0)),
    (6, of(["cycling-association", "referral", "", "", "https://association.example/members"], 50)),
    (3, of(["fair", "qr", "trade-fair", "", ""], 40)),
];

/// The names in a list of names.
pub(super) fn names(list: &'static str) -> Vec<&'static str> {
    list.split(", ").collect()
}

pub(super) const FIRST: &str = "\
    Ada, Ahmet, Anna, Bernd, Birgit, Carla, Daniel, Elif, Emma, Felix, Franziska, Georg, Hanna, \
    Ines, Jonas, Katrin, Lena, Lukas, Marie, Murat, Nina, Olga, Paul, Rosa, Sabine, Stefan, \
    Thomas, Ulrike";

pub(super) const LAST: &str = "\
    Bauer, Becker, Berg, Braun, Demir, Fischer, Gruber, Hoffmann, Huber, Jansen, Keller, Koch, \
    Krüger, Lang, Maier, Möller, Novak, Peters, Richter, Roth, Schäfer, Schmid, Schulz, Vogel, \
    Wagner, Weber, Wolf, Yilmaz";

/// Invented names: the first word of each makes an e-mail domain.
pub(super) const COMPANIES: &str = "\
    Alpenblick Hotels, Anker Logistics, Birkenhof Care, Blaufeld Software, Deichgraf Energy, \
    Eichenwerk Furniture, Falken Insurance, Fjordline Travel, Granit Building, Hafenstadt Media, \
    Hellweg Textiles, Isarwerk Design, Kastanie Bakeries, Kiesel Concrete, Kornblume Foods, \
    Leuchtturm Publishers, Lindenthal Clinic, Marktplatz Services, Morgenrot Solar, \
    Nordlicht Consulting, Pfeiler Engineering, Quelle Water, Rheinbogen Advisors, \
    Seestern Pharmacy, Silberpfeil Couriers, Steinbock Outdoor, Talblick School, \
    Uferweg Catering, Weitblick Research, Zeder Gardens";

/// The code of each city, and the first of a thousand numbers there that belong to nobody.
pub(super) const CITIES: [(&str, i64); 4] =
    [("030", 23_125_000), ("040", 66_969_000), ("069", 90_009_000), ("0221", 4_710_000)];
