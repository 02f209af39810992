//! The names of the built-in widgets.

/// The names follow the documented list of groups, in its order. A group with names in
/// parentheses has these widgets; any other group is one widget of its own name: 6 + 11 + 1 + 2 +
/// 1 + 1 + 8 + 7 + 2 + 3 are 42. The widgets of the shop system have a prefix, because the shop
/// has a checkout too.
pub(crate) const BUILT_IN_WIDGETS: [&str; 42] = [
    "title", "html", "image", "footer_links", "social_footer", "pagebuilder_element", "spacer",
    "button", "imageButton", "imageOverlayText", "titleBanner", "titleBannerElement", "infoBoxes",
    "uspIconList", "instagramJourney", "locationMap", "jobs", "gallery", "blog", "blogpreview",
    "newsletter", "productListing", "productTeaser", "categoryBannerNoLink", "newReleasesNoLink",
    "user", "shop", "checkout", "abobutton", "calendar", "shopsystemProductListing",
    "shopsystemProductDetail", "shopsystemCart", "shopsystemCheckout", "shopsystemUserAccount",
    "shopsystemCategoryTeaser", "shopsystemSearchBar", "elasticsearch", "searchbar", "elearning",
    "exhibition", "form",
];

/// Whether a built-in widget has this name.
pub(super) fn is_built_in(name: &str) -> bool {
    BUILT_IN_WIDGETS.contains(&name)
}
