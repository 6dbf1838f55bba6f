/** Code, markup and its like, written for the table. */
export const CODE: Readonly<Record<string, string>> = {
  Markdown: `# Harbour library

A small service that lends **books** and *sea charts*. See [the manual](docs/manual.md) for details.

## Getting started

1. Install the package: \`npm install harbour-library\`
2. Create a catalogue file
3. Run \`harbour serve --port 8080\`

> Note: charts older than 1900 may not leave the house.

| Option | Default | Meaning |
| --- | --- | --- |
| \`port\` | 8080 | where it listens |
| \`maxLoans\` | 5 | loans per reader at one time |
| \`quietHours\` | false | no horn between 22:00 and 06:00 |

- [x] loans and returns
- [ ] reminders by post
- [ ] an index of ships, by name and by year

\`\`\`ts
const library = await openLibrary('catalogue.db')
await library.lend('winter-light', { reader: 'ada', days: 14 })
\`\`\`
`,
  TypeScript: `import { readFile } from 'node:fs/promises'
import { type Loan, LoanError } from './loan.ts'

export interface Catalogue {
  readonly titles: ReadonlyMap<string, Title>
  lend(titleId: string, reader: string, days?: number): Promise<Loan>
}

type Title = { readonly id: string; readonly name: string; copies: number }

const DEFAULT_DAYS = 14

/** Reads a catalogue; throws when the file is not one. */
export async function openCatalogue(path: string): Promise<Catalogue> {
  const parsed: unknown = JSON.parse(await readFile(path, 'utf8'))
  if (!Array.isArray(parsed)) throw new LoanError('NOT_A_CATALOGUE', { path })
  const titles = new Map(parsed.map((title) => [title.id, { ...title, copies: title.copies ?? 1 }]))
  return {
    titles,
    async lend(titleId, reader, days = DEFAULT_DAYS) {
      const title = titles.get(titleId)
      if (title === undefined || title.copies === 0) {
        throw new LoanError('NOT_AVAILABLE', { titleId })
      }
      title.copies -= 1
      const dueAt = new Date(Date.now() + days * 86_400_000)
      return { titleId, reader, dueAt, returned: false }
    },
  }
}
`,
  Python: `from dataclasses import dataclass, field
from datetime import date, timedelta
import logging

logger = logging.getLogger(__name__)


@dataclass
class Reader:
    name: str
    loans: list["Loan"] = field(default_factory=list)

    def overdue(self, today: date | None = None) -> list["Loan"]:
        """Loans that should have been returned by now."""
        today = today or date.today()
        return [loan for loan in self.loans if loan.due < today]


def lend(reader: Reader, title_id: str, days: int = 14) -> "Loan":
    if len(reader.loans) >= MAX_LOANS:
        raise ValueError(f"{reader.name} has {len(reader.loans)} loans already")
    loan = Loan(title_id=title_id, due=date.today() + timedelta(days=days))
    reader.loans.append(loan)
    logger.info("lent %s to %s until %s", title_id, reader.name, loan.due.isoformat())
    return loan


if __name__ == "__main__":
    for reader in load_readers("readers.json"):
        for loan in reader.overdue():
            print(f"{reader.name:<20} {loan.title_id:>12} {loan.due:%d.%m.%Y}")
`,
  Rust: `use std::collections::HashMap;
use std::fmt;

#[derive(Debug, Clone, PartialEq)]
pub enum LoanError {
    NotFound(String),
    TooManyLoans { reader: String, count: usize },
}

impl fmt::Display for LoanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoanError::NotFound(id) => write!(f, "no title {}", id),
            LoanError::TooManyLoans { reader, count } => write!(f, "{reader} has {count} loans"),
        }
    }
}

pub struct Catalogue {
    titles: HashMap<String, u32>,
}

impl Catalogue {
    pub fn lend(&mut self, id: &str) -> Result<u32, LoanError> {
        let copies = self.titles.get_mut(id).ok_or_else(|| LoanError::NotFound(id.to_string()))?;
        *copies = copies.saturating_sub(1);
        Ok(*copies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lends_the_last_copy_once() {
        let mut catalogue = Catalogue { titles: HashMap::from([("charts".into(), 1)]) };
        assert_eq!(catalogue.lend("charts"), Ok(0));
    }
}
`,
  SQL: `create table loans (
  id integer primary key,
  title_id text not null references titles (id) on delete restrict,
  reader_id integer not null,
  lent_at integer not null default (unixepoch()),
  returned_at integer
);

create index loans_open on loans (reader_id, title_id) where returned_at is null;

select r.name, count(*) as open_loans, min(l.lent_at) as oldest
from readers r
left join loans l on l.reader_id = r.id and l.returned_at is null
where r.active = 1
group by r.id
having count(l.id) > 3
order by oldest asc nulls last
limit 50;
`,
  'shell session': `$ git status --short
 M src/catalogue.ts
?? test/lend.test.ts
$ npm test -- --run lend
> harbour-library@0.3.1 test
 PASS  test/lend.test.ts (7 tests) 214ms
$ ls -la dist | head -4
total 48
drwxr-xr-x  2 keeper staff   160 Nov 12 09:14 .
drwxr-xr-x 14 keeper staff   448 Nov 12 09:14 ..
-rw-r--r--  1 keeper staff 18211 Nov 12 09:14 index.js
$ grep -rn "maxLoans" src | wc -l
12
$ for f in charts/*.png; do convert "$f" -resize 50% "small/$(basename "$f")"; done
`,
  'diff and stack trace': `diff --git a/src/lend.ts b/src/lend.ts
index 4f1c2aa..9be0d71 100644
--- a/src/lend.ts
+++ b/src/lend.ts
@@ -18,9 +18,11 @@ export function lend(title: Title, reader: Reader): Loan {
-  if (title.copies < 1) return undefined
+  if (title.copies < 1) {
+    throw new LoanError('NOT_AVAILABLE', { titleId: title.id })
+  }
   reader.loans.push(title.id)
TypeError: Cannot read properties of undefined (reading 'copies')
    at lend (/home/keeper/library/src/lend.ts:21:13)
    at Object.<anonymous> (/home/keeper/library/test/lend.test.ts:9:18)
    at async Promise.all (index 3)
    at processTicksAndRejections (node:internal/process/task_queues:95:5)
`,
  HTML: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Harbour library</title>
    <link rel="stylesheet" href="/assets/main.css?v=12" />
    <style>
      .card { display: grid; grid-template-columns: 1fr 2fr; gap: 0.5rem; margin: 0 auto; color: #334455; }
      @media (max-width: 600px) { .card { grid-template-columns: 1fr; } }
    </style>
  </head>
  <body class="page page--wide">
    <nav id="main"><a href="/">Home</a> <a href="/charts" aria-current="page">Charts</a></nav>
    <ul class="list">
      <li data-id="42"><img src="/img/42.png" alt="A chart of the north coast" width="320" height="200" /></li>
    </ul>
    <button type="submit" onclick="lend(42)" disabled>Lend</button>
  </body>
</html>
`,
}
