/**
 * What a provider refuses in the content of a request:
 *
 * - `characters`: characters or bytes that it cannot read as JSON;
 * - `reasoning`: a signature or an encrypted form, or reasoning that was changed, moved or belongs to another conversation;
 * - `reasoning-missing`: a call without the reasoning or the signature that belongs to it;
 * - `item`: an item that it numbered itself, sent twice, without the item that belongs to it, or no longer stored;
 * - `call-without-result`, `result-without-call`: calls and results that do not belong together, or are not in order;
 * - `input`: the arguments of a call;
 * - `call`: the id or the name of a call;
 * - `media`: an image or a file that it cannot read or fetch;
 * - `empty`: a text or a message without visible characters, or blanks at its end;
 * - `cache-mark`: marks of the prompt cache;
 * - `unknown-field`: a field that it does not know;
 * - `role`: the order or the names of roles;
 * - `part`: a place in the messages, for another reason.
 */
export const REFUSAL_KINDS = [
  'characters',
  'reasoning',
  'reasoning-missing',
  'item',
  'call-without-result',
  'result-without-call',
  'input',
  'call',
  'media',
  'empty',
  'cache-mark',
  'unknown-field',
  'role',
  'part',
] as const
/** What a provider refuses in the content of a request. */
export type RefusalKind = (typeof REFUSAL_KINDS)[number]

export type RefusalWording = {
  readonly kind: RefusalKind
  /** Providers that are known to have it. */
  readonly providers: string
  /** A sample, for people and for the page of the documentation. N are numbers, X are ids and names. */
  readonly sample: string
  /** Matched against a text of `normalizeText`. */
  readonly pattern: RegExp
}

/** A wording. Without a pattern the sample itself is searched. */
function says(
  kind: RefusalKind,
  providers: string,
  sample: string,
  pattern = new RegExp(sample.toLowerCase().replaceAll(/[()[\].?*+^$|]/g, '\\$&')),
): RefusalWording {
  return { kind, providers, sample, pattern }
}

