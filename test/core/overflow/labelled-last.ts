import type { Overflow } from './labelled.ts'

/* Collected last, after everything else stood, mostly from the tests of other programs that tell these errors apart. */

export const LAST_OVERFLOWS: readonly Overflow[] = [
  [
    'Failed to start sampling: [input_too_large] Current message (1149677 tokens) exceeds budget (975424 tokens)',
    null,
    1149677,
    975424,
  ],
  [
    {
      status: 400,
      error_code: 'BAD_REQUEST',
      message:
        '{"external_model_message":{"error":{"message":"prompt is too long: 230000 tokens > 200000 maximum"}}}',
    },
    'anthropic',
    230000,
    200000,
  ],
  [
    "Requested generation length 100 is not possible! The provided prompt's length is 9000, but the maximum sequence length is 8192.",
    'sambanova',
    9000,
    8192,
  ],
  [
    'too many tokens: the input size limit exceeded by 3000 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens.',
    'cohere',
    undefined,
    128000,
  ],
  ['Request has 9000 tokens but the context window is 8192', null, 9000, 8192],
  // An event of a stream of Bedrock.
  [{ validationException: { message: 'Input is too long for requested model.' } }, 'bedrock'],
  ['input (5000 tokens) exceeds num_ctx (4096)', null, 5000, 4096],
  // What was sent comes first, and is not the limit.
  ['Context window exceeded (9000/8192)', null, 9000, 8192],
  ['context length exceeded: 9000 tokens (limit 8192)', 'mistral', 9000, 8192],
  ['Context window exceeded: 9,000 tokens used of 8,192 available', null, 9000, 8192],
  ['Conversation exceeds context window (9000 / 8192 tokens)', null, 9000, 8192],
  ['agent.agent:Number of input tokens (79090) exceeds max', null, 79090],
  ['token exceed 4000 error', null, undefined, 4000],
  ['Maximum context length', null],
  ['maximum context length exceeded', 'mistral'],
  [
    "Error code: 413 - {'error': {'code': 'tokens_limit_reached', 'message': 'Provider API error: Request body too large for gpt-4o model. Max size: 8000 tokens.'}}",
    'github-models',
    undefined,
    8000,
  ],
  ['LLM request rejected: Request size exceeds model context window', null],
  ['The request size exceeds model context window limit', null],
  ["Validation Error: your prompt is longer than the model's context length", null],
  [
    'Failed to call Bedrock: ValidationException(ValidationException { message: Some("The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum")',
    'bedrock',
    227255,
    200000,
  ],
  [
    {
      name: 'AI_TypeValidationError',
      message:
        'Type validation failed: Value: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}.\nError message: [\n  {\n    "code": "invalid_union"\n  }\n]',
    },
    'openai',
  ],
  [{ error: { message: 'Prompt tokens too long', type: 'invalid_request_error' } }, 'baidu'],
  [
    { statusCode: 400, responseBody: 'Bad request: {"error":"input is too long for requested model"}' },
    'bedrock',
  ],
  [
    'Cerebras_Error: Please reduce the length of the messages or completion. Current length is 8193 while limit is 8192',
    'cerebras',
    8193,
    8192,
  ],
  ['ContextLengthExceeded: prompt too long', null],
  [
    Object.assign(new Error('LLM failed'), {
      cause: { status: 400, body: { error: { code: 'context_window_exceeded' } } },
    }),
    null,
  ],
  [
    'UnprocessableEntityError: 422 Input validation error: `inputs` must have less than 8192 tokens. Given: 9001',
    'tgi',
    9001,
    8192,
  ],
  [
    {
      response: {
        status: 400,
        data: {
          error: { code: 'context_length_exceeded', message: 'maximum context length is 128000 tokens' },
        },
      },
    },
    'openrouter',
    undefined,
    128000,
  ],
  [
    'Vertex AI error: 400 The input token count (1,300,000) exceeds the maximum number of tokens allowed (1,048,576)',
    'google',
    1300000,
    1048576,
  ],
  [
    "groq.BadRequestError: Error code: 400 - {'error': {'message': 'Please reduce the length of the messages or completion.', 'type': 'invalid_request_error', 'param': 'messages', 'code': 'context_length_exceeded'}}",
    'openai',
  ],
  [
    "400 Bad Request: requested tokens (9000) exceed the model's maximum context length (8192)",
    null,
    9000,
    8192,
  ],
  [
    {
      status: 400,
      error: {
        type: 'invalid_request_error',
        code: 'string_above_max_length',
        message: 'prompt is too long: 210000 tokens > 200000 maximum',
      },
    },
    'anthropic',
    210000,
    200000,
  ],
  [
    "openai.error.InvalidRequestError: This model's maximum context length is 4097 tokens, however you requested 4226 tokens (3970 in your prompt; 256 for the completion).",
    'openai',
    4226,
    4097,
  ],
  [
    'Mistral API error 400: {"message":"Prompt contains 40961 tokens and 0 draft tokens, too large for model with 32768 maximum context length"}',
    'mistral',
    40961,
    32768,
  ],
  [
    'Error in chat: AiError: AiError: The estimated number of input and maximum output tokens (10542) exceeded this model context window limit (8192).',
    'cloudflare',
    10542,
    8192,
  ],
  [
    {
      errors: [
        {
          code: 5021,
          message:
            'AiError: AiError: The estimated number of input and maximum output tokens (10542) exceeded this model context window limit (8192). (d0a)',
        },
      ],
      success: false,
    },
    'cloudflare',
    10542,
    8192,
  ],
  ['Input prompt (5012 tokens) is too long and exceeds limit of 4096', 'vllm', 5012, 4096],
  ['Total tokens of image and text exceed max message tokens. Request id: 02174', 'volcengine'],
  [
    {
      error: {
        code: 'InvalidParameter',
        message: 'Input length 130000 exceeds the maximum length 98304.',
        param: 'messages',
      },
    },
    null,
    130000,
    98304,
  ],
  ['generate: prompt is too long (5012 tokens, max 4092)', 'anthropic', 5012, 4092],
  ['input is too long (5012 tokens > 4096 tokens)', 'bedrock', 5012, 4096],
  ['ResponseError: input length exceeds maximum context length', 'ollama'],
]

