import type { Facts } from './verbs.ts'

/* The one document of the page. It holds no script and no style of its own, so that the policy can forbid both. */

/** Returns the document. `base` is the path of the page, which its addresses are relative to. */
export function pageDocument(facts: Facts, base: string): string {
  const title = facts.title === undefined ? 'undertext' : `${facts.title} · undertext`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${escaped(title)}</title>
<base href="${escaped(base)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" type="image/svg+xml" href="icon.svg">
<link rel="stylesheet" href="app.css">
<script type="application/json" id="facts">${jsonForHtml(facts)}</script>
<script type="module" src="app.js"></script>
</head>
<body>
<div id="app"><header class="top"><a class="brand" href="#/">undertext</a></header><main id="main"><div class="skeleton" aria-busy="true" aria-label="Loading">${'<span></span>'.repeat(6)}</div></main></div>
<noscript><p>This page needs JavaScript. The commands of undertext show the same: <code>undertext --help</code>.</p></noscript>
</body>
</html>
`
}

const ENTITIES: { readonly [character: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Returns a text as it is written in HTML, in an element or an attribute. */
export function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character]!)
}

/** Returns JSON in which nothing can end the element around it. */
function jsonForHtml(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