/** Every wording in the order of matching. Those that contain words of a later one come first. */
export const REFUSAL_WORDINGS: readonly RefusalWording[] = [
  // Fields.
  says(
    'cache-mark',
    'anthropic, bedrock, vertex',
    'A maximum of N blocks with cache_control may be provided',
    /maximum of \d+ blocks with cache_control/,
  ),
  says(
    'cache-mark',
    'anthropic',
    'a ttl=1h cache_control block must not come after a ttl=5m cache_control block',
    /cache_control block must not come after/,
  ),
  says('empty', 'anthropic', 'cache_control cannot be set for empty text blocks'),
  says(
    'cache-mark',
    'anthropic',
    'cache_control cannot be set',
    /cache_control (?:cannot|can not|may not|must not) be set/,
  ),
  says('unknown-field', 'anthropic, mistral', 'Extra inputs are not permitted'),
  says('unknown-field', 'groq', 'property X is unsupported', /property [\w.]{1,100} is unsupported/),
  says(
    'unknown-field',
    'google, vertex',
    'Invalid JSON payload received. Unknown name X',
    /unknown name .{1,100}: cannot find field|invalid json payload received\. unknown name/,
  ),
  says(
    'unknown-field',
    'openai, azure',
    'Unknown parameter: input[N].X',
    /unknown parameter: (?:messages|input)\b/,
  ),

  // Arguments, before characters: both say that JSON is not valid.
  says(
    'input',
    'anthropic, vertex',
    'tool_use.input: Input should be a valid dictionary',
    /input should be (?:a valid dictionary|an object)|tool_?use\.input: field required/,
  ),
  says(
    'input',
    'bedrock',
    'The format of the value at messages.N.content.N.toolUse.input is invalid',
    /value at messages\.\d+\.content\.\d+\.tooluse\.input is invalid/,
  ),
  says(
    'input',
    'openai, azure',
    'Invalid messages[N].tool_calls[N].function.arguments: string too long',
    /function\.arguments:? string too long|input\[\d+\]\.arguments:? string too long/,
  ),
  says(
    'input',
    'qwen',
    'The function.arguments parameter of the code model must be in JSON format',
    /function\.arguments parameter .{0,40}must be in json/,
  ),
  says(
    'input',
    'openai, mistral, llama.cpp',
    'arguments are not valid JSON',
    /(?:arguments|args)\b.{0,60}(?:not valid json|invalid json|must be (?:a |in )?(?:valid )?json|as json|malformed|should be a json)|(?:failed to parse|invalid) (?:tool call |function )arguments/,
  ),

  // Media, before characters: both speak of encodings.
  says(
    'media',
    'anthropic, bedrock',
    'Could not process image',
    /could not process (?:the )?(?:image|pdf|document|file)|image (?:exceeds|dimensions exceed)/,
  ),
  says(
    'media',
    'anthropic',
    'The image does not match the provided media type',
    /(?:image|document|pdf|file)\b.{0,60}(?:does not match|doesn't match|appears to be)|specified using the .{1,30} media type/,
  ),
  says(
    'media',
    'anthropic',
    'The PDF specified was not valid',
    /pdf\b.{0,40}(?:not valid|invalid|corrupt|password|encrypted)/,
  ),
  says(
    'media',
    'anthropic',
    'media_type: Input should be image/jpeg, image/png, image/gif or image/webp',
    /m(?:edia|ime)_?type: (?:input should be|unsupported|mime type must be)|unsupported media[ _]?type/,
  ),
  says(
    'media',
    'anthropic',
    'Unable to download the file',
    /(?:unable|failed|error|timeout|could not) ?(?:while |to )?(?:download|fetch|retriev|access|resolv)\w* .{0,40}(?:image|file|url|media|document)/,
  ),
  says(
    'media',
    'openai, azure, xai',
    'You uploaded an unsupported image',
    /uploaded an unsupported (?:image|file)|image urls? (?:are|is) only (?:allowed|supported)|image_url is only supported|unsupported image|invalid[ _]image|image[ _]parse[ _]error/,
  ),
  says(
    'media',
    'openai, azure',
    'Invalid image data',
    /(?:image|base64|file)[ _](?:data|url|uri|content)? ?(?:is |was )?(?:not valid|invalid|corrupt|malformed|cannot be (?:read|decoded))|(?:not|invalid) (?:a )?(?:valid )?(?:base64|data url|image url|image data)/,
  ),
  says(
    'media',
    'openai, azure',
    'Invalid MIME type. Only image types are supported',
    /(?:invalid|unsupported|not supported) mime[ _]?type|mime[ _]?type .{0,80}(?:not supported|unsupported|invalid)/,
  ),
  says(
    'media',
    'openai, azure, mistral',
    'Invalid URL',
    /invalid url|url .{0,40}(?:not valid|invalid|not accessible|must be (?:a valid|https?))/,
  ),
  says(
    'media',
    'google, vertex',
    'Unable to process input image',
    /unable to process (?:the )?(?:input )?(?:image|file|video|audio|document)|provided image is not valid/,
  ),
  says(
    'media',
    'deepseek, groq',
    'unknown variant image_url, expected text',
    /unknown variant (?:image_url|input_image|file)|(?:does not|doesn't) support (?:image|vision|file|document)/,
  ),

  // Reasoning and what a provider numbered.
  says('item', 'openai, azure', 'Duplicate item found with id X', /duplicate item found/),
  says(
    'item',
    'openai, azure',
    'Item X of type reasoning was provided without its required following item',
    /was provided without its required/,
  ),
  says(
    'item',
    'openai, azure',
    'Item with id X not found. Items are not persisted when store is set to false',
    /item with id .{1,100} not found|items are not persisted/,
  ),
  says('item', 'openai, azure', 'Expected an ID that begins with X', /expected an id that begins with/),
  // The container of an item of the code interpreter expired.
  says('item', 'openai, azure', 'Expected container_id: X', /expected container_id: \w/),
  says(
    'reasoning-missing',
    'anthropic, bedrock, vertex',
    'Expected thinking or redacted_thinking, but found tool_use',
    /expected thinking(?: or redacted_thinking)?,? but found|must start with a thinking block/,
  ),
  says(
    'reasoning-missing',
    'google, vertex',
    'Function call is missing a thought_signature in functionCall parts',
    /missing a thought_?signature/,
  ),
  says(
    'reasoning-missing',
    'deepseek',
    'The reasoning_content in the thinking mode must be passed back to the API',
    /reasoning_content .{0,60}must be passed back|missing (?:the )?reasoning_content/,
  ),
  says(
    'reasoning',
    'anthropic, bedrock, vertex',
    'Invalid signature in thinking block',
    /invalid signature in (?:redacted_)?thinking|bound to a different conversation|thinking\.signature: field required/,
  ),
  says(
    'reasoning',
    'anthropic, bedrock, vertex',
    'thinking or redacted_thinking blocks in the latest assistant message cannot be modified',
    /thinking blocks? .{0,60}cannot be modified/,
  ),
  says(
    'reasoning',
    'anthropic',
    'The final block in an assistant message cannot be thinking',
    /final block .{0,40}cannot be thinking|thinking block .{0,60}(?:invalid|must contain|not allowed)|each thinking block must contain/,
  ),
  says(
    'reasoning',
    'google, vertex',
    'Corrupted thought signature',
    /corrupted thought signature|thought[ _]?signature .{0,20}(?:is )?(?:not valid|invalid|corrupt)|invalid thought[ _]?signature/,
  ),
  says(
    'reasoning',
    'openai, azure',
    'The encrypted content X could not be verified',
    /encrypted[ _]content .{0,200}(?:could not be|cannot be|can't be) (?:verified|decrypted|parsed)|invalid_encrypted_content/,
  ),

  // Calls and results.
  says(
    'call',
    'mistral',
    'Tool call id was X but must be a-z, A-Z, 0-9, with a length of 9',
    /tool call id was .{0,100} but must be/,
  ),
  says(
    'call',
    'openai, azure',
    'Invalid messages[N].tool_calls[N].id: string too long',
    /(?:tool_calls\[\d+\]\.id|call_id|tool_call_id|\.id):? (?:string too long|empty string|string does not match)/,
  ),
  says(
    'call',
    'openai, azure',
    'Invalid messages[N].tool_calls[N].function.name: string does not match pattern',
    /function\.name:? (?:string (?:does not match|too long)|empty string)|\.name:? string (?:does not match|too long)/,
  ),
  says(
    'call',
    'anthropic, vertex',
    'tool_use.id: String should match pattern',
    /tool_(?:use|result)\.(?:id|tool_use_id|name): string should/,
  ),
  says(
    'call',
    'anthropic, vertex',
    'tool_use ids must be unique',
    /tool_?use ids must be unique|duplicate (?:tool_?use|tool call|call) ids?/,
  ),
  says(
    'call',
    'bedrock',
    'Value at messages.N.member.content.N.member.toolUse.toolUseId failed to satisfy constraint',
    /tool(?:use|result)\.(?:tooluseid|name) failed to satisfy constraint|duplicate ids? .{0,60}tooluse/,
  ),
  says(
    'result-without-call',
    'anthropic, vertex',
    'unexpected tool_use_id found in tool_result blocks',
    /unexpected tool_use_id found in tool_result|tool_result block must have a corresponding tool_use|multiple tool_result blocks with id|tool_result block\(s\) provided when/,
  ),
  says(
    'result-without-call',
    'bedrock',
    'The number of toolResult blocks at messages.N.content exceeds the number of toolUse blocks of previous turn',
    /toolresult blocks .{0,60}exceeds the number of tooluse/,
  ),
  says(
    'result-without-call',
    'openai, azure, deepseek',
    'messages with role tool must be a response to a preceding message with tool_calls',
    /must be a response to a prece+ding message with tool_calls/,
  ),
  says(
    'result-without-call',
    'openai, azure',
    'No tool call found for function call output with call_id X',
    /no tool call found for/,
  ),
  says(
    'result-without-call',
    'google, vertex',
    'function response turn comes immediately after a function call turn',
    /function response turn comes immediately after/,
  ),
  says(
    'result-without-call',
    'mistral',
    'Unexpected tool call id X in tool results',
    /unexpected tool call id/,
  ),
  says(
    'call-without-result',
    'anthropic, bedrock, vertex',
    'tool_use ids were found without tool_result blocks immediately after',
    /tool_?use ids were found without tool_?result/,
  ),
  says(
    'call-without-result',
    'bedrock',
    'Expected toolResult blocks at messages.N.content for the following Ids',
    /expected toolresult blocks/,
  ),
  says(
    'call-without-result',
    'openai, azure, qwen, deepseek',
    'An assistant message with tool_calls must be followed by tool messages',
    /must be followed by tool messages|did not have response messages|insufficient tool messages/,
  ),
  says(
    'call-without-result',
    'openai, azure',
    'No tool output found for function call X',
    /no tool output found for/,
  ),
  says(
    'call-without-result',
    'google, vertex',
    'the number of function response parts is equal to the number of function call parts',
    /number of function response parts|function call turn comes immediately after/,
  ),
  says(
    'call-without-result',
    'mistral',
    'Not the same number of function calls and responses',
    /same number of function calls and responses/,
  ),

  // Texts and roles.
  says(
    'empty',
    'anthropic, vertex',
    'text content blocks must be non-empty',
    /content blocks must (?:be non-empty|contain non-whitespace)|must contain non-whitespace text/,
  ),
  says(
    'empty',
    'anthropic, vertex',
    'all messages must have non-empty content',
    /must have non-empty content|content cannot be empty/,
  ),
  says(
    'empty',
    'anthropic, bedrock, vertex',
    'final assistant content cannot end with trailing whitespace',
    /cannot end with trailing whitespace/,
  ),
  says(
    'empty',
    'bedrock',
    'The text field in the ContentBlock object at messages.N.content.N is blank',
    /field in the (?:contentblock|message) object at .{1,60} is (?:blank|empty)|toolresult cannot be empty|content field at .{1,60} cannot be empty/,
  ),
  says(
    'empty',
    'google, vertex',
    'contents.parts must not be empty',
    /parts must not be empty|must have a text parameter|must include at least one parts? field|required oneof field data must have one initialized field/,
  ),
  says(
    'empty',
    'mistral',
    'Assistant message must have either content or tool_calls, but not none',
    /must have either content or tool_calls/,
  ),
  says(
    'empty',
    'xai',
    'Each message must have at least one content element',
    /at least one (?:non-empty )?content element/,
  ),
  says(
    'empty',
    'deepseek, openai',
    'missing field content',
    /missing field content|content: expected a string, got null/,
  ),
  says(
    'role',
    'anthropic, mistral, vllm',
    'roles must alternate',
    /roles must alternate|first message must use the user role|unexpected role|expected last role|valid role: user, model|must end with a user message|assistant message prefill|system message must be at the beginning/,
  ),

  // Last: its words are the most general.
  says(
    'characters',
    'anthropic, bedrock, vertex',
    'The request body is not valid JSON: no low surrogate in string',
    /(?:no|invalid) (?:low|high) surrogate|(?:lone|unpaired) (?:leading |trailing )?surrogate|surrogates? not allowed|unexpected end of hex escape/,
  ),
  says(
    'characters',
    'openai, azure',
    'We could not parse the JSON body of your request',
    /could not parse the json body|body is not valid json|request body .{0,20}not valid json|invalid json (?:body|payload)|failed to parse the request body as json/,
  ),
  says(
    'characters',
    'google, mistral, groq',
    'invalid UTF-8',
    /invalid (?:utf-?8|unicode|control character)|control character .{0,40}(?:not allowed|in string)|(?:invalid|illegal|unsupported|disallowed) (?:unicode )?characters?|null (?:byte|character)/,
  ),
]
