/** The files of the page, as texts. */
export type PageFiles = { readonly script: string; readonly style: string; readonly icon: string }

type PageModule = { bundlePage(): Promise<{ readonly files: PageFiles }> }

/**
 * Returns the files of the page. In the package, the build replaces this module with one that holds the files (scripts/page.mjs); in the
 * repository, they are bundled from their source.
 */
export async function pageFiles(): Promise<PageFiles> {
  // Not a literal, so that bundlers don't follow it.
  const script = new URL('../../scripts/page.mjs', import.meta.url).href
  const { bundlePage } = (await import(script)) as PageModule
  return (await bundlePage()).files
}
