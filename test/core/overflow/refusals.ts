import type { RefusalKind } from '../../../src/core/overflow/wordings.ts'
import { anthropicError, apiCallError, awsError, googleError, openaiError, retryError } from './shapes.ts'

/* Refusals as providers sent them, with the public report that quotes each, and the shapes that libraries give them. */

type Refused = readonly [
  source: string,
  error: unknown,
  kind: RefusalKind,
  path?: string | undefined,
  ids?: readonly string[],
]

const anthropic = (message: string): unknown => anthropicError(400, 'invalid_request_error', message)
const chat = (message: string, param: string | null = null, status = 400): unknown =>
  openaiError(status, { message, type: 'invalid_request_error', param, code: null })
const google = (message: string): unknown => googleError(400, 'INVALID_ARGUMENT', message)
const bedrock = (message: string): unknown => awsError('ValidationException', 400, message)
const bySdk = (url: string, message: string, more: object = {}): unknown =>
  apiCallError(url, 400, { error: { message, type: 'invalid_request_error', ...more } })

const RESPONSES = 'https://api.openai.com/v1/responses'
const AZURE = 'https://example.openai.azure.com/openai/v1/responses'

export const REFUSALS: readonly Refused[] = [
  // Anthropic.
  [
    'anthropics/claude-code#1939',
    anthropic(
      'The request body is not valid JSON: no low surrogate in string: line 1 column 241834 (char 241833)',
    ),
    'characters',
  ],
  [
    'anthropics/claude-code#6199',
    anthropic(
      'The request body is not valid JSON: invalid high surrogate in string: line 1 column 136188 (char 136187)',
    ),
    'characters',
  ],
  [
    'ding113/claude-code-hub#518',
    {
      type: 'error',
      error: {
        type: 'request_fail',
        upstream_error: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
          },
        },
      },
    },
    'reasoning',
    'messages.1.content.0',
  ],
  [
    'anomalyco/opencode#48637',
    anthropic(
      'messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header. The `system` prompt differs from the one this block was created with.',
    ),
    'reasoning',
    'messages.1.content.0',
  ],
  [
    'anthropics/claude-code#63203',
    anthropic(
      'messages.3.content.11: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
    ),
    'reasoning',
    'messages.3.content.11',
  ],
  [
    'lbjlaq/Antigravity-Manager#139',
    anthropic(
      'messages.129.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).',
    ),
    'reasoning-missing',
    'messages.129.content.0.type',
  ],
  [
    'anthropics/claude-code#5060',
    anthropic(
      'messages.6: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01AbmHJypDhKqBF7NKdRPJ6d. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    ),
    'call-without-result',
    'messages.6',
    ['toolu_01AbmHJypDhKqBF7NKdRPJ6d'],
  ],
  [
    'lbjlaq/Antigravity-Manager#654',
    anthropic(
      'messages.243: `tool_use` ids were found without `tool_result` blocks immediately after: bash-uOQIdN0O. Each `tool_use` block must have a corresponding `tool_result` block in the next message.',
    ),
    'call-without-result',
    'messages.243',
    ['bash-uOQIdN0O'],
  ],
  [
    'anthropics/claude-code#13460',
    anthropic(
      'messages.48.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_019ETtGZEhTBXgWPVsdVnXMh. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.',
    ),
    'result-without-call',
    'messages.48.content.1',
    ['toolu_019ETtGZEhTBXgWPVsdVnXMh'],
  ],
  [
    'anthropics/claude-code#6696',
    anthropic('messages.61.content.0.tool_use.input: Input should be a valid dictionary'),
    'input',
    'messages.61.content.0.tool_use.input',
  ],
  ['anthropics/claude-code#46127', anthropic('Could not process image'), 'media'],
  [
    'anthropics/claude-code#55302',
    anthropic('messages.87.content.1.text: cache_control cannot be set for empty text blocks'),
    'empty',
    'messages.87.content.1.text',
  ],
  ['stackblitz/bolt.new#7426', anthropic('messages: text content blocks must be non-empty'), 'empty'],
  [
    'anthropics/claude-code#4416',
    anthropic(
      'messages.11: all messages must have non-empty content except for the optional final assistant message',
    ),
    'empty',
    'messages.11',
  ],
  [
    'Wei-Shaw/sub2api#176',
    anthropic('A maximum of 4 blocks with cache_control may be provided. Found 5.'),
    'cache-mark',
  ],
  [
    'RooCodeInc/Roo-Code#11429',
    anthropic('messages.1.reasoning_details: Extra inputs are not permitted'),
    'unknown-field',
    'messages.1.reasoning_details',
  ],
  [
    'agno-agi/agno#8687',
    anthropic('messages.3.content.2.code_execution_tool_result.citations: Extra inputs are not permitted'),
    'unknown-field',
    'messages.3.content.2.code_execution_tool_result.citations',
  ],
  // Vertex.
  [
    'NoeFabris/opencode-antigravity-auth#73',
    googleError(
      400,
      'INVALID_ARGUMENT',
      JSON.stringify({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'messages.5.content.0: Invalid `signature` in `thinking` block',
        },
        request_id: 'req_vrtx_011CWcDAiLqXNmbGx1MH2UDE',
      }),
    ),
    'reasoning',
    'messages.5.content.0',
  ],
  [
    'decolua/9router#301',
    google(
      'Unable to submit request because Thought signature is not valid.. Learn more: https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/gemini',
    ),
    'reasoning',
  ],
  // Gemini.
  [
    'google-gemini/gemini-cli#13467',
    {
      error: {
        message:
          '{\n  "error": {\n    "code": 400,\n    "message": "Corrupted thought signature.",\n    "status": "INVALID_ARGUMENT"\n  }\n}\n',
        code: 400,
        status: 'Bad Request',
      },
    },
    'reasoning',
  ],
  [
    'lbjlaq/Antigravity-Manager#733',
    google(
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:TodoWrite` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.',
    ),
    'reasoning-missing',
  ],
  [
    'google-gemini/gemini-cli#26486',
    google(
      'Please ensure that function call turn comes immediately after a user turn or after a function response turn.',
    ),
    'call-without-result',
  ],
  [
    'langchain-ai/langchain#27799',
    google('Please ensure that function response turn comes immediately after a function call turn.'),
    'result-without-call',
  ],
  [
    'microsoft/vscode#299295',
    google(
      'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.',
    ),
    'call-without-result',
  ],
  ['AmberSahdev/Open-Interface#64', google('Provided image is not valid'), 'media'],
  ['ogkalu2/comic-translate#399', google('Unsupported MIME type: image/jpg'), 'media'],
  [
    'EvanZhouDev/gemini-ai#3',
    google(
      '* GenerateContentRequest.contents[0].parts[1].inline_data.mime_type: MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif.\n',
    ),
    'media',
    'contents[0].parts[1].inline_data.mime_type',
  ],
  // Bedrock.
  [
    'agno-agi/agno#6698',
    bedrock(
      'Expected toolResult blocks at messages.2.content for the following Ids: tooluse_jQ912rboYgzgLULQpRxWot, tooluse_sX1A7q9kipz4qAW36LUR1H',
    ),
    'call-without-result',
    'messages.2.content',
    ['tooluse_jQ912rboYgzgLULQpRxWot', 'tooluse_sX1A7q9kipz4qAW36LUR1H'],
  ],
  [
    'OpenHands/OpenHands#5339',
    bedrock(
      'The text field in the ContentBlock object at messages.28.content.1 is blank. Add text to the text field, and try again.',
    ),
    'empty',
    'messages.28.content.1',
  ],
  [
    'aws-samples/sample-multi-agent-orchestration-chat-on-agentcore#15',
    bedrock(
      'The content field at messages.4.content.0.toolResult cannot be empty when status value is error.',
    ),
    'empty',
    'messages.4.content.0.toolResult',
  ],
  [
    'earendil-works/pi#3443',
    bedrock(
      'The content field in the Message object at messages.7 is empty. Add a ContentBlock object to the content field and try again.',
    ),
    'empty',
    'messages.7',
  ],
  [
    'deepset-ai/haystack-core-integrations#3766',
    bedrock(
      'The format of the value at messages.28.content.0.toolResult.content.0.json is invalid. Provide a json object for the field and try again.',
    ),
    'part',
    'messages.28.content.0.toolResult.content.0.json',
  ],
  [
    'anomalyco/opencode#15074',
    bedrock('***.***.content.0: Invalid `signature` in `thinking` block'),
    'reasoning',
  ],
  // OpenAI Chat Completions.
  [
    'RamiAwar/dataline#172',
    chat(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_i8vT76kQ8XOpe9ErYaTYRRxV",
      'messages.[14].role',
    ),
    'call-without-result',
    'messages.[14].role',
    ['call_i8vT76kQ8XOpe9ErYaTYRRxV'],
  ],
  [
    'vercel/ai#8132',
    chat(
      "Invalid 'messages[36].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 51 instead.",
    ),
    'call',
    'messages[36].tool_calls[0].id',
  ],
  [
    'vercel/ai#1544',
    chat(
      "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif', 'webp'].",
    ),
    'media',
  ],
  [
    'langgenius/dify#11527',
    openaiError(400, {
      message: 'Invalid MIME type. Only image types are supported.',
      type: 'invalid_request_error',
      code: 'invalid_image_format',
    }),
    'media',
  ],
  [
    'OpenHands/OpenHands#7700',
    chat(
      "Invalid 'messages[234]'. Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.",
    ),
    'media',
    'messages[234]',
  ],
  [
    'aallam/openai-kotlin#320',
    chat(
      "Invalid value: 'image'. Supported values are: 'text' and 'image_url'.",
      'messages[0].content[1].type',
    ),
    'part',
    'messages[0].content[1].type',
  ],
  // OpenAI Responses, and Azure.
  [
    'OpenRouterTeam/ai-sdk-provider#254',
    chat(
      'Duplicate item found with id rs_0ad20f1f8629dc53016924443203408193abb5b3d0b4301e26. Remove duplicate items from your input and try again.',
      'input',
    ),
    'item',
    undefined,
    ['rs_0ad20f1f8629dc53016924443203408193abb5b3d0b4301e26'],
  ],
  [
    'pydantic/pydantic-ai#7461',
    chat('Expected container_id: cntr_68a0b1c2d3e4f5061728394a5b6c7d8e', 'input'),
    'item',
    undefined,
    ['cntr_68a0b1c2d3e4f5061728394a5b6c7d8e'],
  ],
  [
    'continuedev/continue#8933',
    bySdk(
      RESPONSES,
      "Item 'rs_0c3876fcd4da19ef00692a14046bc8819eba6941c05c5ab7e7' of type 'reasoning' was provided without its required following item.",
      { param: 'input' },
    ),
    'item',
    undefined,
    ['rs_0c3876fcd4da19ef00692a14046bc8819eba6941c05c5ab7e7'],
  ],
  [
    'continuedev/continue#12620',
    chat(
      "Item 'msg_07ddda73bf133ab6006a2cfd8e30f481a3b33726a611ef9119' of type 'message' was provided without its required 'reasoning' item: 'rs_07ddda73bf133ab6006a2cfd8d'.",
      'input',
    ),
    'item',
    undefined,
    ['msg_07ddda73bf133ab6006a2cfd8e30f481a3b33726a611ef9119', 'rs_07ddda73bf133ab6006a2cfd8d'],
  ],
  [
    'openai/codex#8145',
    bySdk(AZURE, 'The encrypted content gAAA...DQ== could not be verified.', {
      param: null,
      code: 'invalid_encrypted_content',
    }),
    'reasoning',
  ],
  [
    'smallmain/vscode-unify-chat-provider#178',
    new Error(
      'The encrypted content for item rs_0a18166210d72b5e0069fd938e69a08193a992a58d690a224b could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
    ),
    'reasoning',
    undefined,
    ['rs_0a18166210d72b5e0069fd938e69a08193a992a58d690a224b'],
  ],
  [
    'continuedev/continue#10092',
    chat('No tool call found for function call output with call_id call_uelfkqtHfJDC4Btqeoozq82e.', 'input'),
    'result-without-call',
    undefined,
    ['call_uelfkqtHfJDC4Btqeoozq82e'],
  ],
  [
    'AnswerDotAI/fastllm#45',
    openaiError(400, {
      message:
        "Invalid 'input[95].call_id': string too long. Expected a string with maximum length 64, but got a string with length 116 instead.",
      type: 'invalid_request_error',
      code: 'string_above_max_length',
    }),
    'call',
    'input[95].call_id',
  ],
  // Mistral.
  [
    'karthink/gptel#1203',
    {
      object: 'error',
      message: 'Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.',
      type: 'invalid_function_call',
      param: null,
      code: '3280',
      raw_status_code: 400,
    },
    'call',
    undefined,
    ['call_0fypS1hVX'],
  ],
  ['BerriAI/litellm#6323', chat("Unexpected role 'user' after role 'tool'"), 'role'],
  // xAI, DeepSeek, Groq, Qwen and others.
  [
    'charmbracelet/crush#964',
    {
      code: 'Client specified an invalid argument',
      error: 'Invalid request content: Each message must have at least one content element.',
    },
    'empty',
  ],
  [
    'langbot-app/LangBot#1205',
    new Error(
      "Error code: 400 - {'code': 'Client specified an invalid argument', 'error': 'An empty message was provided. Every message needs at least one non-empty content element.'}",
    ),
    'empty',
  ],
  [
    'CherryHQ/cherry-studio#20614',
    chat(
      'Failed to deserialize the JSON body into the target type: messages[12].content: unexpected end of hex escape at line 1 column 4711',
    ),
    'characters',
    'messages[12].content',
  ],
  [
    'dnakov/anon-kode#87',
    {
      message: 'Provider returned error',
      code: 422,
      metadata: {
        raw: 'Failed to deserialize the JSON body into the target type: messages[5]: missing field `tool_call_id` at line 1 column 11512',
        provider_name: 'DeepSeek',
      },
    },
    'part',
    'messages[5]',
  ],
  [
    'smallmain/vscode-unify-chat-provider#248',
    chat(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)",
    ),
    'call-without-result',
  ],
  [
    'SimonSchubert/Kai#265',
    chat(
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    ),
    'unknown-field',
    'messages.2',
  ],
  [
    'QwenLM/qwen-code#315',
    new Error(
      '400 <400> InternalError.Algo.InvalidParameter: An assistant message with "tool_calls" must be followed by tool messages responding to each "tool_call_id". The following tool_call_ids did not have response messages: message[15].role',
    ),
    'call-without-result',
    'message[15].role',
  ],
  [
    'XiaomiMiMo/MiMo-Code#2411',
    chat(
      '.messages[46].image[0]: You have uploaded an unsupported image. Please make sure your image is valid and has one of the following formats: webp, png, jpeg, and gif.',
    ),
    'media',
    'messages[46].image[0]',
  ],
  // A wording in the error of a gateway with another status.
  [
    'lbjlaq/Antigravity-Manager#970',
    new Error(
      'OpenAI completion error: 503 upstream error: HTTP 400: {\n  "error": {\n    "code": 400,\n    "message": "Corrupted thought signature.",\n    "status": "INVALID_ARGUMENT"\n  }\n}',
    ),
    'reasoning',
  ],
  // As gateways and libraries pass them on.
  [
    'OpenRouter, with the body of its provider as JSON in JSON',
    apiCallError('https://openrouter.ai/api/v1/chat/completions', 400, {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: JSON.stringify({
            type: 'error',
            error: {
              type: 'invalid_request_error',
              message: 'messages.4.content.0: Invalid `signature` in `thinking` block',
            },
            request_id: 'req_011CVjxi',
          }),
          provider_name: 'Anthropic',
        },
      },
      user_id: 'user_2abc',
    }),
    'reasoning',
    'messages.4.content.0',
  ],
  [
    'LiteLLM, with the bytes of its provider as Python writes them',
    chat(
      'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"invalid_request_error","message":"messages.3.content.1: unexpected `tool_use_id` found in `tool_result` blocks: toolu_01A. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."}}\'. Received Model Group=claude',
    ),
    'result-without-call',
    'messages.3.content.1',
    ['toolu_01A'],
  ],
  [
    'the AI SDK after retries',
    retryError(
      bySdk(
        RESPONSES,
        'Duplicate item found with id msg_0ad2. Remove duplicate items from your input and try again.',
      ) as Error,
    ),
    'item',
    undefined,
    ['msg_0ad2'],
  ],
  [
    'LangChain, which adds a page to the message',
    Object.assign(
      new Error(
        "400 An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_9aB\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/langchain/errors/INVALID_TOOL_RESULTS/\n",
      ),
      { status: 400, lc_error_code: 'INVALID_TOOL_RESULTS', code: null, type: 'invalid_request_error' },
    ),
    'call-without-result',
    undefined,
    ['call_9aB'],
  ],
  [
    'an error as the first event of a stream, which has no status',
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'messages.2.content.0.document.title: must not contain a slash',
      },
    },
    'part',
    'messages.2.content.0.document.title',
  ],
  // In no table: a place is enough.
  [
    'invented',
    anthropic('messages.88.content.1.document.title: must not contain a slash'),
    'part',
    'messages.88.content.1.document.title',
  ],
]

/** Errors for another reason, which no change of the content removes. */
export const OTHER_REASONS: readonly (readonly [source: string, error: unknown])[] = [
  ['an overflow', anthropic('prompt is too long: 210000 tokens > 200000 maximum')],
  ['a key', anthropicError(401, 'authentication_error', 'invalid x-api-key')],
  [
    'a permission',
    anthropicError(
      403,
      'permission_error',
      'Your API key does not have permission to use the specified resource.',
    ),
  ],
  ['a model', anthropicError(404, 'not_found_error', 'model: claude-9')],
  [
    'a rate limit',
    openaiError(429, {
      message: 'Rate limit reached for gpt-4 in organization org-1 on tokens per min',
      type: 'tokens',
      code: 'rate_limit_exceeded',
    }),
  ],
  [
    'a quota',
    openaiError(429, {
      message: 'You exceeded your current quota, please check your plan and billing details.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }),
  ],
  [
    'credit',
    anthropic(
      'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
    ),
  ],
  [
    'a key, as LangChain passes it on',
    Object.assign(
      new Error(
        '401 invalid x-api-key\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/langchain/errors/MODEL_AUTHENTICATION/\n',
      ),
      { status: 401, lc_error_code: 'MODEL_AUTHENTICATION' },
    ),
  ],
  [
    'a rate limit of a provider of OpenRouter',
    apiCallError('https://openrouter.ai/api/v1/chat/completions', 429, {
      error: {
        message: 'Provider returned error',
        code: 429,
        metadata: { raw: 'messages.4 is temporarily rate-limited upstream', provider_name: 'X' },
      },
    }),
  ],
  [
    'a moderation of OpenRouter',
    apiCallError('https://openrouter.ai/api/v1/chat/completions', 403, {
      error: {
        message: 'Your chosen model requires moderation and your input was flagged for "violence"',
        code: 403,
        metadata: { reasons: ['violence'], flagged_input: 'messages.0.content.0: Could not process image' },
      },
    }),
  ],
  ['an overload', anthropicError(529, 'overloaded_error', 'Overloaded')],
  [
    'a server',
    openaiError(500, {
      message: 'The server had an error while processing your request. Sorry about that!',
      type: 'server_error',
    }),
  ],
  ['a policy', anthropic('Output blocked by content filtering policy')],
  [
    'a policy of Azure',
    openaiError(400, {
      message:
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.",
      code: 'content_filter',
      param: 'prompt',
    }),
  ],
  [
    'a policy about a message',
    openaiError(400, {
      message: 'messages[3]: your prompt was flagged as potentially violating our usage policy',
      code: 'invalid_prompt',
    }),
  ],
  [
    'a parameter',
    openaiError(400, {
      message: "Unsupported parameter: 'max_tokens' is not supported with this model.",
      param: 'max_tokens',
      code: 'unsupported_parameter',
    }),
  ],
  ['Wei-Shaw/claude-relay-service#660', anthropic('context_management: Extra inputs are not permitted')],
  ['amrit110/oli#7', anthropic('response_format: Extra inputs are not permitted')],
  ['fanenr/chatbot#21', chat("property 'store' is unsupported, did you mean 'stop'?")],
  [
    'caozhiyuan/copilot-api#145',
    anthropic('system.1.cache_control.ephemeral.scope: Extra inputs are not permitted'),
  ],
  [
    'danny-avila/LibreChat#12804',
    chat(
      'Failed to deserialize the JSON body into the target type: tools[0]: missing field `function` at line 1 column 2949',
    ),
  ],
  ['a tool', anthropic('tools.0.custom.input_schema: JSON schema is invalid')],
  [
    'a network',
    Object.assign(new Error('fetch failed'), {
      cause: Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), { code: 'ECONNREFUSED' }),
    }),
  ],
  ['an abort', Object.assign(new Error('This operation was aborted'), { name: 'AbortError' })],
  [
    'an upload',
    apiCallError('https://api.openai.com/v1/files', 400, { error: { message: 'Invalid file data' } }),
  ],
  ['a bug of the application', new TypeError("Cannot read properties of undefined (reading 'content')")],
  [
    'a quotation',
    anthropic('The tool wrote "messages.3.content.0: Invalid signature in thinking block" and stopped'),
  ],
  ['nothing', undefined],
  ['a text', 'no'],
]
