// The same twenty calls, as the client that orval generates makes them.
import assert from 'node:assert/strict'
import * as cms from './generated/orval/cms'

const [baseUrl, key] = process.argv.slice(2)
const as = { headers: { 'X-Api-Key': key } }
// The paths that it calls begin with a slash.
const plain = globalThis.fetch
globalThis.fetch = (path, init) => plain(`${baseUrl}${path}`, init)

const settings = await cms.getSettings(as)
assert.ok(settings.status === 200 && typeof settings.data.data === 'object')
const pages = await cms.getPages({ limit: 2 }, as)
assert.ok(pages.status === 200 && pages.data.data.length === 2)
const home = await cms.getPagesOne({ url: '/' }, as)
assert.ok(home.status === 200 && !('redirect' in home.data.data) && home.data.data.title.length > 0)
const menu = await cms.getMenu({ name: 'main' }, as)
assert.ok(menu.status === 200 && menu.data.data.every((item) => item.title.length > 0))

const contains = { 'filter[title][contains]': 'chain', limit: 5, count: true }
const found = await cms.getBackendItemBlog(contains, as)
assert.ok(found.status === 200 && found.data.meta.total === found.data.data.length)
const posts = await cms.getBackendItemBlog({ 'filter[published][eq]': true }, as)
assert.ok(posts.status === 200 && posts.data.data.every((post) => post.published === true))
const post = await cms.getBackendItemBlogId(1, { expand: 'author_id' }, as)
assert.ok(post.status === 200)
const author = post.data.data.author_id
assert.ok(author !== null && typeof author === 'object' && author.name.length > 0)

const bell = { name: 'Bell', price: 9.9, kind: 'part' } as const
const made = await cms.postBackendItemProducts(bell, undefined, as)
assert.ok(made.status === 201 && made.data.data.on_sale === true)
const { id } = made.data.data
const body = { price: 10.5, on_sale: false }
const changed = await cms.patchBackendItemProductsId(id, body, as)
assert.ok(changed.status === 200 && changed.data.data.price === 10.5)
const bikes = await cms.getBackendItemProducts({ 'filter[price][gte]': 500 }, as)
assert.ok(bikes.status === 200 && bikes.data.data.every((one) => one.price >= 500))
assert.equal((await cms.deleteBackendItemProductsId(id, as)).status, 204)

const right = { endpoint: '/api/pages', methods: ['GET'] }
const created = await cms.postBackendKeys({ name: 'typed', rights: [right] }, as)
assert.ok(created.status === 201 && created.data.data.key.startsWith('cms_'))
const own = created.data.data.id
const keys = await cms.getBackendKeys({ limit: 100 }, as)
assert.ok(keys.status === 200 && keys.data.data.some((one) => one.id === own))
const renamed = await cms.patchBackendKeysId(own, { active: false }, as)
assert.ok(renamed.status === 200 && renamed.data.data.active === false)
const rotated = await cms.postBackendKeysRotate({ id: own }, { grace_s: 60 }, as)
assert.ok(rotated.status === 200 && rotated.data.data.key !== created.data.data.key)
assert.equal((await cms.deleteBackendKeysId(own, as)).status, 204)

const funnels = await cms.getBackendFormfunnelList(undefined, as)
assert.ok(funnels.status === 200 && funnels.data.data[0].slug === 'company-bicycles')
const funnel = await cms.getBackendFormfunnelGetId('company-bicycles', as)
assert.ok(funnel.status === 200 && funnel.data.data.nodes.length > 1)
const event = await cms.getBackendWebhooksEventsName('page.published', as)
assert.ok(event.status === 200 && event.data.data.event_name === 'page.published')
const visit = await cms.postFormfunnelStart({ funnel_id: 'company-bicycles' })
assert.ok(visit.status === 201 && visit.data.session_uuid.length > 0)

console.log('orval: 20 calls answered')
