// Twenty calls that are wrong, as the client that orval generates makes them.
import * as cms from './generated/orval/cms'

export async function wrong() {
  // @ts-expect-error There is no such table.
  await cms.getBackendItemBlogs()
  // @ts-expect-error A list is read.
  await cms.postBackendFormfunnelList()
  // @ts-expect-error Which one is not said.
  await cms.getBackendItemBlogId()
  // @ts-expect-error An id is a number.
  await cms.getBackendItemBlogId('first')
  // @ts-expect-error A product has a price.
  await cms.postBackendItemProducts({ name: 'Bell', kind: 'part' })
  // @ts-expect-error A product is a bike, a part or a service.
  await cms.postBackendItemProducts({ name: 'A', price: 1, kind: 'boat' })
  // @ts-expect-error A price is a number.
  await cms.postBackendItemProducts({ name: 'A', price: '1', kind: 'part' })
  // @ts-expect-error A name is not null.
  await cms.postBackendItemProducts({ name: null, price: 1, kind: 'part' })
  // @ts-expect-error A product has no colour.
  await cms.postBackendItemProducts({ name: 'A', price: 1, kind: 'part', colour: 'red' })
  // @ts-expect-error A price is compared with a number.
  await cms.getBackendItemProducts({ 'filter[price][gte]': 'cheap' })
  // @ts-expect-error A limit is a number.
  await cms.getBackendItemProducts({ limit: 'ten' })
  // @ts-expect-error A parameter is misspelt.
  await cms.getBackendItemProducts({ limt: 10 })
  const list = await cms.getBackendItemBlog()
  // @ts-expect-error It may have been refused.
  list.data.meta.limit
  if (list.status !== 200) return
  // @ts-expect-error A post has no such column.
  list.data.data[0].tilte
  // @ts-expect-error A teaser may be null.
  list.data.data[0].teaser.length
  // @ts-expect-error A page of a list is no record.
  list.data.data.title
  // @ts-expect-error Which key is not said.
  await cms.postBackendKeysRotate()
  // @ts-expect-error A new key has a name.
  await cms.postBackendKeys({ rights: [] })
  // @ts-expect-error A visit is of a funnel.
  await cms.postFormfunnelStart({})
  // @ts-expect-error A key is changed by its id.
  await cms.patchBackendKeys({ active: false })
}
