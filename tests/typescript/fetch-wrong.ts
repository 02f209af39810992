// Twenty calls that are wrong: the compiler refuses each, or says that it does not.
import createClient from 'openapi-fetch'
import type { paths } from './schema'

const cms = createClient<paths>()

export async function wrong() {
  // @ts-expect-error There is no such table.
  await cms.GET('/api/backend/item/blogs')
  // @ts-expect-error A list is read.
  await cms.POST('/api/backend/formfunnel/list')
  // @ts-expect-error Which one is not said.
  await cms.GET('/api/backend/item/blog/{id}')
  // @ts-expect-error An id is a number.
  await cms.GET('/api/backend/item/blog/{id}', { params: { path: { id: 'first' } } })
  // @ts-expect-error A product has a price.
  await cms.POST('/api/backend/item/products', { body: { name: 'Bell', kind: 'part' } })
  // @ts-expect-error A product is a bike, a part or a service.
  await cms.POST('/api/backend/item/products', { body: { name: 'A', price: 1, kind: 'boat' } })
  // @ts-expect-error A price is a number.
  await cms.POST('/api/backend/item/products', { body: { name: 'A', price: '1', kind: 'part' } })
  // @ts-expect-error A name is not null.
  await cms.POST('/api/backend/item/products', { body: { name: null, price: 1, kind: 'part' } })
  // @ts-expect-error A price is compared with a number.
  await cms.GET('/api/backend/item/products', { params: { query: { 'filter[price][gte]': 'x' } } })
  // @ts-expect-error A limit is a number.
  await cms.GET('/api/backend/item/products', { params: { query: { limit: 'ten' } } })
  const list = await cms.GET('/api/backend/item/blog')
  // @ts-expect-error It may have been refused.
  list.data.meta.limit
  // @ts-expect-error A post has no such column.
  list.data?.data[0].tilte
  // @ts-expect-error A teaser may be null.
  list.data?.data[0].teaser.length
  // @ts-expect-error A page of a list is no record.
  list.data?.data.title
  // @ts-expect-error Whether to count is true or false.
  await cms.GET('/api/backend/item/blog', { params: { query: { count: 'yes' } } })
  // @ts-expect-error Which key is not said.
  await cms.POST('/api/backend/keys/rotate', { body: { grace_s: 60 } })
  // @ts-expect-error A new key has a name.
  await cms.POST('/api/backend/keys', { body: { rights: [] } })
  // @ts-expect-error Whether it is on sale is true or false.
  await cms.PATCH('/api/backend/item/products/{id}', { params: { path: { id: 1 } }, body: { on_sale: 'yes' } })
  // @ts-expect-error A step belongs to a session.
  await cms.POST('/api/formfunnel/step', { body: { answers: {} } })
  // @ts-expect-error A key is not changed as a whole list.
  await cms.PATCH('/api/backend/keys', { body: { active: false } })
}
