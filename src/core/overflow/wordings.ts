import { words } from './error-texts.ts'

/*
 * The wordings of providers' errors about a request: a table with one row per wording, in the order of matching. A row has its kind, the
 * providers that are known to use it (`-`: no particular one), and a pattern for normalized text. docs/overflow-errors.md has samples in
 * the same order, which a test reads.
 *
 * In a pattern, `~60` is up to 60 characters of one sentence, and `{NAME}` is one of these parts.
 */
const PARTS: Readonly<Record<string, string>> = {
  /** Things that can be too long. */
  SUBJECT: String.raw`\b(?:prompt|input|message|conversation|request|query|history|chat|context|transcript|payload|text|document|content|sequence)s?`,
  TOO_LONG: 'too (?:long|large|big|many tokens)',
  /** Exceeding a limit. */
  OVER: `(?:exceed(?:s|ed|ing)?|overflow(?:s|ed|ing)?|surpass(?:es|ed)?|is over|are over|went over|goes over|(?:longer|larger|greater|bigger|higher|more) than|beyond|does(?:n't| not) fit|do(?:n't| not) fit|cannot fit|can't fit|too (?:long|large|big) (?:for|to fit))`,
  /** The limit of a model. */
  WINDOW: `(?:context[ _-]?(?:length|window|size|limit|budget)|max(?:imum)? (?:allowed )?context|model(?:'s)? (?:context|token limit|maximum (?:context|sequence|input|length|token)|max(?:imum)? (?:length|tokens|sequence|input))|n_ctx|num_ctx|max_model_len|max_seq_len|max_position_embeddings|max(?:imum)? position embeddings|max(?:imum)? (?:allowed )?(?:sequence length|model length|input length|prompt length|input tokens?|prompt tokens?|input size in tokens))`,
  TOKEN_LIMIT: String.raw`(?:(?:input |prompt |context |model )?token (?:limit|budget|maximum|window)|max(?:imum)? (?:allowed )?(?:number of )?(?:input |prompt |context )?tokens?|limit of [\d,._ ]+ ?k? (?:input |prompt |context )?tokens)`,
}

/** Names for groups of providers. The reader also understands `compatible`, all that use OpenAI's protocol, and `anyone`. */
const PROVIDERS: Readonly<Record<string, readonly string[]>> = {
  '-': [],
  /** Providers that serve Anthropic's models and pass on its errors. */
  claude: words('bedrock vertex azure openrouter github-copilot databricks snowflake litellm'),
}

/**
 * How certain it is that a wording means an overflow. `certain`: it occurs only in overflow errors. `likely`: an overflow unless the
 * error looks like a rate limit, billing, a login, a timeout or a limit of the answer. `loose`: common words, an overflow only if there
 * is no contrary sign. `size`: an overflow if there is a sign of tokens or length and no sign of a rate limit, whatever the status.
 */
type Grade = 'certain' | 'likely' | 'loose' | 'size'

/** The kind of content that a provider refuses in a request. */
export type RefusalKind =
  /** Characters or bytes that the provider cannot read as JSON. */
  | 'characters'
  /** A signature or an encrypted form, or reasoning that was changed or moved, or belongs to another conversation. */
  | 'reasoning'
  /** A call without the reasoning or the signature that belongs to it. */
  | 'reasoning-missing'
  /** A numbered item of the provider that was sent twice, lacks the item that belongs to it, or is no longer stored. */
  | 'item'
  /** Calls and results that don't belong together or are out of order. */
  | 'call-without-result'
  | 'result-without-call'
  /** The arguments of a call. */
  | 'input'
  /** The id or the name of a call. */
  | 'call'
  /** An image or a file that the provider cannot read or fetch. */
  | 'media'
  /** A text or a message without visible characters, or with trailing white space. */
  | 'empty'
  /** Marks of the prompt cache. */
  | 'cache-mark'
  /** An unknown field. */
  | 'unknown-field'
  /** The order or the names of roles. */
  | 'role'
  /** A place in the messages, for another reason. */
  | 'part'

