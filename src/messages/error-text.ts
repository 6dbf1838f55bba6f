/** The longest text that may be an error by its beginning, in characters. */
const LONGEST_ERROR = 4_000

/** How errors in plain text begin: optionally after brackets, tags or the `{"` of JSON, and never indented like code. */
const ERROR_HEADING =
  /^(?:\n|<\/?[\w:-]{1,40}>|[^\p{L}\p{N}\s]|(?<=\S) ){0,12}(?:[a-z_]{0,40}error\b(?!\s*(?:[=.(;,|]|=>))|[\w.]{0,60}exception:|<[\w:-]{0,40}error|(?:ENOENT|EACCES|EPERM|EISDIR|ENOTDIR|EMFILE|ENAMETOOLONG|ELOOP|EIO|EBUSY)\b|fail(?:ed|ure)\b|fatal\b|traceback\b|cannot\b|can['’]t\b|couldn['’]t\b|could not\b|unable to\b|no such file|permission denied|access denied|(?:success|ok)"\s*:\s*false|invalid\b|timed? ?out\b)/iu

/** Whether the plain text of a tool output is an error, by its beginning. A long text is not. */
export function beginsAsError(text: string): boolean {
  return text.length <= LONGEST_ERROR && ERROR_HEADING.test(text.slice(0, 200))
}
