// The document shows what its reader may call: it is read with the credential that was entered,
// and again whenever that changes.

function credential(system) {
  const entered = system.authSelectors.authorized().toJS();
  const headers = {};
  if (entered.ApiKey) headers["X-Api-Key"] = entered.ApiKey.value;
  if (entered.Session) headers.Authorization = `Bearer ${entered.Session.value}`;
  return headers;
}

const readAgain = (original, system) => (entered) => {
  const done = original(entered);
  system.specActions.download(system.specSelectors.url());
  return done;
};

// Undefined while the document is read for the first time.
let viewer;
viewer = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#shown",
  deepLinking: true,
  filter: true,
  validatorUrl: null,
  plugins: [
    { statePlugins: { auth: { wrapActions: { authorize: readAgain, logout: readAgain } } } },
  ],
  requestInterceptor(request) {
    if (request.loadSpec && viewer) {
      Object.assign(request.headers, credential(viewer.getSystem()));
    }
    return request;
  },
});