export type Wording<K> = {
  /** The meaning of the wording: an overflow with its grade, or the kind of refused content. */
  readonly kind: K
  /** The providers that use the wording. The first is returned unless another of them was called. */
  readonly providers: readonly string[]
  readonly pattern: RegExp
}

function table<K extends string>(rows: string): readonly Wording<K>[] {
  return rows.split('\n').flatMap((row) => {
    const [, kind, names = '', pattern = ''] = /^ +(\S+) +(\S+) +(\S.*)$/.exec(row) ?? []
    if (kind === undefined) return []
    const providers = names.split(',').flatMap((name) => PROVIDERS[name] ?? [name])
    const source = pattern
      .replace(/\{([A-Z_]+)\}/g, (_, part: string) => PARTS[part]!)
      .replace(/~(\d+)/g, '[^.;{}]{0,$1}')
    return [{ kind: kind as K, providers, pattern: new RegExp(source) }]
  })
}

/** Errors about the length of a request, which a shorter history can fix. The first match determines the provider. */
export const OVERFLOW_WORDINGS = table<Grade>(String.raw`
# Wordings of one provider come first, because some contain a phrase of a later one ("prompt is too long: 9, model maximum
# context length: 8" is Fireworks, not Anthropic).
  certain openrouter             this endpoint's maximum context length
  certain github-copilot         prompt token count of \d[\d,]* exceeds the limit
  certain openai,compatible      invalid '(?:messages|input)': array too long
  certain openai,compatible      \$\.messages'? (?:is too long|exceeds the maximum length of [\d,]+ items)
  certain github-copilot         model_max_prompt_tokens_exceeded
  certain github-models          tokens_limit_reached
  certain github-models          request body too large for .{1,80} model\. max size: \d+ tokens
  certain xai                    maximum prompt length is
  certain fireworks              prompt is too long: [\d,]+, model maximum context length
  certain cerebras               current length is [\d,]+ while limit is
  certain cohere                 too many tokens: (?:the )?(?:total|(?:input )?size limit)
  certain cohere                 total number of tokens (?:in the prompt|\(prompt and prediction\)) cannot exceed
  certain perplexity             total length of all messages is too long
  certain llama.cpp,compatible   exceed_context_size_error
  certain llama.cpp,compatible   input (?:\([\d,]+ tokens\) )?is too large to process
  certain llama.cpp,compatible   exceeds the available context size
  certain llama.cpp,compatible   context size has been exceeded
  certain llama.cpp,compatible   requested tokens (?:\([\d,]+\) )?exceed context window of
  certain llama.cpp,compatible   prompt exceeds n_ctx
  certain lmstudio               tokens to keep from the initial prompt is (?:greater|larger) than the context length
  certain lmstudio               trying to keep the first [\d,]+ tokens when context
  certain lmstudio               cannot truncate prompt with n_keep
  certain lmstudio               mid-generation context overflow
  certain lmstudio               reached context length of [\d,]+ tokens with model
  certain ollama                 prompt too long; exceeded (?:max )?context length
  certain ollama                 input length exceeds (?:the )?(?:maximum )?context length
  certain vllm,compatible        prompt (?:\(length [\d,]+\)|length of [\d,]+) is longer than the maximum model length
  certain vllm,compatible        prompt \(total length [\d,]+\) is too long to fit
  certain vllm,compatible        max_tokens must be at least 1, got -\d{2,}
  certain vllm,compatible        passed [\d,]+ input (?:tokens|characters) and requested [\d,]+ output tokens
  certain vllm,compatible        input prompt \([\d,]+ tokens\) is too long and exceeds limit
  certain sglang,compatible      requested token count exceeds the model's maximum context length
  certain sglang,compatible      input length \([\d,]+(?: tokens)?\) exceeds (?:the )?(?:model's )?maximum (?:allowed|context) length
  certain together,compatible    input \([\d,]+ tokens\) is longer than the model's context length
  certain together,tgi,huggingface,sagemaker inputs tokens \+ max_new_tokens must be
  certain tgi,together,huggingface,sagemaker inputs must have less than [\d,]+ tokens
  certain moonshot               exceeded model token limit
  certain minimax                context window exceeds limit
  certain zai                    prompt exceeds max(?:imum)? length
  certain zai                    prompt 超长
  certain dashscope              range of input length should be
  certain siliconflow            length of prompt_tokens \([\d,]+\) must be less than max_seq_len
  certain cloudflare             estimated number of input and maximum output tokens \([\d,]+\) exceeded
  certain watsonx                number of input tokens [\d,]+ cannot exceed the total tokens limit
  certain snowflake              max tokens of [\d,]+ exceeded
  certain gpt4all                prompt size exceeds the context window size
  certain baidu                  the max input characters is \d
  certain baidu                  prompt tokens too long
  certain volcengine             total tokens of image and text exceed
  certain nvidia,compatible      prompt length \([\d,]+\) exceeds maximum input length
  certain google,vertex          input token count (?:is )?\(?[\d,]*\)? ?(?:exceeds the maximum|but (?:the |this )?model (?:only )?supports)
  certain google,vertex          input token count exceeds
  certain sambanova              provided prompt's length is [\d,]+, but the maximum sequence length is
  certain google                 cannot truncate to \d+, required \d
  certain bedrock                input is too long for requested model
  certain bedrock                input tokens exceeded: number of input tokens
  certain bedrock                model returned the following errors: (?:prompt|input) is too long
  certain bedrock                too many input tokens\. max input tokens
  certain bedrock                prompt tokens \([\d,]+\) exceed model maximum
  certain mistral                too large for model with [\d,]+ maximum context length
# The founding table in its order, with further wordings of the same providers. The limit of Claude's plan is 200,000 tokens:
# a shorter history is accepted.
  certain openai,compatible      this model's maximum context length is
  certain openai,compatible      your (?:input|request|prompt) exceeds? (?:the|this) (?:model's )?context window
  certain openai,compatible      exceeds? the context window of this model
  certain openai,azure,github-copilot input tokens exceed the configured limit
  likely  openai,compatible      reduce the length of the (?:input )?messages
  certain azure                  content_length_exceeded
  size    google,vertex          resource_exhausted
  likely  google,vertex          exceeds the maximum number of tokens
  loose   google,vertex          content is too long
  loose   bedrock                validationexception(?=[^]{0,2000}\btokens?\b)
  likely  bedrock                expected maxlength: \d{4}
  loose   bedrock,anthropic,replicate,huggingface,vertex input is too long
  loose   bedrock,compatible     exceeds the model's maximum
  certain mistral,compatible     context length exceeded
  loose   mistral,compatible     maximum number of tokens
  certain openrouter,compatible  context_length_exceeded
  certain anthropic,claude       prompt is too long(?!.{0,60}char)
  certain anthropic,claude       input length and max_tokens exceed
  certain anthropic,claude       extra usage is required for (?:long context|1m context)
  loose   anthropic,claude       too many tokens
  certain litellm,anyone         contextwindowexceedederror
# Of no particular provider: something is too long, and it concerns tokens or a context. The first is the error of the language
# model in a browser; full disks have the same name.
  certain -                      quotaexceedederror\b.{0,40}: ?(?:the )?input is too large
  likely  -                      context[ _-]?(?:length|window|size|limit|budget)[ _-]?(?:was |is |has been |have been |has |limit )?(?:exceeded|overflow|overrun|surpassed|too (?:long|large)|reached|full|exhausted|error)
  likely  -                      context[ _](?:overflow(?:ed)?|is too (?:long|large)|too (?:long|large))(?=$|[:.,\s!])
  likely  -                      context(?:length|window|size|limit|overflow)(?:size|limit)?(?:exceeded|overflow|error|toolong|toolarge)
  likely  -                      exceeded_?context_?(?:window|length|size)
  likely  -                      (?:prompt|input)_?(?:is_?)?too_?long
  likely  -                      (?:input|prompt)_tokens?_(?:limit_)?exceeded
  likely  -                      context_(?:window|limit|size|budget)_(?:size_)?(?:exceeded|overflow)
  likely  -                      context_too_(?:long|large)
  likely  -                      max_(?:prompt|input|context)_(?:tokens?|length)?[ _]?exceeded
  likely  -                      content_length_exceeds_threshold
  likely  -                      {OVER}~60{WINDOW}
  likely  -                      {WINDOW}~60(?:exceeded|overflowed|surpassed|overflows?\b)
  likely  -                      \d tokens?\b~30\bbut\b~30{WINDOW}~20\d
  likely  -                      {WINDOW}~60\d[^;{}]{0,60}\b(?:requested|sent|got|received|given|contains?|resulted|has|have|was|were|provided|passed)\b~30\d
  likely  -                      \bmax(?:imum)? context (?:length|window|size)~60(?:is|of|:|=) ?\d
  likely  -                      {SUBJECT}~60{TOO_LONG}~40\b(?:model|context|tokens?)\b
  likely  -                      \btokens?\b~40{SUBJECT}~40{TOO_LONG}
  likely  -                      {SUBJECT}~60\btokens?\b~60{OVER}~40(?:\b(?:limit|max(?:imum)?|allowed|capacity|window|model)|\d)
  likely  -                      {SUBJECT}~60\btokens?\b~60(?:must|should) (?:be|have|not be) (?:<=|<|at most|less than|fewer than|no more than|under|below|within|shorter than)~40\d
  likely  -                      {SUBJECT}~80{OVER}~40{TOKEN_LIMIT}
  likely  -                      \btokens?\b~40{OVER}~60(?:model|limit|max(?:imum)?|allowed)
  likely  -                      \btoken (?:limit|budget)s? (?:was |has been |is |of [\d,]+ (?:was |is |has been )?)?(?:exceeded|reached)
  loose   -                      \b(?:prompt|conversation|chat|chat history|message history|input prompt|input sequence|input context)(?: history)?(?: is| was| are|'s| got)? too (?:long|large|big)\b
  loose   -                      \btoo (?:long|large) (?:a )?(?:prompt|conversation|context|input context)
  loose   -                      input(?: is|'s)? too (?:long|large)\b(?=[^.]{0,60}(?:model|token|context))
  loose   -                      input too long
  likely  -                      \b(?:maximum|max)(?: allowed)?(?: number of)? (?:input|prompt|context) tokens?~40\d[^;{}]{0,40}\b(?:got|received|given|requested|sent|but|however|has|have|contains?|actual)\b
  likely  -                      {SUBJECT} length(?: \(?\d[\d,]{0,12}\)?)?(?: tokens?)?(?: \+ \d{1,12})?~30{OVER}~40(?:max(?:imum)?|limit|allowed)~40(?:tokens?|length|len)
  likely  -                      ran out of (?:room|space)~40context
  likely  -                      out of context (?:window|length|space)
  likely  -                      (?:shorten|reduc(?:e|ing)|trim)~60(?:prompt|conversation|history|input|messages?)~80context (?:window|length|size)
  likely  -                      (?:increas(?:e|ing)|larger|raise) (?:the )?context (?:window|length|size)~60(?:shorten|reduc)
  likely  -                      (?:chat|conversation)~20 length limit
  likely  -                      length limit for this (?:chat|conversation)
  likely  -                      exceed the length limit
  likely  -                      (?:上下文|输入|提示词?|消息|prompt|tokens?|文本|对话|messages?)[^。；]{0,24}(?:超过|超出|超长|过长|超限|太长|大于)
  likely  -                      最大(?:上下文|输入|提示)[^。；]{0,20}(?:为|是|:|：) ?\d
  likely  -                      \d ?k? (?:input |prompt |context )?tokens\b[^;{}]{0,60}(?:\bmax(?:imum)?\b|\blimit\b|\bonly\b|\ballowed\b|\bsupports?\b|>)[^;{}]{0,40}\d
  likely  -                      \b(?:max(?:imum)?|limit|supports?)\b[^;{}]{0,40}\d[^{}]{0,10}tokens?[^{}]{0,40}\b(?:sent|got|received|given|has|have|contains?|requested|provided|was|were)\b[^;{}]{0,20}\d
  likely  -                      \b(?:prompt|input|request|conversation|messages?) (?:has|have|contains?|is|was|of) [\d,._]{1,15} tokens\b[^{}]{0,40}\b(?:max(?:imum)?|limit|allowed|supports?)\b[^;{}]{0,40}\d
  likely  -                      too many (?:input|prompt|context) tokens
  likely  -                      \btokens? exceed(?:s|ed)? \d
  likely  -                      ^(?:error: )?max(?:imum)? context (?:length|window|size)\W{0,3}$
  likely  -                      token indices sequence length is longer than
`)

