/* The texts of the demo store: everything in them is made up. */

export const SYSTEM =
  'You are a careful coding agent in the repository of a web shop. Read before you change. Prices are integers in cents, never floats. ' +
  'Run the tests after each change, and say in one sentence what you did.'

export const TOOLS = [
  tool('read', 'Reads a file, with line numbers.', {
    path: 'The file.',
    offset: 'The first line.',
    limit: 'How many lines.',
  }),
  tool('edit', 'Replaces a text in a file.', {
    file_path: 'The file.',
    old_string: 'The text.',
    new_string: 'Its replacement.',
  }),
  tool('MultiEdit', 'Replaces several texts in a file.', {
    file_path: 'The file.',
    edits: 'The replacements.',
  }),
  tool('apply_patch', 'Applies a patch to files.', { input: 'The patch.' }),
  tool('write', 'Writes a file.', { file_path: 'The file.', content: 'Its text.' }),
  tool('bash', 'Runs a command.', { command: 'The command.', timeout: 'In milliseconds.' }),
]

function tool(name: string, description: string, fields: { readonly [name: string]: string }): object {
  const properties = Object.fromEntries(
    Object.entries(fields).map(([field, what]) => [field, { type: 'string', description: what }]),
  )
  return { name, description, input_schema: { type: 'object', properties } }
}

const WORDS = ['amount', 'share', 'rest', 'price', 'tax', 'line', 'sum', 'part'] as const

/** A source file of so many lines, numbered as tools number them. */
export function source(path: string, lines: number): string {
  const seed = [...path].reduce((sum, character) => sum + character.charCodeAt(0), 0)
  return Array.from({ length: lines }, (_, at) => {
    const word = WORDS[(at * 7 + seed) % WORDS.length]
    const other = WORDS[(at * 5 + seed + 3) % WORDS.length]
    return `${String(at + 1).padStart(5)}\t  if (${word} > ${at * 13 + seed}) ${other} += Math.trunc(${word} / ${(at % 9) + 2})  // cents`
  }).join('\n')
}

export function testRun(failing: readonly string[], passing: number): string {
  const passed = Array.from(
    { length: passing },
    (_, at) => ` ✓ checkout > order ${at + 1} adds up (${at % 9} ms)`,
  )
  const failed = failing.map((name) => ` ✗ checkout > ${name}\n   AssertionError: expected 1999 to be 2000`)
  return [...passed, ...failed, '', `Tests  ${failing.length} failed | ${passing} passed`].join('\n')
}

/** A log of more than 50 KB. */
export function serverLog(): string {
  return Array.from({ length: 900 }, (_, at) => {
    const time = new Date(Date.UTC(2026, 10, 26, 8, 0, at)).toISOString()
    return at === 700
      ? `${time} ERROR order ${9_000 + at}: total 1999 differs from the sum of the lines 2000`
      : `${time} INFO  order ${9_000 + at}: ${(at % 7) + 1} lines, discount ${(at * 17) % 400} cents, paid by card`
  }).join('\n')
}

export const FINDING = `The discount is rounded **for each item** instead of once. Three items of 33.3 cents lose one cent:

| item | exact | rounded | rest |
| --- | ---: | ---: | ---: |
| tea | 33.33 | 33 | 0.33 |
| cup | 33.33 | 33 | 0.33 |
| tin | 33.34 | 33 | 0.34 |
| **sum** | **100.00** | **99** | **1.00** |

What I propose:

1. \`allocate(total, weights)\` shares out a total by the *largest remainder*.
2. \`cart.ts\` calls it once, for the whole discount.
3. A test with a thousand random carts.
   - the shares are integers
   - their sum is the total

\`\`\`ts
export function allocate(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((all, weight) => all + weight, 0)
  const shares = weights.map((weight) => Math.floor((total * weight) / sum))
  // The cents that are left go to the largest remainders.
  return distribute(total, shares)
}
\`\`\`

> Prices stay integers throughout.`

export const IN_PYTHON = `The report of the accountants does the same in Python:

\`\`\`python
def allocate(total: int, weights: list[int]) -> list[int]:
    """Share out a total by the largest remainder."""
    shares = [total * w // sum(weights) for w in weights]
    for at in sorted(range(len(weights)), key=lambda i: -(total * weights[i] % sum(weights)))[: total - sum(shares)]:
        shares[at] += 1
    return shares
\`\`\`

and in SQL, for the yearly statement:

\`\`\`sql
select order_id, sum(cents) as total
  from lines
 where day >= date '2026-01-01'
 group by order_id
having sum(cents) <> max(paid);
\`\`\`

Configuration:

\`\`\`json
{ "rounding": "largest-remainder", "currency": "EUR", "cents": true }
\`\`\``

export const SUMMARY = (first: string): string => `## Primary Request and Intent
- ${first}
## Files and Code Sections
- \`src/checkout/cart.ts\` — read twice, edited once: calls \`allocate\` for the whole discount
- \`src/money/rounding.ts\` — \`allocate(total, weights)\` shares out a total by the largest remainder
- \`src/invoice/lines.ts\` — takes the cents from the cart instead of rounding again
## Problem Solving
- The discount was rounded for each item: three items of 33.3 cents lost one cent.
## Constraints and Established Rules
- Prices stay integers: cents, never floats.
## Current Work
- A test compares cart and invoice for a thousand random carts.`

export const PATCH = `*** Begin Patch
*** Update File: src/invoice/lines.ts
@@ export function linesOf(cart: Cart) {
-  return cart.items.map((item) => ({ ...item, cents: Math.round(item.price * item.rate) }))
+  const cents = allocate(cart.total, cart.items.map(({ price }) => price))
+  return cart.items.map((item, at) => ({ ...item, cents: cents[at] }))
*** Add File: src/invoice/README.md
+# Invoices
+
+The cents of an invoice are those of the cart.
*** End Patch`
