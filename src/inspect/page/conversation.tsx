import type { TabProps } from './session.tsx'

export function Conversation(_: TabProps) {
  return <div class="page" />
}
