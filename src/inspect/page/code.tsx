import { useEffect, useState } from 'preact/hooks'
import { type Colored, colored } from './highlight.ts'

/** Colored texts, so that a row that scrolls back into sight isn't read again. Oldest first. */
const known = new Map<string, readonly Colored[] | undefined>()
const MAX_KNOWN = 200

/** Code: plain at first, in colors once the browser has time. Only rows near the viewport exist, so nothing else is highlighted. */
export function Code({ text, language }: { readonly text: string; readonly language?: string | undefined }) {
  const key = `${language}\n${text}`
  const [, setReady] = useState('')
  useEffect(() => {
    if (language === undefined || known.has(key)) return
    const later = typeof requestIdleCallback === 'function' ? requestIdleCallback : setTimeout
    const cancel = typeof cancelIdleCallback === 'function' ? cancelIdleCallback : clearTimeout
    const id = later(() => {
      known.set(key, colored(text, language.toLowerCase()))
      for (const oldest of known.keys()) {
        if (known.size <= MAX_KNOWN) break
        known.delete(oldest)
      }
      setReady(key)
    })
    return () => cancel(id as number)
  }, [key])
  const stretches = known.get(key)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard
    <pre class="code" dir="ltr" tabIndex={0}>
      <code>
        {stretches === undefined
          ? text
          : stretches.map(({ text: part, kind }, index) =>
              kind === undefined ? (
                part
              ) : (
                <span key={index} class={`hl-${kind}`}>
                  {part}
                </span>
              ),
            )}
      </code>
    </pre>
  )
}
