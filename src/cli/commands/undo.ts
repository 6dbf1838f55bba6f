import type { Command as Commander } from 'commander'
import type { UndoOptions } from '../actions/undo.ts'
import { COMPACTION, SESSION } from '../argument-words.ts'
import type { CliCommand, Runner } from '../command.ts'
import { examples } from '../examples.ts'

export const undoCommand: CliCommand = {
  name: 'undo',
  register: (program, run) =>
    withOptions(
      program
        .command('undo')
        .summary('take a compaction, or a whole run, out of force')
        .argument('<session>', SESSION)
        .argument('<id>', COMPACTION)
        .description(
          'Takes a compaction out of force: what it hid shows again, byte for byte, and what it inserted is hidden. The id of a run undoes all of it, and @ is the newest run. Where others in force build on it they are named, and nothing is done (exit 4) unless --cascade says that they go too. A rewind after which messages were appended is undone with --both only: the former messages then show before them.',
        )
        .option('--cascade', 'undo first what builds on it')
        .option(
          '--both',
          'undo a rewind although messages were appended after it: the former ones show before them',
        ),
      examples([
        ['undo @ @', 'the newest run of the newest session'],
        ['undo billing eb16c59c', 'a compaction by the end of its id, as `undertext log` shows it'],
        ['undo @ eb16c59c --cascade --reason "the summary was wrong"', 'with all that builds on it, and why'],
      ]),
      'undo',
      run,
    ),
}

export const redoCommand: CliCommand = {
  name: 'redo',
  register: (program, run) =>
    withOptions(
      program
        .command('redo')
        .summary('put a compaction back that was undone')
        .argument('<session>', SESSION)
        .argument('<id>', COMPACTION)
        .description(
          'Puts a compaction back in force, or exactly what the last undo of a run took down, members of other runs that went with --cascade included: the same rows, the stored summary, no model. Where what it covers is not there to be covered nothing is done (exit 4); --cascade first puts back what it builds on.',
        )
        .option('--cascade', 'put back first what it builds on'),
      examples([
        ['redo @ @', 'the newest run of the newest session'],
        ['redo billing eb16c59c --cascade', 'a compaction, and what it builds on'],
      ]),
      'redo',
      run,
    ),
}

function withOptions(command: Commander, after: string, verb: 'undo' | 'redo', run: Runner): void {
  command
    .option('--reason <text>', 'why, for the audit')
    .option('--actor <name>', 'who, for the audit')
    .addHelpText('after', after)
    .action((session: string, id: string, options: UndoOptions) =>
      run(async (context) =>
        (await import('../actions/undo.ts')).undoOrRedo(context, verb, session, id, options),
      ),
    )
}
