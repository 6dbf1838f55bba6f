import type { FieldsEvent } from '../../history/import/import-event.ts'
import { isObject, type JsonObject } from '../../messages/json.ts'
import type { Source } from '../source.ts'
import { ChatgptMessages } from './chatgpt-messages.ts'
import { treeOf } from './chatgpt-tree.ts'
import { moment } from './moment.ts'
import { readTrees, type TreeForm } from './tree-conversations.ts'

const FORM: TreeForm = {
  idFields: ['conversation_id', 'id'],
  messages: 'mapping',
  missing: 'it is no conversation: it has no mapping of messages',
  treeOf: (given) => {
    const tree = treeOf(given)
    return tree && { tree }
  },
  fieldsOf,
  readerAt: (at) => new ChatgptMessages(at),
}

/** The export of ChatGPT, `conversations.json`. What the neutral form has no place for stays in metadata. */
export const chatgpt: Source = {
  name: 'chatgpt',
  title: 'an export of ChatGPT',
  recognises: ({ values }) => {
    const trees = values.filter((value) => isObject(value) && isObject(value.mapping)).length
    return trees > 0 && trees * 2 >= values.length
  },
  read: (input, options) => readTrees(input, options, FORM),
}

function fieldsOf({ title, create_time, default_model_slug, ...rest }: JsonObject): FieldsEvent {
  const createdAt = moment(create_time)
  const model = default_model_slug
  return {
    type: 'fields',
    provider: 'openai',
    ...(typeof title === 'string' && title !== '' && { title }),
    ...(typeof model === 'string' && model !== '' && { model }),
    ...(createdAt !== undefined && { createdAt }),
    metadata: { ...rest, ...(create_time !== undefined && { create_time }) },
  }
}
