import { join, relative } from 'node:path'
import ts from 'typescript'
import { SAMPLES } from './samples.ts'

/* The whole source with its types, and samples of what the tests in this folder look for. It is compiled once. */

const ROOT = join(import.meta.dirname, '..', '..')
export const SOURCE = join(ROOT, 'src')

const sampleTexts = new Map(Object.entries(SAMPLES).map(([name, text]) => [pathOf(name), text]))

/** Where a sample is, as if it were a file of the verbs. */
function pathOf(sample: string): string {
  return join(SOURCE, 'storage', 'sql', `sample-${sample}.ts`)
}

function compile(): { readonly program: ts.Program; readonly files: readonly string[] } {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options, fileNames } = ts.parseJsonConfigFileContent({ ...config, include: ['src'] }, ts.sys, ROOT)
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (file) => sampleTexts.has(file) || fileExists.call(host, file)
  host.getSourceFile = (file, ...rest) => {
    const text = sampleTexts.get(file)
    return text === undefined
      ? getSourceFile.call(host, file, ...rest)
      : ts.createSourceFile(file, text, rest[0], true)
  }
  return { program: ts.createProgram([...fileNames, ...sampleTexts.keys()], options, host), files: fileNames }
}

const { program, files } = compile()
export const checker = program.getTypeChecker()

/** The files of the source below folders or with these paths, all of them by default. */
export function sourceFiles(...below: readonly string[]): ts.SourceFile[] {
  const paths = below.map((path) => join(SOURCE, path))
  return files
    .filter(
      (file) => paths.length === 0 || paths.some((path) => file === path || file.startsWith(`${path}/`)),
    )
    .map((file) => program.getSourceFile(file)!)
}

export function sampleFile(name: keyof typeof SAMPLES): ts.SourceFile {
  return program.getSourceFile(pathOf(name))!
}

/** The lines of a sample that end with a mark, from 1 on. */
export function marked(name: keyof typeof SAMPLES, mark: string): number[] {
  return SAMPLES[name].split('\n').flatMap((line, index) => (line.endsWith(`// ${mark}`) ? [index + 1] : []))
}

export type Place = { readonly file: string; readonly line: number; readonly text: string }

export function placeOf(node: ts.Node): Place {
  const source = node.getSourceFile()
  const { line } = source.getLineAndCharacterOfPosition(node.getStart(source))
  return { file: relative(SOURCE, source.fileName), line: line + 1, text: node.getText(source) }
}

/** Every node of a file. */
export function* nodesOf(file: ts.SourceFile): Generator<ts.Node> {
  const pending: ts.Node[] = [file]
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    yield node
    const below: ts.Node[] = []
    ts.forEachChild(node, (child) => {
      below.push(child)
    })
    for (const child of below.reverse()) pending.push(child)
  }
}
