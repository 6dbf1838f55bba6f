import {
  anthropicError,
  apiCallError,
  awsError,
  axiosError,
  googleError,
  openaiError,
  retryError,
} from './shapes.ts'

/*
 * Errors as providers sent them, collected from public issue trackers, and the shapes libraries give them. Labelled
 * before the wordings were first run on them. `labelled-later.ts` was collected after.
 */

/** Error, provider, and the figures it names: sent and allowed, in tokens. */
export type Overflow = readonly [
  error: unknown,
  provider: string | null,
  actualTokens?: number | undefined,
  budgetTokens?: number | undefined,
]

const OPENAI = 'https://api.openai.com/v1/chat/completions'

export const OVERFLOWS: readonly Overflow[] = [
  // OpenAI, chat
  [
    openaiError(400, {
      message:
        "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2050 instead.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'array_above_max_length',
    }),
    'openai',
  ],
  [
    new Error(
      "This model's maximum context length is 4097 tokens. However, your messages resulted in 4294 tokens. Please reduce the length of the messages.",
    ),
    'openai',
    4294,
    4097,
  ],
  [
    {
      error: {
        message:
          "This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
    'openai',
    204308,
    128000,
  ],
  [
    "This model's maximum context length is 4097 tokens, however you requested 6539 tokens (6283 in your prompt; 256 for the completion). Please reduce your prompt; or completion length.",
    'openai',
    6539,
    4097,
  ],
  [
    "This model's maximum context length is 4097 tokens. However, you requested 10057 tokens (57 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.",
    'openai',
    10057,
    4097,
  ],
  [
    "This model's maximum context length is 16,385 tokens. However, your messages resulted in 17,001 tokens.",
    'openai',
    17001,
    16385,
  ],
  [
    openaiError(400, {
      message:
        'Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      param: 'messages',
    }),
    'openai',
    509178,
    272000,
  ],
  [
    apiCallError(OPENAI, 400, {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens (8000 in the messages, 1000 in the functions). Please reduce the length of the messages or functions.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }),
    'openai',
    9000,
    8192,
  ],
  [
    retryError(
      apiCallError(OPENAI, 500, 'upstream hiccup'),
      apiCallError(OPENAI, 400, {
        error: {
          message:
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
          code: 'context_length_exceeded',
        },
      }),
    ),
    'openai',
    9001,
    8192,
  ],
  // OpenAI, responses
  [
    {
      type: 'error',
      sequence_number: 2,
      error: {
        type: 'invalid_request_error',
        code: 'context_length_exceeded',
        message:
          'Your input exceeds the context window of this model. Please adjust your input and try again.',
        param: 'input',
      },
    },
    'openai',
  ],
  [
    openaiError(400, {
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      type: 'invalid_request_error',
      code: 'context_length_exceeded',
      param: 'input',
    }),
    'openai',
  ],
  ["Your input exceeds the model's context window", 'openai'],
  ["Your input exceeds this model's context window.", 'openai'],
  [
    new Error(
      'Codex error: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your\n input and try again.","param":"input"},"sequence_number":2}',
    ),
    'openai',
  ],
  [
    {
      type: 'response.failed',
      response: {
        id: 'resp_1',
        status: 'failed',
        error: {
          code: 'context_length_exceeded',
          message: 'Your input exceeds the context window of this model.',
        },
        output: [],
      },
    },
    'openai',
  ],
  [
    'event: error\ndata: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again.","param":"input"}}\n\n',
    'openai',
  ],
  // the seed's table, as codes and phrases
  [Object.assign(new Error('Bad Request'), { code: 'context_length_exceeded' }), 'openrouter'],
  [{ code: 'context_length_exceeded' }, 'openrouter'],
  ['content_length_exceeded', 'azure'],
  ['RESOURCE_EXHAUSTED: input token limit of the model exceeded', 'google'],
  ['content is too long', 'google'],
  ['Content is too long for the model', 'google'],
  ['ValidationException: number of input tokens is above the limit', 'bedrock'],
  ['Input is too long', 'bedrock'],
  ["The request exceeds the model's maximum", 'bedrock'],
  ['context length exceeded', 'mistral'],
  ['The maximum number of tokens was passed', 'mistral'],
  ['too many tokens', 'anthropic'],
  ['reduce the length of the messages', 'openai'],
  // Azure
  [
    apiCallError('https://acme.openai.azure.com/openai/deployments/gpt-4o/chat/completions', 400, {
      error: {
        message:
          "This model's maximum context length is 128000 tokens. However, your messages resulted in 130500 tokens. Please reduce the length of the messages.",
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }),
    'azure',
    130500,
    128000,
  ],
  [
    'litellm.BadRequestError: AzureException BadRequestError - Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509178 tokens. Please reduce the length of the messages.',
    'azure',
    509178,
    272000,
  ],
  // Anthropic
  [
    anthropicError(400, 'invalid_request_error', 'prompt is too long: 219898 tokens > 200000 maximum'),
    'anthropic',
    219898,
    200000,
  ],
  [
    anthropicError(
      400,
      'invalid_request_error',
      'input length and `max_tokens` exceed context limit: 189136 + 20000 > 204648, decrease input length or `max_tokens` and try again',
    ),
    'anthropic',
    209136,
    204648,
  ],
  [
    'API Error: 400 {"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: \n     184915 + 20000 > 204648, decrease input length or `max_tokens` and try again"}}',
    'anthropic',
    204915,
    204648,
  ],
  [
    apiCallError('https://api.anthropic.com/v1/messages', 400, {
      type: 'error',
      error: { type: 'invalid_request_error', message: 'prompt is too long: 213462 tokens > 200000 maximum' },
    }),
    'anthropic',
    213462,
    200000,
  ],
  [
    new Error('summary failed', {
      cause: new Error('chain failed', {
        cause: anthropicError(
          400,
          'invalid_request_error',
          'prompt is too long: 208423 tokens > 200000 maximum',
        ),
      }),
    }),
    'anthropic',
    208423,
    200000,
  ],
  // Google and Vertex
  [
    googleError(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
    ),
    'google',
    1196265,
    1048575,
  ],
  [
    googleError(
      400,
      'INVALID_ARGUMENT',
      'The input token count exceeds the maximum number of tokens allowed (1048576).',
    ),
    'google',
    undefined,
    1048576,
  ],
  [
    '✕ [API Error: [{\n    "error": {\n      "code": 400,\n      "message": "The input token count (2551556) exceeds the maximum number of tokens allowed (1048576).",\n      "errors": [\n        {\n          "message": "The input token count (2551556) exceeds the maximum number of tokens allowed (1048576).",       \n          "domain": "global",\n          "reason": "badRequest"\n        }\n      ],\n      "status": "INVALID_ARGUMENT"\n    }\n  }\n  ]]',
    'google',
    2551556,
    1048576,
  ],
  [
    '[API Error: {"error":{"message":"{\\n  \\"error\\": {\\n    \\"code\\": 400,\\n    \\"message\\": \\"The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).\\",\\n    \\"status\\": \\"INVALID_ARGUMENT\\"\\n  }\\n}\\n","code":400,"status":"Bad Request"}}]',
    'google',
    3475108,
    1048576,
  ],
  [
    '[API Error: got status: INVALID_ARGUMENT. {"error":{"code":400,"message":"The input token count (132478) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]',
    'google',
    132478,
    131072,
  ],
  [
    "google.genai.errors.ClientError: 400 INVALID_ARGUMENT. {'error': {'code': 400, 'message': 'The input token count (81881) exceeds the maximum number of tokens allowed (65536).', 'status': 'INVALID_ARGUMENT'}}",
    'google',
    81881,
    65536,
  ],
  [
    apiCallError(
      'https://us-central1-aiplatform.googleapis.com/v1/projects/p/locations/us-central1/publishers/google/models/gemini-2.5-pro:streamGenerateContent',
      400,
      {
        error: {
          code: 400,
          message:
            'Unable to submit request because the input token count is 1100000 but model only supports up to 1048576. Reduce the input token count and try again.',
          status: 'INVALID_ARGUMENT',
        },
      },
    ),
    'google',
    1100000,
    1048576,
  ],
  // Bedrock
  [awsError('ValidationException', 400, 'Input is too long for requested model.'), 'bedrock'],
  [
    {
      errorType: 'ValidationException',
      errorMessage: 'Input is too long for requested model.',
      name: 'ValidationException',
      $fault: 'client',
      $metadata: { httpStatusCode: 400 },
      stack: ['ValidationException'],
    },
    'bedrock',
  ],
  [
    'An error occurred (validationException) when calling the InvokeModelWithResponseStream operation: Input is too long for requested model.',
    'bedrock',
  ],
  [
    awsError(
      'ValidationException',
      400,
      'The model returned the following errors: prompt is too long: 227255 tokens > 200000 maximum',
    ),
    'bedrock',
    227255,
    200000,
  ],
  ['The model returned the following errors: Input is too long for requested model.', 'bedrock'],
  [
    awsError(
      'ValidationException',
      400,
      'Too many input tokens. Max input tokens: 8192, request input token count: 11234 ',
    ),
    'bedrock',
    11234,
    8192,
  ],
  [
    awsError(
      'ValidationException',
      400,
      'Malformed input request: expected maxLength: 50000, actual: 83456, please reformat your input and try again.',
    ),
    'bedrock',
  ],
  [
    'Amazon Bedrock Mantle OpenAI Responses API error (400): invalid_prompt: prompt tokens (330095) exceed model maximum (278528) for base model abc',
    'bedrock',
    330095,
    278528,
  ],
  ['ValidationException: Input exceeds the max input token limit', 'bedrock'],
  ['ModelStreamErrorException: Input is too long', 'bedrock'],
  // Mistral
  [
    '{"object":"error","message":"Prompt contains 40961 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}',
    'mistral',
    40961,
    32768,
  ],
  // OpenRouter
  [
    {
      error: {
        message:
          "This endpoint's maximum context length is 262000 tokens. However, you requested about 263390 tokens (658 of text input, 732 of tool input, 262000 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.",
        code: 400,
        metadata: { provider_name: null },
      },
    },
    'openrouter',
    263390,
    262000,
  ],
  [
    'Error: 400 This endpoint\'s maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.',
    'openrouter',
    42832,
    32768,
  ],
  [
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: {
          raw: '{"error":{"message":"This model\'s maximum prompt length is 131072 but the request contains 537812 tokens.","type":"invalid_request_error"}}',
          provider_name: 'xAI',
        },
      },
    },
    'xai',
    537812,
    131072,
  ],
  [
    'Provider returned error: Input length 131393 exceeds the maximum allowed input length of 131040 tokens.',
    null,
    131393,
    131040,
  ],
  [
    {
      id: 'gen-1',
      choices: [
        {
          delta: { content: '' },
          finish_reason: 'error',
          error: {
            code: 400,
            message:
              "This endpoint's maximum context length is 163840 tokens. However, you requested about 170000 tokens.",
          },
        },
      ],
    },
    'openrouter',
    170000,
    163840,
  ],
  // xAI, Groq, DeepSeek
  [
    apiCallError('https://api.x.ai/v1/chat/completions', 400, {
      code: 'Client specified an invalid argument',
      error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    }),
    'xai',
    537812,
    131072,
  ],
  [
    apiCallError('https://api.groq.com/openai/v1/chat/completions', 400, {
      error: {
        message: 'Please reduce the length of the messages or completion.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    }),
    'groq',
  ],
  [
    apiCallError('https://api.deepseek.com/chat/completions', 400, {
      error: {
        message:
          "This model's maximum context length is 65536 tokens. However, you requested 70210 tokens (66114 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.",
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_request_error',
      },
    }),
    'deepseek',
    70210,
    65536,
  ],
  // Together, Fireworks, Cerebras
  [
    "400 The input (516368 tokens) is longer than the model's context length (262144 tokens).",
    'together',
    516368,
    262144,
  ],
  [
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32769. Given: 36000 `inputs` tokens and 4096 `max_new_tokens`',
    'together',
    40096,
    32769,
  ],
  [
    {
      error: {
        object: 'error',
        type: 'invalid_request_error',
        message: 'The prompt is too long: 131073, model maximum context length: 131071',
      },
    },
    'fireworks',
    131073,
    131071,
  ],
  [
    openaiError(400, {
      message:
        'Please reduce the length of the messages or completion. Current length is 70164 while limit is 65536',
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    }),
    'cerebras',
    70164,
    65536,
  ],
  // local servers
  [
    {
      error: {
        code: 400,
        message:
          'the request exceeds the available context size. try increasing the context size or enable context shift',
        type: 'exceed_context_size_error',
        n_prompt_tokens: 14429,
        n_ctx: 8192,
      },
    },
    'llama.cpp',
    14429,
    8192,
  ],
  [
    'request (15000 tokens) exceeds the available context size (8192 tokens), try increasing it',
    'llama.cpp',
    15000,
    8192,
  ],
  [{ status: 500, message: 'Context size has been exceeded.' }, 'llama.cpp'],
  ['ValueError: Requested tokens (2285) exceed context window of 2048', 'llama.cpp', 2285, 2048],
  ['ERROR: The prompt size exceeds the context window size and cannot be processed.', 'gpt4all'],
  [
    'The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input',
    'lmstudio',
  ],
  [
    'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input. Error Data: n/a, Additional Data: n/a',
    'lmstudio',
    111490,
    32768,
  ],
  [{ error: 'Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)' }, 'lmstudio', 15028, 7424],
  [
    'Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat.',
    'lmstudio',
    undefined,
    4096,
  ],
  ['400 `prompt too long; exceeded max context length by 100918 tokens`', 'ollama'],
  [{ error: 'the input length exceeds the context length' }, 'ollama'],
  [
    "ValueError: This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages",
    'openai',
    122946,
    16384,
  ],
  [
    {
      object: 'error',
      message:
        "This model's maximum context length is 262144 tokens. However, you requested 0 output tokens and your prompt contains at least 262145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=262145)",
      type: 'BadRequestError',
      param: 'input_tokens',
      code: 400,
    },
    'openai',
    262145,
    262144,
  ],
  [
    "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens. Please reduce the length of the input messages.",
    'openai',
    5000,
    4096,
  ],
  [
    'The decoder prompt (length 5120) is longer than the maximum model length of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens.',
    'vllm',
    5120,
    4096,
  ],
  [
    "'max_tokens' or 'max_completion_tokens' is too large: 8000. This model's maximum context length is 8192 tokens and your request has 1000 input tokens (8000 > 8192 - 1000).",
    'openai',
    9000,
    8192,
  ],
  [
    "You passed 5000 input tokens and requested 100 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=5000)",
    'vllm',
    5100,
    4096,
  ],
  ['Input validation error: `inputs` must have less than 1024 tokens. Given: 3000', 'tgi', 3000, 1024],
  [
    "Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 150000 tokens: 140000 tokens from the input messages and 10000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.",
    'sglang',
    150000,
    131072,
  ],
  [
    "Error: 400 Input length (265330) exceeds model's maximum context length (262144).",
    'sglang',
    265330,
    262144,
  ],
  // LiteLLM
  [
    'litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209303 tokens > 200000 maximum"}}\'',
    'anthropic',
    209303,
    200000,
  ],
  [
    'litellm.BadRequestError: OpenAIException - Error code: 400 - {\'error\': {\'message\': \'litellm.BadRequestError: BedrockException - {"message":"messages.32.content: Conversation blocks and tool result blocks cannot be provided in the same turn."}\\n. Enable \\\'litellm.modify_params=True\\\'.\\nReceived Model Group=claude-3-5-sonnet-20241022\\nError doing the fallback: litellm.BadRequestError: litellm.ContextWindowExceededError: AnthropicError - {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 209303 tokens > 200000 maximum"}}\', \'type\': None, \'param\': None, \'code\': \'400\'}}',
    'anthropic',
    209303,
    200000,
  ],
  [
    'ContextWindowExceededError: OpenAIException - Input tokens exceed the configured limit of 272000 tokens.',
    'openai',
    undefined,
    272000,
  ],
  [
    { name: 'ContextWindowExceededError', message: 'Context window exceeded', llm_provider: 'sagemaker' },
    'sagemaker',
  ],
  [
    "Error: 503 litellm.ServiceUnavailableError: litellm.MidStreamFallbackError: litellm.APIConnectionError: APIConnectionError: OpenAIException - Requested token count exceeds the model's maximum context length of 131072 tokens.",
    'sglang',
    undefined,
    131072,
  ],
  // others
  [
    'Request Failed: 400 {"error":{"message":"prompt token count of 1236658 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}',
    'github-copilot',
    1236658,
    128000,
  ],
  ['Request body too large for gpt-4o model. Max size: 8000 tokens.', 'github-models', undefined, 8000],
  [
    'Invalid request: Your request exceeded model token limit: 131072 (requested: 140321)',
    'moonshot',
    140321,
    131072,
  ],
  [
    { base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit (2013)' } },
    'minimax',
  ],
  [{ error: { code: '1261', message: 'Prompt exceeds max length' } }, 'zai'],
  [
    'too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000. Try using a shorter prompt, or enabling prompt truncating.',
    'cohere',
    5000,
    4081,
  ],
  [
    'CohereError: too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value.',
    'cohere',
    6354,
    2048,
  ],
  [
    "openai.BadRequestError: Error code: 400 - {'error': {'code': 'invalid_parameter_error', 'message': '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]', 'param': None, 'type': 'invalid_request_error'}, 'request_id': '81a373d6-28bd-9968-8335-e22a2127c41b'}",
    'dashscope',
    undefined,
    983616,
  ],
  [
    { code: 'InvalidParameter', message: 'Range of input length should be [1, 6000]', request_id: 'x' },
    'dashscope',
    undefined,
    6000,
  ],
  [
    {
      code: -32603,
      message: 'Internal error',
      data: {
        details: '<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 983616]',
      },
    },
    'dashscope',
    undefined,
    983616,
  ],
  ['The total length of all messages is too long.', 'perplexity'],
  ['WARNING:ctransformers:Number of tokens (757) exceeded maximum context length (512).', null, 757, 512],
  ['Model context window is 128k tokens, you requested 256k tokens', null, 256000, 128000],
  ['Context window exceeded: requested 12000 tokens', null, 12000],
  ['Prompt too large for this model', null],
  ['input is too long for model gpt-5.4', 'bedrock'],
  [
    "An error occurred: The input exceeds the model's maximum context limit of 8192 tokens.",
    'bedrock',
    undefined,
    8192,
  ],
  ["Your prompt is longer than the model's context length of 2048.", null, undefined, 2048],
  // bytes, axios, lists
  [
    Buffer.from('{"error":{"message":"prompt is too long: 210000 tokens \\u003e 200000 maximum"}}'),
    'anthropic',
    210000,
    200000,
  ],
  [
    new TextEncoder().encode(
      'data: {"error":{"message":"This model\\u0027s maximum context length is 8192 tokens. However, you requested 9192 tokens"}}\n\n',
    ),
    'openai',
    9192,
    8192,
  ],
  [
    axiosError(400, {
      error: {
        message: "This model's maximum context length is 4096 tokens. However, you requested 5096 tokens",
        code: 'context_length_exceeded',
      },
    }),
    'openai',
    5096,
    4096,
  ],
  [
    axiosError(
      400,
      '{"error":{"message":"This model\'s maximum prompt length is 4096 but the request contains 5096 tokens"}}',
    ),
    'xai',
    5096,
    4096,
  ],
  [
    new AggregateError(
      [new Error('socket hang up'), new Error('prompt is too long: 210001 tokens > 200000 maximum')],
      'All providers failed',
    ),
    'anthropic',
    210001,
    200000,
  ],
  [
    {
      role: 'assistant',
      content: [],
      stopReason: 'error',
      errorMessage: 'prompt is too long: 213462 tokens > 200000 maximum',
    },
    'anthropic',
    213462,
    200000,
  ],
]

export const OTHERS: readonly unknown[] = [
  // nothing at all
  undefined,
  null,
  '',
  413,
  {},
  [],
  new Error(''),
  new Error('Bad Request'),
  // rate limits
  awsError('ThrottlingException', 429, 'Too many tokens, please wait before trying again.'),
  awsError('ThrottlingException', 400, 'Too many tokens'),
  'ThrottlingException: Too many tokens, please wait before trying again.',
  'Throttling error: Too many tokens, please wait before trying again.',
  'AI_RetryError: Failed after 3 attempts, Last error: undefined: Too many tokens, please wait before trying again.',
  'An error occurred (ThrottlingException) when calling the InvokeModel operation (reached max retries: 4): Too many tokens, please wait before trying again.',
  'ThrottlingException(properties: AWSBedrockRuntime.ThrottlingException.Properties(message: Optional("Too many tokens, please wait before trying again.")), httpResponse: Status Code: HTTP status code: 429',
  'Too many tokens per day, please wait before trying again.',
  retryError(
    awsError('ThrottlingException', 429, 'Too many tokens'),
    awsError('ThrottlingException', 429, 'Too many tokens'),
  ),
  openaiError(429, {
    message:
      'Request too large for gpt-4o in organization org-abc on tokens per min (TPM): Limit 30000, Requested 45123. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.',
    type: 'tokens',
    code: 'rate_limit_exceeded',
  }),
  openaiError(429, {
    message:
      'Rate limit reached for gpt-4 in organization org-abc on tokens per min (TPM): Limit 10000, Used 9500, Requested 1200. Please try again in 4.2s.',
    type: 'tokens',
    code: 'rate_limit_exceeded',
  }),
  apiCallError('https://api.groq.com/openai/v1/chat/completions', 413, {
    error: {
      message:
        'Request too large for model `llama-3.1-8b-instant` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 8345, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today',
      type: 'tokens',
      code: 'rate_limit_exceeded',
    },
  }),
  anthropicError(
    429,
    'rate_limit_error',
    "This request would exceed your organization's rate limit of 40,000 input tokens per minute. For details, refer to: https://docs.anthropic.com/en/api/rate-limits; see the response headers for current usage. Please reduce the prompt length or the maximum tokens requested, or try again later.",
  ),
  anthropicError(
    429,
    'rate_limit_error',
    'Number of request tokens has exceeded your per-minute rate limit (https://docs.anthropic.com/en/api/rate-limits); see the response headers for current usage.',
  ),
  anthropicError(429, 'rate_limit_error', 'Number of request tokens has exceeded your daily rate limit'),
  'request reached organization TPD rate limit, current: 1506556, limit: 1500000',
  'Your request exceeds the limit of 30000 tokens per minute',
  'Too many tokens per minute',
  'Number of request tokens has exceeded your per-model limit. Rate limit.',
  '429 Too Many Requests: request exceeds rate limit',
  { error: { code: '1302', message: 'Rate limit reached for requests' } },
  // quota and bills
  googleError(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'),
  googleError(
    429,
    'RESOURCE_EXHAUSTED',
    'You exceeded your current quota, please check your plan and billing details. Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 250000, model: gemini-2.5-flash\nPlease retry in 26.4s.',
  ),
  googleError(
    429,
    'RESOURCE_EXHAUSTED',
    'No capacity available for model gemini-3-flash-preview on the server',
  ),
  'RESOURCE_EXHAUSTED',
  '8 RESOURCE_EXHAUSTED: Received message larger than max (5000000 vs. 4194304)',
  openaiError(429, {
    message: 'You exceeded your current quota, please check your plan and billing details.',
    type: 'insufficient_quota',
    code: 'insufficient_quota',
  }),
  anthropicError(
    400,
    'invalid_request_error',
    'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
  ),
  {
    error: {
      code: 402,
      message:
        'This request requires more credits, or fewer max_tokens. You requested up to 64000 tokens, but can only afford 2000. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account',
    },
  },
  {
    error: {
      code: 402,
      message:
        'Prompt tokens limit exceeded: 24517 > 8123. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account',
    },
  },
  // logins
  awsError('UnrecognizedClientException', 403, 'The security token included in the request is invalid.'),
  'ValidationException: The security token included in the request is invalid',
  awsError('ExpiredTokenException', 403, 'The security token included in the request is expired'),
  'InvalidSignatureException: token length exceeds the limit',
  new Error('invalid token'),
  { status: 401, message: 'Token expired' },
  { name: 'JsonWebTokenError', message: 'jwt malformed' },
  'ForbiddenError: invalid csrf token',
  "ValidationException: 1 validation error detected: Value 'abc' at 'nextToken' failed to satisfy constraint: Member must have length less than or equal to 2048",
  "ValidationException: 1 validation error detected: Value at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 64",
  // limits of the answer
  openaiError(400, {
    message:
      'max_tokens is too large: 10000. This model supports at most 4096 completion tokens, whereas you provided 10000.',
    type: 'invalid_request_error',
    param: 'max_tokens',
    code: 'invalid_value',
  }),
  anthropicError(
    400,
    'invalid_request_error',
    'max_tokens: 64000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet-20241022',
  ),
  'max_tokens must be at least 1',
  '`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model',
  'Invalid max_tokens value, the valid range of max_tokens is [1, 8192]',
  '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 8192]',
  awsError(
    'ValidationException',
    400,
    'The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096.',
  ),
  googleError(
    400,
    'INVALID_ARGUMENT',
    'Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 8193 (exclusive). Update the value and try again.',
  ),
  'Could not finish the message because max_tokens or model output limit was reached. Please try again with higher max_tokens.',
  Object.assign(
    new Error(
      'Could not parse response content as the length limit was reached - CompletionUsage(completion_tokens=16384, prompt_tokens=812, total_tokens=17196)',
    ),
    { name: 'LengthFinishReasonError' },
  ),
  "API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.",
  anthropicError(
    400,
    'invalid_request_error',
    '`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation',
  ),
  { choices: [{ finish_reason: 'length', message: { role: 'assistant', content: 'prompt is too long' } }] },
  {
    type: 'message',
    role: 'assistant',
    stop_reason: 'max_tokens',
    content: [{ type: 'text', text: 'context_length_exceeded' }],
  },
  // validation of other things
  openaiError(400, {
    message:
      "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.",
    type: 'invalid_request_error',
    param: 'messages[1].content',
    code: 'string_above_max_length',
  }),
  openaiError(400, {
    message:
      "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.",
    type: 'invalid_request_error',
    param: 'tools',
    code: 'array_above_max_length',
  }),
  "Invalid 'tools[0].function.name': string too long. Expected a string with maximum length 64, but got a string with length 91 instead.",
  anthropicError(400, 'invalid_request_error', 'messages: at least one message is required'),
  anthropicError(
    400,
    'invalid_request_error',
    'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes',
  ),
  'name too long: maximum 64 characters',
  'comment: content is too long (maximum is 280 characters)',
  { errors: { content: 'content is too long, maximum 5000 characters' } },
  'Password is too long (maximum is 72 characters)',
  'Bad Request: message is too long',
  'input exceeds maximum file size',
  'expected 1536 dimensions, not 768',
  '<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx/1.24.0</center>\r\n</body>\r\n</html>\r\n',
  Object.assign(new Error('request entity too large'), {
    name: 'PayloadTooLargeError',
    type: 'entity.too.large',
    status: 413,
    expected: 200000,
    limit: 102400,
  }),
  '414 URI Too Long',
  'Model context window too small (minimum is 128k tokens)',
  'File content (28375 tokens) exceeds maximum allowed tokens (25000). Please use offset and limit parameters to read specific portions of the file.',
  // parsers, machines
  new SyntaxError('Unexpected token < in JSON at position 0'),
  new SyntaxError('too many tokens in expression'),
  new RangeError('Maximum call stack size exceeded'),
  'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
  'rpc error: code = DeadlineExceeded desc = context deadline exceeded',
  'error: context "minikube" does not exist',
  'context canceled',
  new DOMException('The operation timed out.', 'TimeoutError'),
  '500 `model runner crashed unexpectedly`',
  { status: 529, error: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } } },
  // sizes in bytes
  anthropicError(413, 'request_too_large', 'Request exceeds the maximum size'),
  {
    type: 'error',
    error: {
      type: 'request_too_large',
      message: 'Request exceeds the maximum allowed number of bytes. The maximum request size is 32 MB.',
    },
  },
  // what quotes an overflow without being one
  { role: 'user', content: 'prompt is too long: 210000 tokens > 200000 maximum' },
  { message: { role: 'user', content: 'context_length_exceeded' } },
  apiCallError(OPENAI, 401, {
    error: {
      message: 'Incorrect API key provided: sk-abc.',
      type: 'invalid_request_error',
      code: 'invalid_api_key',
    },
  }),
  apiCallError(OPENAI, 500, {
    error: { message: 'The server had an error processing your request.', type: 'server_error' },
  }),
  axiosError(502, '<html>Bad gateway</html>'),
  '{"detail":[{"type":"missing","loc":["body","model"],"msg":"Field required","input":{"messages":[{"role":"user","content":"prompt is too long: 2 tokens > 1 maximum"}]}}]}',
]
