import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type DefaultTheme, defineConfig } from 'vitepress'

/*
 * The site of the documentation: `npm run docs` writes it to docs/.vitepress/dist, with a search that needs no server, the reference
 * that typedoc makes of the docstrings, and llms.txt for agents. docs/README.md decides which guides there are and in which order.
 */

const ROOT = join(import.meta.dirname, '..', '..')
const { description } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  description: string
}

type Guide = { readonly title: string; readonly path: string; readonly about: string }
type Section = { readonly title: string; readonly guides: readonly Guide[] }

/** The sections of docs/README.md: each row of their tables is a guide and what it is about. */
const sections: readonly Section[] = readFileSync(join(ROOT, 'docs', 'README.md'), 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((section) => ({
    title: section.split('\n', 1)[0]!,
    guides: [...section.matchAll(/^\| \[([^\]]+)\]\(([\w-]+\.md)\) \| (.+) \|$/gm)].map(
      ([, title, file, about]) => ({ title: title!, path: `docs/${file}`, about: about! }),
    ),
  }))

/** Notes of the development are on the site, because ARCHITECTURE.md links to them, but a search does not find them. */
const isGuide = (path: string): boolean => !path.startsWith('docs/internals/') && path !== 'CHANGELOG.md'

/** An index of the guides, and all of them in one text (llmstxt.org), with the Markdown that the index links to. */
function writeForAgents(folder: string): void {
  const index = sections.map(({ title, guides }) => {
    const lines = guides.map((guide) => `- [${guide.title}](${guide.path}): ${guide.about}`)
    return `## ${title}\n\n${lines.join('\n')}\n`
  })
  writeFileSync(join(folder, 'llms.txt'), `# undertext\n\n> ${description}\n\n${index.join('\n')}`)
  const paths = ['README.md', ...sections.flatMap(({ guides }) => guides.map(({ path }) => path))]
  const texts = paths.map((path) => [path, readFileSync(join(ROOT, path), 'utf8')] as const)
  for (const [path, text] of texts) writeFileSync(join(folder, path), text)
  writeFileSync(join(folder, 'llms-full.txt'), texts.map(([, text]) => text).join('\n\n'))
}

/** The entries of the package, as typedoc lists them; none before `npm run reference`. */
function referencePages(): DefaultTheme.SidebarItem[] {
  const path = join(import.meta.dirname, '..', 'reference', 'README.md')
  return [...readFileSync(path, 'utf8').matchAll(/\[(.+)\]\((.+\.md)\)/g)].map(([, text, file]) => ({
    text: text!,
    link: `/docs/reference/${file}`,
  }))
}

export default defineConfig({
  title: 'undertext',
  description,
  srcDir: '..',
  srcExclude: ['**/{src,test,bench,examples,migrations,dist}/**'],
  rewrites: {
    'README.md': 'index.md',
    'docs/README.md': 'docs/index.md',
    'docs/reference/README.md': 'docs/reference/index.md',
  },
  ignoreDeadLinks: [/\/postgres-(?:roles|owners)\.sql$/],
  cleanUrls: true,
  markdown: {
    // `<path>` in a docstring is a text; the anchors and line breaks of the reference are HTML.
    config: ({ renderer, utils }) => {
      renderer.rules.html_inline = (tokens, at) => {
        const html = tokens[at]!.content
        return /^<\/?(?:a|br)\b/.test(html) ? html : utils.escapeHtml(html)
      }
    },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: { _render: (text, env, md) => (isGuide(env.relativePath) ? md.render(text, env) : '') },
    },
    outline: [2, 3],
    nav: [
      { text: 'Guides', link: '/docs/' },
      { text: 'Reference', link: '/docs/reference/' },
    ],
    sidebar: [
      ...sections.map(({ title, guides }) => ({
        text: title,
        items: guides.map(({ title: text, path }) => ({ text, link: `/${path}` })),
      })),
      { text: 'Reference', collapsed: true, items: referencePages() },
    ],
  },
  buildEnd: ({ outDir }) => {
    writeForAgents(outDir)
    copyFileSync(join(ROOT, 'docs', 'postgres-roles.sql'), join(outDir, 'docs', 'postgres-roles.sql'))
  },
})
