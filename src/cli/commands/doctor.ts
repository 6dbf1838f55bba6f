import type { DoctorOptions } from '../actions/doctor.ts'
import type { CliCommand } from '../command.ts'
import { examples } from '../examples.ts'

export const doctorCommand: CliCommand = {
  name: 'doctor',
  register: (program, run) =>
    program
      .command('doctor')
      .summary('look at the store file, versions and settings')
      .description(
        'Tells which store is used and why, how its file is, which versions run, which optional packages are there, what the settings are and where each comes from, and what the terminal can do. It works where the store is missing, damaged or none, and exits with 1 when something is wrong.',
      )
      .option('--deep', 'read the whole file (pragma integrity_check); a minute for a gigabyte')
      .option('--upgrade', 'bring a store of an older version up to this one')
      .addHelpText(
        'after',
        examples([
          ['doctor', 'when something is odd, begin here'],
          ['doctor --deep --db chats.db', 'is this file sound?'],
          ['doctor --json | jq \'.settings[] | select(.source != "default")\'', 'settings somebody changed'],
        ]),
      )
      .action((options: DoctorOptions) =>
        run(async (context) => (await import('../actions/doctor.ts')).doctor(context, options)),
      ),
}
