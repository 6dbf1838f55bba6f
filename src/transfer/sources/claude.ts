import { filledText, isObject, type JsonObject } from '../../core/messages/json.ts'
import type { FieldsEvent } from '../../store/history/import/import-types.ts'
import type { Head, Source } from '../source.ts'
import { moment } from './claude-code-fields.ts'
import { ClaudeMessages } from './claude-messages.ts'
import { treeOf } from './claude-tree.ts'
import { readTrees, type TreeForm } from './tree-conversations.ts'

const FORM: TreeForm = {
  idFields: ['uuid'],
  messages: 'chat_messages',
  missing: 'it is no conversation: it has no list chat_messages',
  treeOf,
  fieldsOf: fieldsEvent,
  readerAt: (at) => new ClaudeMessages(at),
}

/**
 * The export of Claude's web page and apps, `conversations.json`; and single conversations as the page itself receives them, which also have their
 * model and current branch. Fields without a place in the neutral form are in metadata.
 */
export const claude: Source = {
  name: 'claude',
  title: 'an export of Claude',
  recognizes: ({ values }) => {
    const talks = values.filter((value) => isObject(value) && Array.isArray(value.chat_messages)).length
    return talks > 0 && talks * 2 >= values.length
  },
  isBeside,
  read: (input, options) => readTrees(input, options, FORM),
}

function fieldsEvent({ name, created_at, model, ...rest }: JsonObject): FieldsEvent {
  const [title, modelName, createdAt] = [filledText(name), filledText(model), moment(created_at)]
  return {
    type: 'fields',
    provider: 'anthropic',
    ...(title !== undefined && { title }),
    ...(modelName !== undefined && { model: modelName }),
    ...(createdAt !== undefined && { createdAt }),
    metadata: { ...rest, ...(created_at !== undefined && { created_at }) },
  }
}

/** The other files of an export, by the fields of their values. */
const BESIDE: readonly (readonly [fields: readonly string[], what: string])[] = [
  [['uuid', 'prompt_template', 'docs'], 'projects'],
  [['uuid', 'full_name', 'email_address'], 'users'],
  [['account_uuid', 'conversations_memory'], 'memories'],
]

function isBeside({ values }: Head): string | undefined {
  const [first] = values
  if (!isObject(first)) return undefined
  const what = BESIDE.find(([fields]) => fields.every((name) => first[name] !== undefined))?.[1]
  return what && `the ${what} of an export of Claude, without conversations (conversations.json has them)`
}
