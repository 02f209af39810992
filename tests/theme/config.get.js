// What a built server knows of the theme's variables; `.ci/theme` asks for it.
export default defineEventHandler((event) => {
  const { apiKey, public: { apiBase, siteUrl, theme } } = useRuntimeConfig(event)
  return { apiKey, apiBase, siteUrl, theme }
})
