import { short } from './format.ts'

/** Tokens before and after, with a small bar: what is left of it is filled. */
export function TokensChange({ before, after }: { readonly before: number; readonly after: number }) {
  const left = before === 0 ? 0 : Math.min(1, after / before)
  return (
    <span class="tokens-change">
      <span class="tokens-bar" aria-hidden="true">
        <span style={{ width: `${left * 100}%` }} />
      </span>
      <span class="nowrap">
        {short(before)} → <b>{short(after)}</b>
      </span>
    </span>
  )
}