export const LAST_OTHERS: readonly unknown[] = [
  'Blog post: what to do when you see the error prompt is too long',
  'How to avoid prompt is too long: 5 tips for your model',
  {
    status: 400,
    code: 'token_limit_exceeded',
    message:
      'Enqueued token limit reached for gpt-4o in organization org-x. Limit: 90,000 enqueued tokens. Please try again once some in_progress batches have been completed.',
  },
  'Number of request tokens has exceeded your per-model limit',
  'FailoverError: Number of request tokens has exceeded your per-model limit',
  'input token limit exceeded for this minute',
  '429: Allocated token quota for the client is exceeded',
  'Resource quota exceeded: Token limit exceeded: 397006 / 300000',
  '402 payment required: token limit',
  'You have exceeded your 5M token limit. Upgrade or top up',
  'No user query found in messages',
  'Error rendering prompt with jinja template: "No user query found in messages."',
  'context window guard: model has a small context window (4096 < 16000)',
  'The model `gpt-4-32k` does not exist or you do not have access to it',
  "Invalid value for 'model': context-window-large",
  'reasoning is required and cannot be disabled',
  'input exceeds maximum file size',
  'image dimensions exceed max allowed size for many-image requests: 2000 pixels',
  'messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels',
  'tool_use.name: String should have at most 200 characters',
  'thread is too long',
  'This model does not support function calling with this many tools: maximum 128',
  'Too many tools: the request contains 200 tools, max is 128',
  'The prompt contains prohibited content',
  'Prompt was blocked',
  'Model not found: max_tokens',
  "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
  'max_output_tokens: Expected a value >= 16, but got 1 instead.',
  'Budget exceeded: max budget 10 USD, current 12 USD',
  'ExceededTokenBudget: Key over 1h token budget. Limit 100000',
  'litellm.BudgetExceededError: Budget has been exceeded! Current cost: 2.0, Max budget: 1.0',
  'litellm.RateLimitError: AnthropicException - {"type":"error","error":{"type":"rate_limit_error","message":"Number of input tokens has exceeded your per-minute rate limit"}}',
  'Deployment over defined tpm limit=1000. current usage=1200',
  'Max parallel request limit reached',
  'The response was filtered due to the prompt triggering content management policy',
  { statusCode: 529, message: 'Overloaded' },
  { code: 'ERR_HTTP_HEADERS_SENT', message: 'Cannot set headers' },
  { code: 11200, message: 'AppIdNoAuthError: token limit' },
  {
    status: 400,
    message:
      "Invalid 'max_tokens': integer below minimum value. Expected a value >= 1, but got -186 instead.",
  },
  "max_tokens (70000) exceeds the model's maximum (65536)",
  'The maximum number of tokens to generate must be at least 1',
  { status: 413, message: 'Payload Too Large' },
  { type: 'error', error: { type: 'request_too_large', message: 'Request too large' } },
  {
    status: 413,
    error: { message: 'Request Entity Too Large', type: 'invalid_request_error', code: 'request_too_large' },
  },
  'Tokens per day (TPD) limit reached',
  { status: 404, message: "The model 'context-length' does not exist" },
  { status: 400, message: 'temperature must be less than 2' },
  'stack size exceeded',
  'transaction context limit',
  'Audio too long: maximum 25 MB',
  "input too long for field 'name'",
  'A prompt name is too long',
  'The conversation title is too long',
  'the request has too many parameters',
]
