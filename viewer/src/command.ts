// What is open as a command line: options in, options out, and the same as Python.
import type { Recipe } from './session.ts';

/** Words "--name value …" of a recipe as a table; the operand is under ''. Flags have the value ''. */
export function parse(words: string[]): Map<string, string> {
  const flags = new Set(['--passive', '--strict', '--keep-energy', '--split-impacts', '--sequential', '--no-verdict']);
  const out = new Map<string, string>();
  for (let i = 0; i < words.length; i++) {
    const w = words[i];
    if (!w.startsWith('--')) { out.set('', w); continue; }
    const equals = w.indexOf('=');
    if (equals > 0) out.set(w.slice(0, equals), w.slice(equals + 1));
    else if (flags.has(w)) out.set(w, '');
    else out.set(w, words[++i] ?? '');
  }
  return out;
}

export function unparse(options: Map<string, string>): string[] {
  const out = [options.get('') ?? ''];
  for (const [name, value] of options) if (name) out.push(...(value === '' ? [name] : [name, value]));
  return out;
}

/** "a=1,b=2" of --set as a table, and back. */
export function parseSet(text: string): Map<string, string> {
  return new Map(text.split(',').filter(Boolean).map((p) => { const i = p.indexOf('='); return [p.slice(0, i), p.slice(i + 1)]; }));
}
export function unparseSet(set: Map<string, string>): string { return [...set].map(([k, v]) => `${k}=${v}`).join(','); }

function quoted(word: string): string { return /^[\w./,=:@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`; }

function ownWords(recipe: Recipe): Map<string, string> {
  const o = parse(recipe.words);
  o.delete('--no-verdict');
  o.set('', (o.get('') ?? '').replace(/^\/+/, ''));
  return o;
}

export function asCommand(recipe: Recipe, duration?: number): string {
  const o = ownWords(recipe);
  const recording = o.get('')!.endsWith('.mcap');
  if (!recording && duration !== undefined) o.set('--time', String(duration));
  return ['knuckle', recording ? 'view' : 'run', ...unparse(o)].map(quoted).join(' ');
}

const PYTHON_NAMES: Record<string, string> = {
  '--formulation': 'formulation', '--law': 'law', '--stepper': 'stepper', '--solver': 'solver', '--dt': 'dt',
};

export function asPython(recipe: Recipe, duration: number): string {
  const o = ownWords(recipe), text = (s: string) => JSON.stringify(s);
  const value = (s: string) => (/^-?[\d.]+(e[+-]?\d+)?$/i.test(s) ? s : text(s));
  const load = [text(o.get('')!), ...[...parseSet(o.get('--set') ?? '')].map(([k, v]) => `${k}=${value(v)}`)];
  if (o.get('--base') === 'floating') load.push('base="floating"');
  if (o.has('--passive')) load.push('passive=True');
  // Surfaces, gravity and height are keywords for a model file; a scene has parameters of its own.
  const said = /\.(xml|mjcf|urdf)$/i.test(o.get('')!) ? ['--mu', '--restitution', '--drop', '--gravity', '--overlaps'].filter((k) => o.has(k)) : [];
  for (const k of said) load.push(`${k.slice(2)}=${k === '--gravity' ? `[${o.get(k)!.split(',').join(', ')}]` : value(o.get(k)!)}`);
  const settings = Object.entries(PYTHON_NAMES).filter(([k]) => o.has(k)).map(([k, n]) => `${n}=${value(o.get(k)!)}`);
  if (o.has('--friction')) settings.push(`friction=${o.get('--friction')!.replace(/^poly/, '').replace('cone', '0')}`);
  if (o.has('--sequential')) settings.push('sequential=True');
  const lines = ['import knuckle', '', `model = knuckle.load(${load.join(', ')})`, `sim = knuckle.Sim(${['model', ...settings].join(', ')})`,
    `sim.run(${duration})`, 'print(sim.report)'];
  const rest = ['--mu', '--restitution', '--gravity', '--drop', '--keyframe'].filter((k) => o.has(k) && !said.includes(k));
  if (rest.length) lines.push('', `# not said here: ${rest.map((k) => `${k} ${o.get(k)}`.trim()).join(' ')}; the command has it`);
  return lines.join('\n') + '\n';
}
