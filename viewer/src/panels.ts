// The left side: what is run and how, what is drawn, and what can be moved by hand.
import type { Catalogue, Param } from '../engine/types.ts';
import { parse, parseSet, unparse, unparseSet } from './command.ts';
import { el } from './dom.ts';
import { exact, num } from './format.ts';
import type { Session } from './session.ts';
import { FORCE } from './theme.ts';

export function section(title: string, open: boolean, ...children: (Node | string)[]): HTMLDetailsElement {
  return el('details', { class: 'section', open }, el('summary', {}, title), el('div', { class: 'body' }, ...children));
}

export function field(label: string, input: HTMLElement, title = ''): HTMLElement {
  return el('label', { class: 'field', title }, el('span', {}, label), input);
}

function select(options: { value: string; text: string; title?: string }[], value: string, onchange: (v: string) => void): HTMLSelectElement {
  const s = el('select', { onchange: () => onchange(s.value) }, ...options.map((o) => el('option', { value: o.value, title: o.title }, o.text)));
  s.value = value;
  return s;
}

function number(value: string, placeholder: string, onchange: (v: string) => void, more: Record<string, string> = {}): HTMLInputElement {
  const i = el('input', { type: 'number', step: 'any', value, placeholder, ...more, onchange: () => onchange(i.value) });
  return i;
}

export interface Change { words: string[] }

/** Which scene, its parameters, and the choices of physics: every change is a new command line. */
export class RunPanel {
  readonly element = el('div', {});
  private readonly catalogue: Catalogue;
  private readonly open: (words: string[]) => void;
  private options = new Map<string, string>();
  private session!: Session;
  private scenes: HTMLElement;
  private search: HTMLInputElement;

  constructor(catalogue: Catalogue, open: (words: string[]) => void, chooseFile: () => void) {
    this.catalogue = catalogue;
    this.open = open;
    this.scenes = el('div', { class: 'scenes' });
    this.search = el('input', { type: 'search', placeholder: `find among ${catalogue.scenes.length} scenes`, oninput: () => this.list(), 'aria-label': 'find a scene' });
    this.file = el('button', { type: 'button', class: 'action', onclick: chooseFile }, 'Open files…');
    this.folder = section('Scenes', true, this.search, this.scenes, el('div', { class: 'row' }, this.file));
    this.rest = el('div', {});
    this.element.append(this.folder, this.rest);
  }
  private first = true;
  private file: HTMLElement;
  private folder: HTMLDetailsElement;
  private rest: HTMLElement;

  private list(): void {
    const wanted = this.search.value.toLowerCase(), now = this.options.get('');
    this.scenes.replaceChildren(...this.catalogue.scenes
      .filter((s) => `${s.name} ${s.purpose}`.toLowerCase().includes(wanted))
      .map((s) => el('button', { type: 'button', title: `${s.purpose}${s.citation ? ` (${s.citation})` : ''}`, class: s.name === now ? 'on' : '', onclick: () => this.open([s.name]) }, s.name)));
    const on = this.scenes.querySelector<HTMLElement>('.on');
    if (on) this.scenes.scrollTop = on.offsetTop - this.scenes.offsetTop - 0.5 * (this.scenes.clientHeight - on.offsetHeight);
  }

  show(session: Session): void {
    this.session = session;
    this.options = parse(session.recipe.words);
    this.list();
    const scene = this.catalogue.scenes.find((s) => s.name === this.options.get(''));
    const parts: Node[] = [];
    if (scene) {
      const about = [el('p', { class: 'note' }, `${scene.purpose}${scene.citation ? `. ${scene.citation}.` : '.'}`)];
      parts.push(section('Parameters', true, ...about, ...scene.params.map((p) => this.parameter(p))));
    }
    if (!scene && this.folder.open && this.first) this.folder.open = false; // a file: its own settings first
    this.first = false;
    if (!session.recorded) parts.push(this.physics(!scene));
    this.rest.replaceChildren(...parts);
  }

  private change(name: string, value: string): void {
    const o = new Map(this.options);
    if (value === '') o.delete(name);
    else o.set(name, value);
    this.open(unparse(o));
  }

  private parameter(p: Param): HTMLElement {
    const set = parseSet(this.options.get('--set') ?? ''), now = set.get(p.name) ?? '';
    const change = (v: string) => {
      if (v === '' || v === exact(p.value)) set.delete(p.name);
      else set.set(p.name, v);
      this.change('--set', unparseSet(set));
    };
    if (p.words) {
      const words = p.words.split('|');
      return field(p.name, select(words.map((w) => ({ value: w, text: w })), now || words[p.value], (v) => change(v === words[p.value] ? '' : v)), p.doc);
    }
    const range = { min: String(p.lo), max: String(p.hi) };
    return field(p.name, number(now || exact(p.value), exact(p.value), change, range), `${p.doc} (${num(p.lo)} … ${num(p.hi)})`);
  }

