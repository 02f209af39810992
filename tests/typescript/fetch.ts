// Twenty calls that are right, as openapi-fetch makes them: they compile, and the demo answers.
import assert from 'node:assert/strict'
import createClient from 'openapi-fetch'
import type { paths } from './schema'

const [baseUrl, key] = process.argv.slice(2)
const cms = createClient<paths>({ baseUrl, headers: { 'X-Api-Key': key } })

/** What was answered; a refusal ends the run with its words. */
function got<T>({ data, error }: { data?: T; error?: unknown }): T {
  assert.equal(error, undefined, JSON.stringify(error))
  return data as T
}

const settings = got(await cms.GET('/api/settings')).data
assert.equal(typeof settings, 'object')

const pages = got(await cms.GET('/api/pages', { params: { query: { limit: 2 } } }))
assert.equal(pages.data.length, 2)
assert.match(pages.data[0].url_rewrite, /^\//)

const home = got(await cms.GET('/api/pages/one', { params: { query: { url: '/' } } })).data
assert.ok(!('redirect' in home) && home.title.length > 0 && home.rows.length > 0)

const menu = got(await cms.GET('/api/menu', { params: { query: { name: 'main' } } })).data
assert.ok(menu.every((item) => item.title.length > 0))

const found = got(await cms.GET('/api/backend/item/blog', {
  params: { query: { 'filter[title][contains]': 'chain', limit: 5, count: true } },
}))
assert.equal(found.meta.total, found.data.length)

const published = got(await cms.GET('/api/backend/item/blog', {
  params: { query: { 'filter[published][eq]': true, sort: '-published_at' } },
})).data
assert.ok(published.every((post) => post.published === true && post.slug.length > 0))

const post = got(await cms.GET('/api/backend/item/blog/{id}', {
  params: { path: { id: 1 }, query: { expand: 'author_id' } },
})).data
const author = post.author_id
assert.ok(author !== null && typeof author === 'object' && author.name.length > 0)

const made = got(await cms.POST('/api/backend/item/products', {
  body: { name: 'Bell', price: 9.9, kind: 'part' },
})).data
assert.equal(made.on_sale, true)

const changed = got(await cms.PATCH('/api/backend/item/products/{id}', {
  params: { path: { id: made.id } },
  body: { price: 10.5, on_sale: false },
})).data
assert.equal(changed.price, 10.5)

const dear = got(await cms.GET('/api/backend/item/products', {
  params: { query: { 'filter[price][gte]': 500, 'filter[kind][eq]': 'bike' } },
})).data
assert.ok(dear.length > 0 && dear.every((one) => one.price >= 500))

const removed = await cms.DELETE('/api/backend/item/products/{id}', {
  params: { path: { id: made.id } },
})
assert.equal(removed.response.status, 204)

const created = got(await cms.POST('/api/backend/keys', {
  body: { name: 'typed', rights: [{ endpoint: '/api/pages', methods: ['GET'] }] },
})).data
assert.match(created.key, /^cms_/)

const keys = got(await cms.GET('/api/backend/keys', { params: { query: { limit: 100 } } })).data
assert.ok(keys.some((one) => one.id === created.id))

const renamed = got(await cms.PATCH('/api/backend/keys/{id}', {
  params: { path: { id: created.id } },
  body: { active: false },
})).data
assert.equal(renamed.active, false)

const rotated = got(await cms.POST('/api/backend/keys/rotate', {
  params: { query: { id: created.id } },
  body: { grace_s: 60 },
})).data
assert.notEqual(rotated.key, created.key)

const gone = await cms.DELETE('/api/backend/keys/{id}', { params: { path: { id: created.id } } })
assert.equal(gone.response.status, 204)

const funnels = got(await cms.GET('/api/backend/formfunnel/list')).data
assert.equal(funnels[0].slug, 'company-bicycles')

const funnel = got(await cms.GET('/api/backend/formfunnel/get/{id}', {
  params: { path: { id: 'company-bicycles' } },
})).data
assert.ok(funnel.nodes.length > 1)

const event = got(await cms.GET('/api/backend/webhooks/events/{name}', {
  params: { path: { name: 'page.published' } },
})).data
assert.equal(event.event_name, 'page.published')

const visit = got(await cms.POST('/api/formfunnel/start', {
  body: { funnel_id: 'company-bicycles' },
}))
assert.ok(visit.session_uuid.length > 0)

console.log('openapi-fetch: 20 calls answered')
