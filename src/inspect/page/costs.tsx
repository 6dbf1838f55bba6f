import type { TabProps } from './session.tsx'

export function SessionCosts(_: TabProps) {
  return <div class="page" />
}

export function Costs() {
  return <section class="page" />
}
