// Sixty selectors and whether each outlives the purge; `.ci/purgecss` runs this.
import { readFileSync } from 'node:fs'
import { PurgeCSS } from 'purgecss'
import safelist from './safelist.mjs'

const texts = JSON.parse(readFileSync(new URL('./safelist.json', import.meta.url), 'utf8'))
for (const [name, patterns] of Object.entries(safelist)) {
  const sources = patterns.map((pattern) => pattern.source)
  if (JSON.stringify(sources) !== JSON.stringify(texts[name])) throw new Error(`${name} differs`)
  for (const source of sources) for (const flag of ['', 'u', 'v']) new RegExp(source, flag)
}

const kept = [
  '.found', '#found-id', '.btn-x', '.btn-primary:hover', '.found .btn-x', '.btn-a.btn-b', '.card',
  '.card-title', '.cards', '.found > .card', '.btn-x::after', '.swiper', '.my-swiper', '.swiper-slide',
  '.unknown .swiper', '.swiper .unknown', '.md\\:swiper', '.a-swiper-b .c', '.prose',
  '.prose .unknown', '.prose > .unknown .deeper', '.prose-lg .unknown', '.found .prose .unknown',
  '.prose table td', '.md\\:x\\/y .unknown', 'table', 'table td', 'blockquote', 'h1', 'ul li', 'a',
  '.found table', 'html', 'body', '#__nuxt', '.nuxt-icon', '.router-link-active',
  '.router-link-exact-active', '.page-enter-active', '.page-leave-to', '.list-move', '.found[data-v-1a2b]',
  '.align-center', '.align-left', '.level-h2', '.found .align-right',
]
const purged = [
  '.unknown', '.unknown .btn-x', '.xbtn-x', '.my-card', '.md\\:btn-x', '.unknown .card', '.unknown .prose',
  '.my-prose', '.align-centre', '.align-centered', '.unknown table', 'video', '.page-entering', '.x-align-left',
  '#unknown', 'svg.unknown', '.unknown > .btn-x', '.unknown .prose .deeper',
]
const css = [...kept, ...purged].map((selector) => `${selector} { color: red }`).join('\n')
const content = [{ raw: '<p class="found" id="found-id"></p>', extension: 'html' }]
const [result] = await new PurgeCSS().purge({ content, css: [{ raw: css }], safelist })
const left = new Set(result.css.split('\n').map((line) => line.replace(/ \{.*/, '')).filter(Boolean))
const lost = kept.filter((selector) => !left.has(selector))
const stayed = purged.filter((selector) => left.has(selector))
if (lost.length || stayed.length) {
  console.error({ lost, stayed })
  process.exit(1)
}
console.log(`${kept.length} selectors kept, ${purged.length} purged, as they should be`)
