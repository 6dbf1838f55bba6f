import type { Json, JsonObject } from '../../messages/json.ts'
import type { ProviderPart } from '../../messages/message.ts'
import type { Conversion } from '../conversion.ts'
import { isObject } from '../wire.ts'
import { AGENTS, PROVIDER } from './item-types.ts'

/** An item, or a content of one, on its way out: bytes may be in it. */
export type Item = { readonly [name: string]: unknown }

/** Where a conversion stands: what tools are called by the ids of their calls, and the place that is written. */
export type Writing = { readonly conversion: Conversion; readonly names: Map<string, string>; place: string }

/** What a part of ours holds whole; `undefined` for every other part. */
export function keptItem({ provider, data }: ProviderPart): JsonObject | undefined {
  const kept: Json | undefined = provider === PROVIDER && isObject(data) ? data[AGENTS] : undefined
  return isObject(kept) ? kept : undefined
}
