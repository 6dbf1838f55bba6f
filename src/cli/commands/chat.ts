import type { ChatOptions } from '../actions/chat.ts'
import { SESSION } from '../argument-words.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'
import { share, wholeNumber } from '../options.ts'
import { systemFileOption, systemOption } from '../system-prompt.ts'

export const chatCommand: CliCommand = {
  name: 'chat',
  register: (program, run) =>
    program
      .command('chat')
      .summary('talk with a model, or with an echo; the session is kept')
      .description(
        'A conversation at the terminal, kept in the store and held within the window. Without a session a new one begins; with one it goes on. Where nobody types, each line of the input is a prompt (a backslash at its end joins the next line) and the answers are written to the output. Without --provider, --url or --model the offline echo answers.',
      )
      .argument('[session]', `the session to go on with: ${SESSION}`)
      .option('--provider <name>', 'ask a provider of the AI SDK: anthropic, openai, google, mistral …')
      .option('--model <name>', 'which model; PROVIDER/MODEL says both')
      .option('--provider-package <name>', 'the package of that provider, if it is not @ai-sdk/PROVIDER')
      .option('--url <address>', 'ask an OpenAI-compatible address, such as http://localhost:11434/v1')
      .option(
        '--api-key-env <name>',
        'the environment variable with the key for --url (default OPENAI_API_KEY)',
      )
      .option('--echo', 'ask nobody: say again what was said; --model says for whose window is counted')
      .option('--context-window <tokens>', 'the window of the model, where it is not known', wholeNumber(1))
      .option(
        '--compact-threshold <number>',
        'usage at which the history is compacted, 0 to 1 (default 0.8)',
        share,
      )
      .option('--disable-compaction', 'compact nothing unasked, and say nothing of usage')
      .option(
        '--summary-model <name>',
        'let this model of the same provider write summaries; else they are made offline',
      )
      .addOption(systemOption())
      .addOption(systemFileOption())
      .option('--max-tokens <tokens>', 'most tokens of an answer', wholeNumber(1))
      .option('--title <text>', 'what a new session is called')
      .option('--message <text>', 'say this one thing, print the answer, and end')
      .addHelpText(
        'after',
        examples([
          [
            'chat --provider anthropic --model claude-sonnet-4-5',
            'a new session; needs the packages ai and @ai-sdk/anthropic',
          ],
          ['chat --url http://localhost:11434/v1 --model llama3.2', 'a model on this machine'],
          ['chat @ --url http://localhost:11434/v1', 'go on with the newest session and its model'],
          ['chat @ --message "And in Rust?" --provider openai', 'one turn, for scripts'],
        ]),
      )
      .action((session: string | undefined, options: ChatOptions) =>
        run(async (context) => (await import('../actions/chat.ts')).chat(context, session, options)),
      ),
}
