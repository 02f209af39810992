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

const viewer = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#viewer",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
  plugins: [
    { statePlugins: { auth: { wrapActions: { authorize: readAgain, logout: readAgain } } } },
  ],
  requestInterceptor(request) {
    if (request.loadSpec && window.viewer) {
      Object.assign(request.headers, credential(window.viewer.getSystem()));
    }
    return request;
  },
});
window.viewer = viewer;
