//! Every command has a help text, and prints only JSON with `--json`.

use std::collections::BTreeSet;

use crate::{
    leaves::{ORDINARY, OTHERS, tree},
    support::{cms_with, site},
};

#[test]
fn every_leaf_prints_json() {
    let dir = site();
    let known: BTreeSet<String> =
        ORDINARY.iter().chain(OTHERS).map(|(leaf, ..)| (*leaf).to_owned()).collect();
    assert_eq!(tree(dir.path()), known);
    for (leaf, args, input) in ORDINARY {
        let args: Vec<&str> =
            leaf.split(' ').chain(args.iter().copied()).chain(["--json"]).collect();
        let json = cms_with(dir.path(), &args, input).json();
        assert!(!json["data"].is_null(), "{leaf}: {json}");
    }
}
