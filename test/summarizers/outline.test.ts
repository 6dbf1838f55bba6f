import { describe, expect, it } from 'vitest'
import {
  definedNames,
  readFile,
  readNames,
  writeFile,
  writeNames,
} from '../../src/summarizers/extractive/file-lines.ts'
import { filesIn, noFacts } from '../../src/summarizers/extractive/files.ts'
import { noOutline, readOutline } from '../../src/summarizers/extractive/outline.ts'
import { growth } from '../support/growth.ts'

/** The first line a file with this code gets, without its path and what was done to it. */
function told(code: string, path = 'x'): string {
  const file = { ...noFacts(path), reads: 1 }
  readOutline(code, file.outline)
  return writeFile(file)[0].replace(/^`[^`]+` — 1 read(?: — )?/, '')
}

function names(code: string): string {
  const file = { ...noFacts('x'), reads: 1 }
  readOutline(code, file.outline)
  return writeNames(file, 'x', new Set(definedNames(file.outline)))
}

describe('what a file defines', () => {
  it.each([
    [
      'TypeScript',
      `import type { Key } from './keys.ts'
export const MAX_LINES = 500
export interface Options {
  readonly width: number
  title?: string
}
export default class Tui extends Base<Options> {
  private lines: string[] = []
  async render(force = false): Promise<void> {
    if (force) this.queueRender()
  }
  stop() {
  }
}
export async function* walkTree(root: Node) {
}
const padTo = (text: string) => text
let local = 5`,
      'defines MAX_LINES = 500, interface Options (width, title), class Tui (lines, render, stop), walkTree, padTo, local = 5',
    ],
    [
      'Python',
      `from os import path
MAX_AGE = 30
class Store(Base):
    """A store."""
    def __init__(self, name):
        self.name = name
    async def load(self):
        def inner():
            pass
    @property
    def size(self):
        return 1
def open_store(name: str) -> Store:
    limit = 3`,
      'defines MAX_AGE = 30, class Store (__init__, load, size), open_store',
    ],
    [
      'Rust',
      `pub struct Budget {
    pub tokens: u32,
}
impl Budget {
    pub fn with_limit(tokens: u32) -> Self {
    }
    pub(crate) async fn spend(&mut self) {
    }
}
pub const fn half(n: u32) -> u32 { n / 2 }
static LIMIT: u32 = 40;`,
      'defines struct Budget (tokens, with_limit, spend), half, LIMIT = 40',
    ],
    [
      'Go',
      `package main
type Server struct {
	port int
}
func (s *Server) Listen(addr string) error {
}
func newServer() *Server {
}`,
      'defines type Server (Listen), newServer',
    ],
    [
      'Java',
      `public final class OrderService {
    private final Repository repository;
    public Order findOrder(String id) {
        return repository.find(id);
    }
}`,
      'defines class OrderService (repository, findOrder)',
    ],
    [
      'a shell',
      'set -e\nbuild_all() {\n  make\n}\nfunction clean {\n  rm -r out\n}',
      'defines build_all, clean',
    ],
    [
      'lines with numbers',
      '     1\tdef first_one():\n     2\t    pass\n    3\tdef second():',
      'defines first_one, second',
    ],
    [
      'Python that begins with a method, and locals in it',
      `class Cache:
    def __init__(self, size: int):
        self.size = size
        limit = 3
        oldest: int = 4
    def get(self, key):
        found = self.find(key)
        return found
    def set(self, key):
        pass`,
      'defines class Cache (__init__, get, set)',
    ],
    [
      'TypeScript with locals in methods',
      `export class Cache {
  get(key: string) {
    const found = 3
    if (found) return
  }
  const = 4
}`,
      'defines class Cache (get)',
    ],
    [
      'C',
      `#include <stdio.h>
static int count_words(const char *text)
{
    int words = 0;
    return printf("%d", words);
}
struct list *make_list(int size, int step) {
    if (size > 3) {
    }
}
int main(int argc, char **argv) {
}
void declared_only(void);
int parse_args(struct args *into,
               int count)
{
}`,
      'defines count_words, make_list, main, parse_args',
    ],
    [
      'C++',
      'class Widget {\n public:\n  void paint(int x);\n};\nvoid Widget::resize(int w) {\n  if (w) {\n  }\n}',
      'defines class Widget (paint, resize)',
    ],
    [
      'SQL',
      `CREATE TABLE orders (
  id INTEGER PRIMARY KEY
);
CREATE TABLE IF NOT EXISTS public.order_lines (id INTEGER);
create unique index orders_by_day on orders (day);`,
      'defines table orders, table order_lines, index orders_by_day',
    ],
    [
      'prose that sounds like code',
      'Create table views.\nSee the part below (it is long),\nelse if (x) {',
      '',
    ],
    ['prose', 'The class of 1999 met. Import taxes rise; for type theory see below.', ''],
  ])('%s', (_, code, line) => {
    expect(told(code)).toBe(line)
  })

  it('takes two lines where the first has little room, and nothing is lost between them', () => {
    const file = { ...noFacts('a.ts'), edits: 2 }
    readOutline('class Alpha {\n  one() {\n  }\n  two() {\n  }\n}\nfunction beta() {\n}', file.outline)
    // "class Alpha" takes 5 + 5 + 4 = 14 of 18, "one" 5: the room is used up behind it.
    expect(writeFile(file, 'a.ts', 18)).toEqual([
      '`a.ts` — 2 edits — defines class Alpha (one)',
      '`a.ts` also defines class Alpha (two), beta',
    ])
  })
})

it('what a file imports, and the names it uses that occur nowhere else', () => {
  expect(
    names(`import fs, { readFile } from 'node:fs'
import {
  openStore,
  type Store,
} from './store.ts'
from pathlib import Path
use std::collections::HashMap;
function main() {
  const currentIndex = indexOf(openStore())
  return currentIndex + max_size
}`),
  ).toBe(
    '`x` imports fs, readFile from `node:fs`, openStore, Store from `./store.ts`, Path from `pathlib`, `std::collections::HashMap`; uses currentIndex, HashMap, indexOf, max_size',
  )
})

it('all modules of a list in Go', () => {
  expect(names('package main\nimport (\n\t"fmt"\n\tlog "example.com/x/log"\n)\nfunc main() {\n}')).toBe(
    '`x` imports `fmt`, `example.com/x/log`',
  )
})

it.each([
  ['#[derive(Debug)]\npub struct A;', ''],
  ['#![allow(dead_code)]\n// Counts the words.', 'Counts the words.'],
  ['#include <stdio.h>\n#define LIMIT 300\n/* Counts the words. */', 'Counts the words.'],
  ['# include what you use', 'include what you use'],
  ['# Heading of it', 'Heading of it'],
])('what a file describes itself as: %s', (content, about) => {
  const files = filesIn(
    [
      {
        id: 'c',
        name: 'write',
        input: { path: 'a', content },
        effect: 'write',
        paths: ['a'],
        number: 0,
        at: 0,
      },
    ],
    { read: [], modified: [] },
  )
  expect(files.get('a')?.about).toBe(about)
})

it('lines are read back as they were written', () => {
  const file = { ...noFacts('src/a.ts'), created: true, edits: 3, reads: 1, about: 'Says what it is.' }
  readOutline(
    "import { x1 } from 'y'\nclass Alpha {\n  one() {\n  }\n}\nconst LIMIT = 'a b'\nfooBar(bazQux)",
    file.outline,
  )
  const [line] = writeFile(file)
  expect(line).toBe(
    '`src/a.ts` — written, 3 edits, 1 read — defines class Alpha (one), LIMIT = \'a b\' — "Says what it is."',
  )
  expect(writeFile(readFile(line)!)[0]).toBe(line)
  const told = new Set(definedNames(file.outline))
  const second = writeNames(file, 'src/a.ts', new Set(told))
  expect(second).toBe('`src/a.ts` imports x1 from `y`; uses fooBar, bazQux')
  expect(writeNames(readNames(second)!, 'src/a.ts', new Set(told))).toBe(second)
  expect(
    readNames('`src/a.ts` also defines class Alpha (two), beta')?.outline.defines.get('Alpha')?.members,
  ).toEqual(['two'])
})

it.each([
  ['one line', 'aB_'],
  ['brackets', '('],
  ['imports that never end', 'import {\n'],
  ['classes', 'class A {\n  b(\n'],
  ['types', 'int a*&'],
  ['types and brackets', `${'int a '.repeat(8)}(a,\n`],
  ['a parameter without end', `int f(${'a*'.repeat(50)},\n`],
  ['words', 'static async '],
])('takes linear time for %s', (_, unit) => {
  const run = (size: number) => readOutline(unit.repeat(size / unit.length), noOutline())
  expect(growth(run, 1_000_000)).toBeLessThan(3)
})
