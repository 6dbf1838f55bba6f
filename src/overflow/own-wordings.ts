import type { Wording } from './general-wordings.ts'

/**
 * Wordings of a single provider. They precede the general table, because some contain a phrase of it ("prompt is too long: 9, model
 * maximum context length: 8" is Fireworks, not Anthropic).
 */
export const OWN_WORDINGS: readonly Wording[] = [
  own('openrouter', /this endpoint's maximum context length/, "This endpoint's maximum context length is"),
  own(
    'github-copilot',
    /prompt token count of \d[\d,]* exceeds the limit/,
    'prompt token count of N exceeds the limit of M',
  ),
  own('github-copilot', /model_max_prompt_tokens_exceeded/, 'code model_max_prompt_tokens_exceeded'),
  own(
    'github-models',
    /tokens_limit_reached|request body too large for .{1,80} model\. max size: \d+ tokens/,
    'Request body too large for … model. Max size: N tokens, code tokens_limit_reached',
  ),
  own(
    'xai',
    /maximum prompt length is/,
    "This model's maximum prompt length is N but the request contains M tokens",
  ),
  own(
    'fireworks',
    /prompt is too long: [\d,]+, model maximum context length/,
    'The prompt is too long: N, model maximum context length: M',
  ),
  own(
    'cerebras',
    /current length is [\d,]+ while limit is/,
    'Please reduce the length of the messages or completion. Current length is N while limit is M',
  ),
  own(
    'cohere',
    /too many tokens: (?:the )?(?:total|(?:input )?size limit)|total number of tokens (?:in the prompt|\(prompt and prediction\)) cannot exceed/,
    'too many tokens: total number of tokens in the prompt cannot exceed N - received M',
  ),
  own(
    'perplexity',
    /total length of all messages is too long/,
    'The total length of all messages is too long',
  ),
  {
    ...own(
      'llama.cpp',
      /exceed_context_size_error|input (?:\([\d,]+ tokens\) )?is too large to process|exceeds the available context size|context size has been exceeded/,
      'the request exceeds the available context size, type exceed_context_size_error',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'llama.cpp',
      /requested tokens (?:\([\d,]+\) )?exceed context window of|prompt exceeds n_ctx/,
      'Requested tokens (N) exceed context window of M',
    ),
    also: 'compatible',
  },
  own(
    'lmstudio',
    /tokens to keep from the initial prompt is (?:greater|larger) than the context length/,
    'The number of tokens to keep from the initial prompt is greater than the context length',
  ),
  own(
    'lmstudio',
    /trying to keep the first [\d,]+ tokens when context|cannot truncate prompt with n_keep/,
    'Trying to keep the first N tokens when context the overflows',
  ),
  own(
    'lmstudio',
    /mid-generation context overflow|reached context length of [\d,]+ tokens with model/,
    'Reached context length of N tokens with model … that does not currently support mid-generation context overflow',
  ),
  own(
    'ollama',
    /prompt too long; exceeded (?:max )?context length|input length exceeds (?:the )?(?:maximum )?context length/,
    'prompt too long; exceeded max context length by N tokens',
  ),
  {
    ...own(
      'vllm',
      /prompt (?:\(length [\d,]+\)|length of [\d,]+) is longer than the maximum model length|prompt \(total length [\d,]+\) is too long to fit|max_tokens must be at least 1, got -\d{2,}|passed [\d,]+ input (?:tokens|characters) and requested [\d,]+ output tokens|input prompt \([\d,]+ tokens\) is too long and exceeds limit/,
      'The decoder prompt (length N) is longer than the maximum model length of M',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'sglang',
      /requested token count exceeds the model's maximum context length|input length \([\d,]+(?: tokens)?\) exceeds (?:the )?(?:model's )?maximum (?:allowed|context) length/,
      "Requested token count exceeds the model's maximum context length of N tokens",
    ),
    also: 'compatible',
  },
  {
    ...own(
      'together',
      /input \([\d,]+ tokens\) is longer than the model's context length/,
      "The input (N tokens) is longer than the model's context length (M tokens)",
    ),
    also: 'compatible',
  },
  {
    ...own(
      'together',
      /inputs tokens \+ max_new_tokens must be/,
      '`inputs` tokens + `max_new_tokens` must be <= N. Given: …',
    ),
    also: ['tgi', 'huggingface', 'sagemaker'],
  },
  {
    ...own(
      'tgi',
      /inputs must have less than [\d,]+ tokens/,
      '`inputs` must have less than N tokens. Given: M',
    ),
    also: ['together', 'huggingface', 'sagemaker'],
  },
  own('moonshot', /exceeded model token limit/, 'Your request exceeded model token limit: N (requested: M)'),
  own('minimax', /context window exceeds limit/, 'invalid params, context window exceeds limit'),
  own('zai', /prompt exceeds max(?:imum)? length|prompt 超长/, 'Prompt exceeds max length, code 1261'),
  own('dashscope', /range of input length should be/, 'Range of input length should be [1, N]'),
  own(
    'siliconflow',
    /length of prompt_tokens \([\d,]+\) must be less than max_seq_len/,
    'length of prompt_tokens (N) must be less than max_seq_len (M)',
  ),
  own(
    'cloudflare',
    /estimated number of input and maximum output tokens \([\d,]+\) exceeded/,
    'The estimated number of input and maximum output tokens (N) exceeded this model context window limit (M)',
  ),
  own(
    'watsonx',
    /number of input tokens [\d,]+ cannot exceed the total tokens limit/,
    'the number of input tokens N cannot exceed the total tokens limit M for this model',
  ),
  own('snowflake', /max tokens of [\d,]+ exceeded/, 'max tokens of N exceeded'),
  own(
    'gpt4all',
    /prompt size exceeds the context window size/,
    'The prompt size exceeds the context window size and cannot be processed',
  ),
  own(
    'baidu',
    /the max input characters is \d|prompt tokens too long/,
    'the max input characters is N; Prompt tokens too long',
  ),
  own(
    'volcengine',
    /total tokens of image and text exceed/,
    'Total tokens of image and text exceed max message tokens',
  ),
  {
    ...own(
      'nvidia',
      /prompt length \([\d,]+\) exceeds maximum input length/,
      'Prompt length (N) exceeds maximum input length (M)',
    ),
    also: 'compatible',
  },
  {
    ...own(
      'google',
      /input token count (?:is )?\(?[\d,]*\)? ?(?:exceeds the maximum|but (?:the |this )?model (?:only )?supports)|input token count exceeds/,
      'The input token count (N) exceeds the maximum number of tokens allowed (M)',
    ),
    also: ['vertex'],
  },
  own(
    'sambanova',
    /provided prompt's length is [\d,]+, but the maximum sequence length is/,
    "The provided prompt's length is N, but the maximum sequence length is M",
  ),
  own('google', /cannot truncate to \d+, required \d/, 'Cannot truncate to N, required M'),
  own(
    'bedrock',
    /input is too long for requested model|input tokens exceeded: number of input tokens|model returned the following errors: (?:prompt|input) is too long|too many input tokens\. max input tokens|prompt tokens \([\d,]+\) exceed model maximum/,
    'Input is too long for requested model; Too many input tokens. Max input tokens: N, request input token count: M',
  ),
  own(
    'mistral',
    /too large for model with [\d,]+ maximum context length/,
    'Prompt contains N tokens and D draft tokens, too large for model with M maximum context length',
  ),
]

function own(provider: string, pattern: RegExp, sample: string): Wording {
  return { provider, trust: 'certain', pattern, sample }
}