/** Errors about the media or the bytes of a request. The group of a pattern captures the maximum number of images. */
export const SIZE_WORDINGS = table<'images' | 'bytes'>(String.raw`
  images anthropic,bedrock,vertex image dimensions? exceeds? (?:the )?max
  images anthropic,bedrock,vertex for many-image requests
  images anthropic,bedrock,vertex image exceeds [\d.]+ ?[km]b maximum
  images bedrock                  too many images(?: and documents)?(?:: (?:\d+ \+ \d+|image_count) > (\d+))?
  images anthropic                too much media: \d+ document pages \+ \d+ images > (\d+)
  images azure                    maximum number of images \((\d+)\)
  images azure,groq               too many images[^.]{0,60}(?:\. max is|supports up to|maximum is) (\d+)
  images minimax                  request contains \d+ images, exceeding the maximum of (\d+)
  images vllm                     at most (\d+) (?:image|video|audio|item)\(?s?\)? may be provided
  images -                        (?:maximum|limit) of (\d+) images
  images -                        (?:number of images|image count)[^.]{0,40}(?:exceed|maximum|limit)
  images -                        image (?:file )?(?:is )?too large
  images -                        image size (?:must be|exceeds|is too)
  bytes  anthropic                request_too_large
  bytes  anthropic                request (?:exceeds the maximum (?:allowed )?size|entity too large|too large|body (?:is )?too large)
  bytes  google                   request payload size exceeds
  bytes  -                        (?:payload|content) too large
  bytes  -                        maximum content size limit
  bytes  -                        request size exceeds
  bytes  -                        body exceeded? (?:the )?[\w. ]{0,20}(?:limit|size)
`)

