//! What the caller may do.

use cms_core::{Cms, Result, access};

use super::visit::{self, Visit, Way};
use crate::{
    caller::Caller,
    demand::{Demand, Named},
    request::Canonical,
    routes::{Declared, Route},
};

/// Whether the caller could act on some table: else there is no reason to read the body.
pub(super) fn may_act(visit: &Visit, caller: &Caller) -> bool {
    let names = |right: &access::Right| {
        right.endpoint == "*"
            || (right.endpoint == visit.request.path && right.methods.iter().any(|m| m == "POST"))
    };
    !matches!(caller, Caller::Key(key) if !key.rights.iter().any(names))
}

/// What a request demands that comes over the network.
pub(super) fn demand_of(declared: &Declared, request: &mut Canonical) -> Result<Demand> {
    declared.respell(request)?;
    Ok(demand(visit::route_of(request), request))
}

fn demand(route: Option<&'static Route>, request: &Canonical) -> Demand {
    Demand {
        route: route.map(|route| (route.path, route.access)),
        in_path: route.map_or_else(Vec::new, |route| route.parameters(&request.path)),
        body: Named::default(),
    }
}

/// Judges the caller, and returns by what: a change judges again. `body`: what an action names
/// in its body.
pub(super) fn judge(cms: &Cms, visit: &Visit, caller: &Caller, body: Named) -> Result<Demand> {
    let mut demand = demand(visit.route, &visit.request);
    demand.body = body;
    if visit.way != Way::Judged {
        return Ok(demand);
    }
    let outcome = demand.judge(cms, &visit.request, caller);
    if let Caller::Key(key) = caller {
        cms.keys().note_use(key.id, outcome.is_err());
        if outcome.is_err() {
            demand.as_key_call(&visit.request, |call| cms.keys().note_denied(key.id, call));
        }
    }
    outcome.map(|()| demand)
}