  private choice(label: string, option: string, list: { name: string; doc: string }[], now: string): HTMLElement {
    return field(label, select(list.map((c) => ({ value: c.name, text: c.name, title: c.doc })), now, (v) => this.change(option, v)), list.find((c) => c.name === now)?.doc ?? '');
  }

  private physics(file: boolean): HTMLElement {
    const s = this.session.model.settings, c = this.catalogue, o = this.options, g = this.session.model.gravity;
    const facets = Number(s['friction']), text = (k: string) => String(s[k] ?? '');
    const surfaces = this.session.model.geoms.filter((x) => x.collides), usual = (k: 'mu' | 'e') => (surfaces.length ? num(surfaces[0][k] ?? Infinity, 4) : '');
    const rows = [
      field('friction μ', number(o.get('--mu') ?? '', usual('mu'), (v) => this.change('--mu', v), { min: '0' }), 'of all surfaces; empty: the model’s own'),
      field('restitution e', number(o.get('--restitution') ?? '', usual('e'), (v) => this.change('--restitution', v), { min: '0', max: '1' }), 'of all surfaces; empty: the model’s own'),
      field('gravity, m/s²', this.gravity(g), 'three numbers x, y, z'),
      this.choice('formulation', '--formulation', c.formulations, text('formulation')),
      this.choice('impact law', '--law', c.laws, text('law')),
      this.choice('stepper', '--stepper', c.steppers, text('stepper')),
      field('friction cone', select(['cone', 'poly4', 'poly8', 'poly16'].map((x) => ({ value: x, text: x })), facets ? `poly${facets}` : 'cone', (v) => this.change('--friction', v))),
      field('time step, s', number(text('dt'), text('dt'), (v) => this.change('--dt', v), { min: '1e-6' })),
    ];
    if (file) rows.push(...this.fileRows());
    return section('Physics', true, ...rows);
  }

  private gravity(g: readonly number[]): HTMLElement {
    const i = el('input', { type: 'text', value: g.map((x) => exact(x)).join(','), onchange: () => this.change('--gravity', i.value.replaceAll(' ', '')) });
    return i;
  }

  /** What a model file leaves open. */
  private fileRows(): HTMLElement[] {
    const o = this.options, flag = (name: string, label: string) => {
      const i = el('input', { type: 'checkbox', onchange: () => { const x = new Map(o); if (i.checked) x.set(name, ''); else x.delete(name); this.open(unparse(x)); } });
      i.checked = o.has(name);
      return el('label', { class: 'check' }, i, label);
    };
    const rows: HTMLElement[] = [
      field('start above floor, m', number(o.get('--drop') ?? '', 'as it is', (v) => this.change('--drop', v), { min: '0' })),
      flag('--passive', 'motors without force'),
    ];
    if (/\.urdf$/i.test(o.get('') ?? ''))
      rows.unshift(field('base', select([{ value: 'fixed', text: 'fixed' }, { value: 'floating', text: 'floating' }], o.get('--base') ?? 'fixed', (v) => this.change('--base', v))));
    return rows;
  }
}

export interface LayerRow { key: string; label: string; colour?: string; title?: string }

export const LAYER_ROWS: LayerRow[] = [
  { key: 'points', label: 'contact points', colour: FORCE.stick, title: 'green: sticks, red: slips, teal: rolls' },
  { key: 'normal', label: 'normal forces', colour: FORCE.normal },
  { key: 'friction', label: 'friction forces', colour: FORCE.tangential },
  { key: 'impulses', label: 'impulses of impacts', colour: FORCE.impulse },
  { key: 'moments', label: 'moments of spin and rolling friction', colour: FORCE.moment, title: 'along their axes; as long as the force on the lever of the contact’s own length' },
  { key: 'cones', label: 'friction cones', colour: FORCE.stick },
  { key: 'values', label: 'values at the arrows' },
  { key: 'gaps', label: 'near points without load', colour: FORCE.open },
  { key: 'support', label: 'support polygon, centre of pressure' },
  { key: 'frames', label: 'body frames' },
  { key: 'joints', label: 'joint axes', colour: '#8a5cf0' },
  { key: 'com', label: 'centres of mass', colour: '#f0c419' },
  { key: 'inertia', label: 'inertia boxes', colour: '#12a0a8' },
  { key: 'loops', label: 'loop closures', colour: '#d6249f' },
  { key: 'path', label: 'path of the centre of mass', colour: '#2f7de1' },
  { key: 'names', label: 'names of bodies' },
];