/** Errors about one part of a request. A wording that contains the words of a later one comes first. */
export const REFUSAL_WORDINGS = table<RefusalKind>(String.raw`
# Fields.
  cache-mark          anthropic,bedrock,vertex maximum of \d+ blocks with cache_control
  cache-mark          anthropic                cache_control block must not come after
  empty               anthropic                cache_control cannot be set for empty text blocks
  cache-mark          anthropic                cache_control (?:cannot|can not|may not|must not) be set
  unknown-field       anthropic,mistral        extra inputs are not permitted
  unknown-field       groq                     property [\w.]{1,100} is unsupported
  unknown-field       google,vertex            unknown name .{1,100}: cannot find field
  unknown-field       google,vertex            invalid json payload received\. unknown name
  unknown-field       openai,azure             unknown parameter: (?:messages|input)\b
# Arguments, before characters: both say that JSON is not valid.
  input               anthropic,vertex         input should be (?:a valid dictionary|an object)
  input               anthropic,vertex         tool_?use\.input: field required
  input               bedrock                  value at messages\.\d+\.content\.\d+\.tooluse\.input is invalid
  input               openai,azure             function\.arguments:? string too long
  input               openai,azure             input\[\d+\]\.arguments:? string too long
  input               qwen                     function\.arguments parameter .{0,40}must be in json
  input               openai,mistral,llama.cpp (?:arguments|args)\b.{0,60}(?:not valid json|invalid json|must be (?:a |in )?(?:valid )?json|as json|malformed|should be a json)
  input               openai,mistral,llama.cpp (?:failed to parse|invalid) (?:tool call |function )arguments
# Media, before characters: both speak of encodings.
  media               anthropic,bedrock        could not process (?:the )?(?:image|pdf|document|file)
  media               anthropic,bedrock        image (?:exceeds|dimensions exceed)
  media               anthropic                (?:image|document|pdf|file)\b.{0,60}(?:does not match|doesn't match|appears to be)
  media               anthropic                specified using the .{1,30} media type
  media               anthropic                pdf\b.{0,40}(?:not valid|invalid|corrupt|password|encrypted)
  media               anthropic                m(?:edia|ime)_?type: (?:input should be|unsupported|mime type must be)
  media               anthropic                unsupported media[ _]?type
  media               anthropic                (?:unable|failed|error|timeout|could not) ?(?:while |to )?(?:download|fetch|retriev|access|resolv)\w* .{0,40}(?:image|file|url|media|document)
  media               openai,azure,xai         uploaded an unsupported (?:image|file)
  media               openai,azure,xai         image urls? (?:are|is) only (?:allowed|supported)
  media               openai,azure,xai         image_url is only supported
  media               openai,azure,xai         unsupported image
  media               openai,azure,xai         invalid[ _]image
  media               openai,azure,xai         image[ _]parse[ _]error
  media               openai,azure             (?:image|base64|file)[ _](?:data|url|uri|content)? ?(?:is |was )?(?:not valid|invalid|corrupt|malformed|cannot be (?:read|decoded))
  media               openai,azure             (?:not|invalid) (?:a )?(?:valid )?(?:base64|data url|image url|image data)
  media               openai,azure             (?:invalid|unsupported|not supported) mime[ _]?type
  media               openai,azure             mime[ _]?type .{0,80}(?:not supported|unsupported|invalid)
  media               openai,azure,mistral     invalid url
  media               openai,azure,mistral     url .{0,40}(?:not valid|invalid|not accessible|must be (?:a valid|https?))
  media               google,vertex            unable to process (?:the )?(?:input )?(?:image|file|video|audio|document)
  media               google,vertex            provided image is not valid
  media               deepseek,groq            unknown variant (?:image_url|input_image|file)
  media               deepseek,groq            (?:does not|doesn't) support (?:image|vision|file|document)
# Reasoning, and what a provider numbered.
  item                openai,azure             duplicate item found
  item                openai,azure             was provided without its required
  item                openai,azure             item with id .{1,100} not found
  item                openai,azure             items are not persisted
  item                openai,azure             expected an id that begins with
  item                openai,azure             expected container_id: \w
  reasoning-missing   anthropic,bedrock,vertex expected thinking(?: or redacted_thinking)?,? but found
  reasoning-missing   anthropic,bedrock,vertex must start with a thinking block
  reasoning-missing   google,vertex            missing a thought_?signature
  reasoning-missing   deepseek                 reasoning_content .{0,60}must be passed back
  reasoning-missing   deepseek                 missing (?:the )?reasoning_content
  reasoning           anthropic,bedrock,vertex invalid signature in (?:redacted_)?thinking
  reasoning           anthropic,bedrock,vertex bound to a different conversation
  reasoning           anthropic,bedrock,vertex thinking\.signature: field required
  reasoning           anthropic,bedrock,vertex thinking blocks? .{0,60}cannot be modified
  reasoning           anthropic                final block .{0,40}cannot be thinking
  reasoning           anthropic                thinking block .{0,60}(?:invalid|must contain|not allowed)
  reasoning           anthropic                each thinking block must contain
  reasoning           google,vertex            corrupted thought signature
  reasoning           google,vertex            thought[ _]?signature .{0,20}(?:is )?(?:not valid|invalid|corrupt)
  reasoning           google,vertex            invalid thought[ _]?signature
  reasoning           openai,azure             encrypted[ _]content .{0,200}(?:could not be|cannot be|can't be) (?:verified|decrypted|parsed)
  reasoning           openai,azure             invalid_encrypted_content
# Calls and results.
  call                mistral                  tool call id was .{0,100} but must be
  call                openai,azure             (?:tool_calls\[\d+\]\.id|call_id|tool_call_id|\.id):? (?:string too long|empty string|string does not match)
  call                openai,azure             function\.name:? (?:string (?:does not match|too long)|empty string)
  call                openai,azure             \.name:? string (?:does not match|too long)
  call                anthropic,vertex         tool_(?:use|result)\.(?:id|tool_use_id|name): string should
  call                anthropic,vertex         tool_?use ids must be unique
  call                anthropic,vertex         duplicate (?:tool_?use|tool call|call) ids?
  call                bedrock                  tool(?:use|result)\.(?:tooluseid|name) failed to satisfy constraint
  call                bedrock                  duplicate ids? .{0,60}tooluse
  result-without-call anthropic,vertex         unexpected tool_use_id found in tool_result
  result-without-call anthropic,vertex         tool_result block must have a corresponding tool_use
  result-without-call anthropic,vertex         multiple tool_result blocks with id
  result-without-call anthropic,vertex         tool_result block\(s\) provided when
  result-without-call bedrock                  toolresult blocks .{0,60}exceeds the number of tooluse
  result-without-call openai,azure,deepseek    must be a response to a prece+ding message with tool_calls
  result-without-call openai,azure             no tool call found for
  result-without-call google,vertex            function response turn comes immediately after
  result-without-call mistral                  unexpected tool call id
  call-without-result anthropic,bedrock,vertex tool_?use ids were found without tool_?result
  call-without-result bedrock                  expected toolresult blocks
  call-without-result openai,azure,qwen,deepseek must be followed by tool messages
  call-without-result openai,azure,qwen,deepseek did not have response messages
  call-without-result openai,azure,qwen,deepseek insufficient tool messages
  call-without-result openai,azure             no tool output found for
  call-without-result google,vertex            number of function response parts
  call-without-result google,vertex            function call turn comes immediately after
  call-without-result mistral                  same number of function calls and responses
# Texts and roles.
  empty               anthropic,vertex         content blocks must (?:be non-empty|contain non-whitespace)
  empty               anthropic,vertex         must contain non-whitespace text
  empty               anthropic,vertex         must have non-empty content
  empty               anthropic,vertex         content cannot be empty
  empty               anthropic,bedrock,vertex cannot end with trailing whitespace
  empty               bedrock                  field in the (?:contentblock|message) object at .{1,60} is (?:blank|empty)
  empty               bedrock                  toolresult cannot be empty
  empty               bedrock                  content field at .{1,60} cannot be empty
  empty               google,vertex            parts must not be empty
  empty               google,vertex            must have a text parameter
  empty               google,vertex            must include at least one parts? field
  empty               google,vertex            required oneof field data must have one initialized field
  empty               mistral                  must have either content or tool_calls
  empty               xai                      at least one (?:non-empty )?content element
  empty               deepseek,openai          missing field content
  empty               deepseek,openai          content: expected a string, got null
  role                anthropic,mistral,vllm   roles must alternate
  role                anthropic,mistral,vllm   first message must use the user role
  role                anthropic,mistral,vllm   unexpected role
  role                anthropic,mistral,vllm   expected last role
  role                anthropic,mistral,vllm   valid role: user, model
  role                anthropic,mistral,vllm   must end with a user message
  role                anthropic,mistral,vllm   assistant message prefill
  role                anthropic,mistral,vllm   system message must be at the beginning
# Last: its words are the most general.
  characters          anthropic,bedrock,vertex (?:no|invalid) (?:low|high) surrogate
  characters          anthropic,bedrock,vertex (?:lone|unpaired) (?:leading |trailing )?surrogate
  characters          anthropic,bedrock,vertex surrogates? not allowed
  characters          anthropic,bedrock,vertex unexpected end of hex escape
  characters          openai,azure             could not parse the json body
  characters          openai,azure             body is not valid json
  characters          openai,azure             request body .{0,20}not valid json
  characters          openai,azure             invalid json (?:body|payload)
  characters          openai,azure             failed to parse the request body as json
  characters          google,mistral,groq      invalid (?:utf-?8|unicode|control character)
  characters          google,mistral,groq      control character .{0,40}(?:not allowed|in string)
  characters          google,mistral,groq      (?:invalid|illegal|unsupported|disallowed) (?:unicode )?characters?
  characters          google,mistral,groq      null (?:byte|character)
`)
