// The same twenty calls, as the client that hey-api generates makes them.
import assert from 'node:assert/strict'
import * as cms from './generated/hey'
import { client } from './generated/hey/client.gen'

const [baseUrl, key] = process.argv.slice(2)
client.setConfig({ baseUrl, headers: { 'X-Api-Key': key }, throwOnError: true })

const always = { throwOnError: true } as const
const settings = (await cms.getSettings(always)).data.data
assert.equal(typeof settings, 'object')
const pages = (await cms.getPages({ query: { limit: 2 }, ...always })).data
assert.equal(pages.data.length, 2)
const home = (await cms.getPagesOne({ query: { url: '/' }, ...always })).data.data
assert.ok(!('redirect' in home) && home.title.length > 0 && home.rows.length > 0)
const menu = (await cms.getMenu({ query: { name: 'main' }, ...always })).data.data
assert.ok(menu.every((item) => item.title.length > 0))

const contains = { 'filter[title][contains]': 'chain', limit: 5, count: true }
const found = (await cms.getBackendItemBlog({ query: contains, ...always })).data
assert.equal(found.meta.total, found.data.length)
const published = { 'filter[published][eq]': true, sort: '-published_at' }
const posts = (await cms.getBackendItemBlog({ query: published, ...always })).data.data
assert.ok(posts.every((post) => post.published === true && post.slug.length > 0))
const post = (await cms.getBackendItemBlogId({
  path: { id: 1 }, query: { expand: 'author_id' }, ...always,
})).data.data
const author = post.author_id
assert.ok(author !== null && typeof author === 'object' && author.name.length > 0)

const bell = { name: 'Bell', price: 9.9, kind: 'part' } as const
const made = (await cms.postBackendItemProducts({ body: bell, ...always })).data.data
assert.equal(made.on_sale, true)
const changed = (await cms.patchBackendItemProductsId({
  path: { id: made.id }, body: { price: 10.5, on_sale: false }, ...always,
})).data.data
assert.equal(changed.price, 10.5)
const dear = { 'filter[price][gte]': 500, 'filter[kind][eq]': 'bike' }
const bikes = (await cms.getBackendItemProducts({ query: dear, ...always })).data.data
assert.ok(bikes.length > 0 && bikes.every((one) => one.price >= 500))
const removed = await cms.deleteBackendItemProductsId({ path: { id: made.id }, ...always })
assert.equal(removed.response.status, 204)

const right = { endpoint: '/api/pages', methods: ['GET'] }
const created = (await cms.postBackendKeys({
  body: { name: 'typed', rights: [right] }, ...always,
})).data.data
assert.match(created.key, /^cms_/)
const keys = (await cms.getBackendKeys({ query: { limit: 100 }, ...always })).data.data
assert.ok(keys.some((one) => one.id === created.id))
const renamed = (await cms.patchBackendKeysId({
  path: { id: created.id }, body: { active: false }, ...always,
})).data.data
assert.equal(renamed.active, false)
const rotated = (await cms.postBackendKeysRotate({
  query: { id: created.id }, body: { grace_s: 60 }, ...always,
})).data.data
assert.notEqual(rotated.key, created.key)
const gone = await cms.deleteBackendKeysId({ path: { id: created.id }, ...always })
assert.equal(gone.response.status, 204)

const funnels = (await cms.getBackendFormfunnelList(always)).data.data
assert.equal(funnels[0].slug, 'company-bicycles')
const funnel = (await cms.getBackendFormfunnelGetId({
  path: { id: 'company-bicycles' }, ...always,
})).data.data
assert.ok(funnel.nodes.length > 1)
const file = new File(['%PDF-1.4 typed %%EOF'], 'typed.pdf', { type: 'application/pdf' })
const uploaded = (await cms.postBackendMedia({ body: { file }, ...always })).data.data
assert.equal(uploaded.media_type, 'application/pdf')
const visit = (await cms.postFormfunnelStart({
  body: { funnel_id: 'company-bicycles' }, ...always,
})).data
assert.ok(visit.session_uuid.length > 0)

console.log('hey-api: 20 calls answered')