export class LayerPanel {
  readonly element: HTMLElement;
  private boxes = new Map<string, HTMLInputElement>();

  constructor(get: (key: string) => boolean, set: (key: string, on: boolean) => void, extra: HTMLElement[]) {
    const rows = LAYER_ROWS.map((r) => {
      const box = el('input', { type: 'checkbox', 'data-layer': r.key, onchange: () => set(r.key, box.checked) });
      box.checked = get(r.key);
      this.boxes.set(r.key, box);
      return el('label', { class: 'check', title: r.title }, box, r.label, r.colour ? el('i', { style: `background:${r.colour}` }) : null);
    });
    this.element = section('Layers', true, ...extra, ...rows);
  }
  refresh(get: (key: string) => boolean): void { for (const [k, b] of this.boxes) b.checked = get(k); }
}

const CHIPS: { key: string; label: string; colour?: string[] }[] = [
  { key: 'points', label: 'sticks, slips, rolls', colour: [FORCE.stick, FORCE.slip, FORCE.roll] }, { key: 'normal', label: 'normal', colour: [FORCE.normal] },
  { key: 'friction', label: 'friction', colour: [FORCE.tangential] }, { key: 'impulses', label: 'impulse', colour: [FORCE.impulse] }, { key: 'cones', label: 'cones' }, { key: 'values', label: 'values' },
];

/** The key to the colours, in the picture; each part switches its layer. */
export class Chips {
  readonly element = el('div', { class: 'chips', role: 'group', 'aria-label': 'contact layers' });
  private buttons = new Map<string, HTMLElement>();
  private readonly loose = el('span', { class: 'chip', hidden: true }, el('i', { style: `background:${FORCE.indeterminate}` }), 'not determined');

  constructor(toggle: (key: string) => void) {
    for (const c of CHIPS) {
      const b = el('button', { type: 'button', class: 'chip', title: `show or hide: ${LAYER_ROWS.find((r) => r.key === c.key)!.label}`, onclick: () => toggle(c.key) }, ...(c.colour ?? []).map((x) => el('i', { style: `background:${x}` })), c.label);
      this.buttons.set(c.key, b);
      this.element.append(b);
    }
    this.element.append(this.loose);
  }
  refresh(get: (key: string) => boolean): void {
    for (const [k, b] of this.buttons) { const on = get(k); b.classList.toggle('off', !on); b.setAttribute('aria-pressed', String(on)); }
  }
  /** Some forces of this instant are not determined by the motion. */
  loosely(on: boolean): void { if (this.loose.hidden === on) this.loose.hidden = !on; }
}

/** Sliders for controls and joints. */
export class HandPanel {
  readonly element = el('div', {});
  private rows: { input: HTMLInputElement; value: HTMLElement; kind: 'ctrl' | 'q'; index: number }[] = [];
  private readonly change: (kind: 'ctrl' | 'q', index: number, value: number) => void;

  constructor(change: (kind: 'ctrl' | 'q', index: number, value: number) => void) { this.change = change; }

  show(s: Session): void {
    this.rows = [];
    this.element.replaceChildren();
    if (s.recorded) return;
    const slider = (kind: 'ctrl' | 'q', index: number, name: string, lo: number, hi: number) => {
      const value = el('span', { class: 'mono' }, '0');
      const input = el('input', { type: 'range', min: lo, max: hi, step: (hi - lo) / 1000, 'aria-label': name, oninput: () => this.change(kind, index, Number(input.value)) });
      this.rows.push({ input, value, kind, index });
      return field(name, input, name);
    };
    const controls = s.model.actuators.slice(0, 80).map((a, i) => slider('ctrl', i, a.name || `actuator ${i}`, a.limited ? a.range[0] : -1, a.limited ? a.range[1] : 1));
    const joints = s.model.joints.filter((j) => j.nq === 1).slice(0, 80).map((j) => {
      const wide = j.type === 'slide' ? 1 : Math.PI;
      return slider('q', j.q, j.name || s.bodyName(j.body), j.limited ? j.range[0] : -wide, j.limited ? j.range[1] : wide);
    });
    if (controls.length) this.element.append(section(`Controls (${s.model.actuators.length})`, false, s.model.controlled ? el('p', { class: 'note' }, 'the scene’s controller sets these in every step') : '', ...controls));
    if (joints.length) this.element.append(section(`Joints (${joints.length})`, false, el('p', { class: 'note' }, 'moving one starts the run again from here'), ...joints));
  }

  update(s: Session, row: number): void {
    for (const r of this.rows) {
      if (!r.input.closest('details')?.open || document.activeElement === r.input) continue;
      r.input.value = String(r.kind === 'ctrl' ? s.history.ctrl(row)[r.index] : s.history.q(row)[r.index]);
    }
  }
}
