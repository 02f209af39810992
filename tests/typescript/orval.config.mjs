export default {
  cms: { input: './openapi.json', output: { target: './generated/orval/cms.ts', client: 'fetch' } },
}
