import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { makePictures } from '../../../docs/pictures/make.ts'
import { PICTURES } from '../../../docs/pictures/scenes.ts'
import { hasTerminals } from './terminal.ts'

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'docs', 'pictures')

/* The pictures of docs/pictures, held to what the program shows now. After a change that is meant: `npm run pictures`. */
describe.skipIf(!(await hasTerminals()))('docs/pictures', () => {
  let made: ReadonlyMap<string, string>
  beforeAll(async () => {
    made = await makePictures()
  })

  it.each(PICTURES.map(({ name }) => `${name}.svg`))('%s is what the screen shows', (name) => {
    expect(textsIn(made.get(name)!)).toEqual(textsIn(readFileSync(join(FOLDER, name), 'utf8')))
    expect(made.get(name)).toBe(readFileSync(join(FOLDER, name), 'utf8'))
  })
})

/** What stands in a picture, piece by piece: a difference that people can read. */
function textsIn(svg: string): string[] {
  return [...svg.matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!)
}
