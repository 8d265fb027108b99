// Charts under one cursor: uPlot, one card each; the cursor of all is the time that is shown.
import uPlot from 'uplot';
import { button, download, el } from './dom.ts';
import { num } from './format.ts';
import { quantities, type Quantity } from './quantities.ts';
import { csv, sample, svg, type Drawn } from './series.ts';
import type { Session } from './session.ts';
import { SERIES, VERDICT_COLOURS } from './theme.ts';

export interface ChartSpec { title: string; names: string[]; log?: boolean; stacked?: boolean; band?: boolean; derived?: (s: Session, other: Session | null) => Quantity[] }

/** Energy as a balance: what is in the bodies and what left them by which way, one on top of the other. The height of
    the whole is what there was at the beginning, and what was put in (a line of its own where motors or a hand put in
    more than they took). Potential energy counts from its lowest value; of what rests, from zero height. */
export function balance(s: Session): Quantity[] {
  const h = s.history, at = (n: string) => s.column(n);
  const sum = (names: string[], sign = 1) => { const k = names.map(at); return (run: Session, i: number) => sign * k.reduce((x, c) => x + run.history.value(i, c), 0); };
  const lost = (names: string[]) => sum(names.map((n) => `ledger_${n}`), -1);
  let lowest = Infinity;
  for (let i = 0; i < h.count; i++) lowest = Math.min(lowest, h.value(i, at('energy_potential')));
  const potential = sum(['energy_potential']);
  const list: Quantity[] = [
    { name: 'kinetic', unit: 'J', value: sum(['energy_kinetic']) },
    { name: 'potential', unit: 'J', value: (run, i) => potential(run, i) - lowest },
    { name: 'spring', unit: 'J', value: sum(['energy_spring', 'ledger_compliant']) },
    { name: 'friction', unit: 'J', value: lost(['friction', 'joint_friction', 'damping']) },
    { name: 'impacts', unit: 'J', value: lost(['impact', 'normal', 'limit']) },
    { name: 'motors, hand', unit: 'J', value: lost(['actuator', 'applied', 'prescribed']) },
    { name: 'integration', unit: 'J', value: lost(['integration', 'correction', 'switching', 'loop']) },
  ];
  const most = (of: (i: number) => number) => { let m = 0; for (let i = 0; i < h.count; i += Math.max(1, h.count >> 8)) m = Math.max(m, of(i)); return m; };
  const sizes = list.map((q) => most((i) => Math.abs(q.value(s, i)))), all = Math.max(...sizes);
  const rests = all < 1e-6 * Math.abs(h.value(0, at('energy_total'))) && lowest > 0; // sums over steps are good to 1e-9 and better
  if (rests) { lowest = 0; return [list[1]]; }
  const put = list[5], begin = list.slice(0, 3).reduce((x, q) => x + q.value(s, 0), 0);
  const fed = most((i) => -put.value(s, i)) > 1e-4 * all;
  const shown = list.filter((q, i) => sizes[i] > 1e-4 * all && !(fed && q === put));
  return fed ? [...shown, { name: 'start + put in', unit: 'J', apart: true, value: (run, i) => begin - put.value(run, i) }] : shown;
}

/** How long steps took where they were simulated: means over a hundred, because a page's clock is coarse. */
function pace(s: Session): Quantity[] {
  if (s.recorded) return [];
  const h = s.history, k = s.column('step_time'), sums = new Float64Array(h.count + 1);
  for (let i = 0; i < h.count; i++) sums[i + 1] = sums[i] + h.value(i, k);
  const mean = (i: number) => { const a = Math.max(1, i - 50), b = Math.min(sums.length - 1, Math.max(a + 1, i + 50)); return (sums[b] - sums[a]) / Math.max(1, b - a); };
  return [{ name: 'step time', unit: 'µs', value: (run, i) => (run === s ? 1e6 * mean(Math.min(i, h.count - 1)) : NaN) }];
}

export const PRESETS: ChartSpec[] = [
  { title: 'Energy', names: [], derived: balance, stacked: true },
  { title: 'Residual', names: ['residual'], log: true },
  { title: 'Contacts, problem size', names: ['contacts', 'lcp_size'] },
  { title: 'Momentum', names: ['momentum.x', 'momentum.y', 'momentum.z'] },
  { title: 'Angular momentum', names: ['angular.x', 'angular.y', 'angular.z'] },
  { title: 'Verdict', names: ['verdict'], band: true },
  { title: 'Step time', names: [], derived: pace },
];
const FIRST = 3; // of them are there from the beginning

/** What is dragged from a list, a panel or a legend onto the charts. */
export const DRAGGED = 'text/x-knuckle-quantity';

/** Makes an element a handle of these quantities: dragged onto a chart they are drawn there, beside the charts in one of their own. */
export function draggable<T extends HTMLElement>(e: T, names: string[]): T {
  e.draggable = true;
  // From the press on: panels that are made anew under the pointer would end the drag without a word.
  const held = (on: boolean) => { if (on) document.body.dataset['dragging'] = '1'; else delete document.body.dataset['dragging']; };
  e.addEventListener('pointerdown', () => { held(true); window.addEventListener('pointerup', () => held(false), { once: true }); });
  e.addEventListener('dragstart', (d: DragEvent) => d.dataTransfer?.setData(DRAGGED, JSON.stringify(names)));
  e.addEventListener('dragend', () => held(false));
  return e;
}

/** How far a second run is from the first, at the same times. */
export const DIFFERENCE: ChartSpec = {
  title: 'Difference', names: [], log: true,
  derived: (s, other) => {
    if (!other || other.model.nq !== s.model.nq || other.model.nv !== s.model.nv) return [];
    const largest = (part: 'q' | 'v') => (run: Session, row: number) => {
      const k = other.history.find(run.history.time(row)), a = run.history[part](row), b = other.history[part](k);
      let most = 0;
      for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i] - b[i]));
      return most;
    };
    return [{ name: 'largest |Δq|', unit: '', value: largest('q') }, { name: 'largest |Δv|', unit: '', value: largest('v') }];
  },
};

/** A quantity less the same one of the other run at the same time. */
export function lessOther(q: Quantity, other: Session): Quantity {
  return { name: `Δ ${q.name}`, unit: q.unit, value: (run, row) => q.value(run, row) - q.value(other, other.history.find(run.history.time(row))) };
}

const FILL = '38';
const LABELS: Record<string, string> = { lcp_size: 'problem size', 'momentum.x': 'x', 'momentum.y': 'y', 'momentum.z': 'z', 'angular.x': 'x', 'angular.y': 'y', 'angular.z': 'z' };

export class Chart {
  readonly element: HTMLElement;
  readonly spec: ChartSpec;
  private plot: uPlot | null = null;
  private body: HTMLElement;
  private legend: HTMLElement;
  private list: Quantity[] = [];
  private data: Drawn = { t: [], y: [] };
  private key = '';
  private filledAt = 0;
  private colours: string[] = [];
  private readonly seek: (t: number) => void;
  private marks: HTMLElement[] = [];
  private added: string[] = []; // quantities dragged onto the chart
  session!: Session;
  other: Session | null = null;
  private shownAt = 0;
  private difference = false; // of both runs, instead of both
  private readonly toggle: HTMLButtonElement;
  private readonly empty = el('p', { class: 'note empty', hidden: true }, 'This run has no such numbers.');

  constructor(spec: ChartSpec, seek: (t: number) => void, close: (c: Chart) => void) {
    this.spec = spec;
    this.seek = seek;
    this.body = el('div', { class: 'plot' }, this.empty);
    this.legend = el('div', { class: 'legend' });
    this.toggle = el('button', { type: 'button', class: 'action', hidden: true, title: 'the difference of both runs', 'aria-pressed': 'false', onclick: () => this.showDifference(!this.difference) }, 'Δ');
    this.element = el('section', { class: 'chart', 'aria-label': spec.title },
      el('header', {}, el('h3', {}, spec.title), this.toggle, el('span', { class: 'tools' },
        button('save', 'save as SVG', () => this.saveSvg()), button('camera', 'save as PNG', () => this.savePng()),
        button('copy', 'save as CSV', () => this.saveCsv()), button('close', 'close this chart', () => close(this)))),
      this.legend, this.body);
  }

  /** More quantities on the same axes. */
  include(names: string[]): void {
    this.added.push(...names.filter((n) => !this.added.includes(n) && !this.spec.names.includes(n)));
    this.key = '';
    this.seek(this.shownAt);
  }

  private resolve(): void {
    this.list = this.spec.derived ? [...this.spec.derived(this.session, this.other), ...this.named(this.added)] : this.named([...this.spec.names, ...this.added]);
    if (this.difference && this.other) { const other = this.other; this.list = this.list.map((q) => lessOther(q, other)); }
  }

  private named(names: string[]): Quantity[] {
    if (!names.length) return [];
    const all = new Map(quantities(this.session).map((q) => [q.name, q]));
    return names.map((n) => all.get(n)).filter((q): q is Quantity => q !== undefined);
  }

  attach(session: Session, other: Session | null): void {
    this.session = session;
    this.other = other;
    this.key = '';
  }

  /** The chart shows the run less the run before it. */
  showDifference(on: boolean): void {
    this.difference = on;
    this.toggle.classList.toggle('on', on);
    this.toggle.setAttribute('aria-pressed', String(on));
    this.key = '';
    this.seek(this.shownAt);
  }

  /** The second run has curves of its own here. */
  private get both(): boolean { return this.other !== null && !this.difference && this.spec !== DIFFERENCE; }
  private get stacked(): boolean { return !!this.spec.stacked && !(this.difference && this.other); }
  private get log(): boolean { return !!this.spec.log && !(this.difference && this.other && this.spec !== DIFFERENCE); }

  private make(w: number, h: number): void {
    const css = getComputedStyle(document.documentElement), ink = css.getPropertyValue('--muted').trim(), grid = css.getPropertyValue('--line').trim();
    this.plot?.destroy();
    this.colours = this.list.map((_, i) => SERIES[i % SERIES.length]);
    const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: '11px system-ui, sans-serif' };
    const line = (i: number, dash: number[]): uPlot.Series => ({
      label: this.list[i].name, stroke: this.colours[i], width: this.spec.band ? 0 : 1.5, points: { show: false }, dash, spanGaps: false,
      ...(this.stacked && i === 0 && !dash.length ? { fill: this.colours[i] + FILL } : {}),
    });
    const opts: uPlot.Options = {
      width: w, height: h, legend: { show: false }, padding: [8, 10, 0, 0],
      cursor: { drag: { x: false, y: false }, points: { show: false }, y: false },
      scales: { x: { time: false }, y: this.log ? { distr: 3, range: (_u, lo, hi) => logRange(lo, hi) } : this.stacked ? { range: (_u, lo, hi) => this.calm(lo, hi) } : {} },
      axes: [{ ...axis, size: 26, space: 70 }, { ...axis, size: this.spec.band ? 12 : 56, show: !this.spec.band, ...(this.log ? { grid: { ...axis.grid, filter: decades }, ticks: { ...axis.ticks, filter: decades } } : {}), values: (_u, v) => v.map((x) => (x === null ? '' : num(x, 4))) }],
      series: [{}, ...this.list.map((_, i) => line(i, [])), ...(this.both ? this.list.map((_, i) => line(i, [4, 3])) : [])],
      ...(this.stacked ? { bands: this.list.filter((q) => !q.apart).slice(1).map((_, i) => ({ series: [i + 2, i + 1] as [number, number], fill: this.colours[i + 1] + FILL })) } : {}),
      hooks: { ready: [(u) => this.listen(u)], ...(this.spec.band ? { draw: [(u) => this.paintBand(u)] } : {}) },
    };
    this.plot = new uPlot(opts, [[0], ...opts.series.slice(1).map(() => [0])] as uPlot.AlignedData, this.body);
    this.marks = this.list.map((q, i) => {
      const value = el('b', {});
      const name = this.spec.derived ? null : q.name.replace(/^Δ /, '');
      const item = el('span', { style: `--c:${this.colours[i]}`, title: `${q.unit}${name ? ' (drag it to another chart)' : ''}`, class: q.text ? 'words' : '' }, LABELS[q.name] ?? q.name, value);
      this.legend.append(name ? draggable(item, [name]) : item);
      return value;
    });
  }

  /** Energies of something at rest are not blown up to show their rounding. */
  private calm(lo: number | null, hi: number | null): [number, number] {
    const s = this.session, least = 1e-6 * Math.max(1e-6, Math.abs(s.history.value(0, s.column('energy_total'))));
    const a = Math.min(0, lo ?? 0), b = Math.max(hi ?? 0, a + least);
    return [a < 0 ? a - 0.05 * (b - a) : 0, b + 0.05 * (b - a)];
  }

  /** The verdicts as a band of their colours over the whole height. */
  private paintBand(u: uPlot): void {
    const s = this.session, h = s.history, { left, top, width, height } = u.bbox, k = s.column('verdict');
    for (let x = 0; x < width; x++) {
      const t = u.posToVal(x / devicePixelRatio, 'x'), row = h.find(t);
      if (t > h.end || !h.contactCount(row)) continue;
      u.ctx.fillStyle = VERDICT_COLOURS[h.value(row, k)];
      u.ctx.fillRect(left + x, top, 1, height);
    }
  }

  private listen(u: uPlot): void {
    let down = false;
    const go = (e: MouseEvent) => this.seek(u.posToVal(e.clientX - u.over.getBoundingClientRect().left, 'x'));
    u.over.addEventListener('mousedown', (e) => { down = true; go(e); });
    u.over.addEventListener('mousemove', (e) => { if (down) go(e); });
    window.addEventListener('mouseup', () => { down = false; });
  }

  /** Draws anew what changed and moves the cursor. */
  update(t: number): void {
    const s = this.session, w = this.body.clientWidth, h = this.body.clientHeight;
    if (w < 40 || h < 40) return;
    const theme = document.documentElement.dataset['theme'] ?? '';
    const structure = `${w} ${h} ${theme} ${s.complete} ${this.other ? 1 : 0} ${this.difference}`;
    this.toggle.hidden = !this.other || this.spec === DIFFERENCE;
    const key = `${structure} ${s.history.count} ${s.history.epoch} ${this.other?.history.count ?? 0}`;
    // All rows are looked at: while a run grows that is done once a second, and oftener at its beginning.
    const soon = s.complete || s.history.count < 3000 || !this.key.startsWith(structure) || performance.now() - this.filledAt > 1000;
    if (key !== this.key && soon) {
      this.filledAt = performance.now();
      const names = this.list.map((q) => q.name).join();
      if (this.spec.derived || !this.key.startsWith(structure)) this.resolve(); // a balance has other parts when more of the run is there
      if (!this.plot || !this.key.startsWith(structure) || names !== this.list.map((q) => q.name).join()) {
        this.legend.replaceChildren();
        this.make(w, this.body.clientHeight);
        this.values(t);
        this.plot!.setSize({ width: w, height: this.body.clientHeight }); // what the legend left
      }
      this.key = `${w} ${this.body.clientHeight}${key.slice(`${w} ${h}`.length)}`;
      this.empty.hidden = this.list.length > 0;
      this.fill(w);
    }
    this.cursor(t);
  }

  private fill(w: number): void {
    const s = this.session;
    this.data = sample(s, this.list, Math.max(200, Math.floor(w)));
    let t = this.data.t, ys = this.data.y as (number | null | undefined)[][];
    if (this.both) {
      const b = sample(this.other!, this.list, Math.max(200, Math.floor(w)));
      [t, ys] = join(t, ys, b.t, b.y);
    }
    if (this.stacked) ys = stack(ys, this.list.length, this.list.map((q) => !!q.apart));
    const positive = this.log ? ys.map((y) => y.map((x) => (x !== null && x !== undefined && x > 0 ? x : x === undefined ? undefined : null))) : ys;
    this.plot!.setData([t, ...positive] as uPlot.AlignedData, false);
    this.plot!.setScale('x', { min: s.history.start, max: Math.max(s.duration, s.history.end, s.history.start + 1e-9) });
  }

  private cursor(t: number): void {
    this.shownAt = t;
    const u = this.plot;
    if (!u) return;
    u.setCursor({ left: u.valToPos(t, 'x'), top: 0 }, false);
    this.values(t);
  }

  private values(t: number): void {
    const s = this.session, row = s.history.find(t);
    this.list.forEach((q, i) => { this.marks[i].textContent = q.text ? q.text(s, row) : num(q.value(s, row), 4); });
  }

  private fileName(end: string): string { return `${this.session.model.name || 'run'}-${this.spec.title.toLowerCase().replace(/[^a-z0-9]+/g, '-')}.${end}`; }

  svgText(): string {
    return svg(this.spec.title, sample(this.session, this.list, 700), this.list.map((q) => q.name), this.list.map((q) => q.unit), this.colours, !!this.spec.log);
  }
  csvText(): string { return csv(this.session, this.list); }
  private saveSvg(): void { download(this.fileName('svg'), new Blob([this.svgText()], { type: 'image/svg+xml' })); }
  private saveCsv(): void { download(this.fileName('csv'), new Blob([this.csvText()], { type: 'text/csv' })); }
  private savePng(): void { this.plot?.ctx.canvas.toBlob((b) => { if (b) download(this.fileName('png'), b); }); }
}

/** Whole decades, at most twenty of them, and none below the smallest residual that means anything. */
export function logRange(lo: number | null, hi: number | null): [number, number] {
  const b = hi && hi > 1e-17 ? hi : 1e-16, a = Math.max(lo && lo > 0 ? lo : b / 10, 1e-18, b * 1e-20);
  return [10 ** Math.floor(Math.log10(a)), 10 ** Math.ceil(Math.log10(b) + 1e-9)];
}

/** Lines at the decades alone: ten more between each two of twenty decades are a grey wall. */
function decades(_u: uPlot, splits: number[]): (number | null)[] {
  return splits.map((x) => (Math.abs(Math.log10(x) - Math.round(Math.log10(x))) < 1e-6 ? x : null));
}

/** Each row on top of the rows before it, in groups of n; those `apart` stay what they are. */
export function stack(ys: (number | null | undefined)[][], n: number, apart: boolean[] = []): (number | null | undefined)[][] {
  return ys.map((y, k) => y.map((x, i) => {
    if (x === null || x === undefined || apart[k % n]) return x;
    let sum = 0;
    for (let m = k - (k % n); m <= k; m++) sum += apart[m % n] ? 0 : ys[m][i] ?? 0;
    return sum;
  }));
}

/** Two tables on the union of their times; undefined where the other has no point (uPlot draws through). */
export function join(ta: number[], ya: (number | null | undefined)[][], tb: number[], yb: (number | null | undefined)[][]): [number[], (number | null | undefined)[][]] {
  const t: number[] = [], y: (number | null | undefined)[][] = [...ya, ...yb].map(() => []);
  let i = 0, k = 0;
  while (i < ta.length || k < tb.length) {
    const x = Math.min(ta[i] ?? Infinity, tb[k] ?? Infinity), a = ta[i] === x, b = tb[k] === x;
    t.push(x);
    ya.forEach((col, c) => y[c].push(a ? col[i] : undefined));
    yb.forEach((col, c) => y[ya.length + c].push(b ? col[k] : undefined));
    if (a) i++;
    if (b) k++;
  }
  return [t, y];
}

export class ChartBoard {
  readonly element: HTMLElement;
  readonly charts: Chart[] = [];
  private row: HTMLElement;
  private session: Session | null = null;
  private other: Session | null = null;
  private readonly seek: (t: number) => void;

  constructor(seek: (t: number) => void) {
    this.seek = seek;
    this.row = el('div', { class: 'chart-row' });
    this.element = el('div', { class: 'charts' }, this.row);
    this.element.addEventListener('dragover', (e) => { if (e.dataTransfer?.types.includes(DRAGGED)) e.preventDefault(); });
    this.element.addEventListener('drop', (e) => this.dropped(e));
  }

  show(session: Session, other: Session | null): void {
    const compared = this.charts.find((c) => c.spec === DIFFERENCE);
    this.session = session;
    this.other = other;
    if (!other && compared) this.remove(compared);
    if (other && !compared && this.charts.length) this.add(DIFFERENCE);
    for (const c of this.charts) c.attach(session, other);
  }

  add(spec: ChartSpec): Chart {
    const c = new Chart(spec, this.seek, (x) => this.remove(x));
    c.attach(this.session!, this.other);
    // What the comparison is about comes first.
    if (spec === DIFFERENCE) this.charts.unshift(c);
    else this.charts.push(c);
    if (spec === DIFFERENCE) this.row.prepend(c.element);
    else this.row.append(c.element);
    return c;
  }

  private dropped(e: DragEvent): void {
    const text = e.dataTransfer?.getData(DRAGGED);
    if (!text || !this.session) return;
    e.preventDefault();
    e.stopPropagation();
    const names = (JSON.parse(text) as unknown[]).map(String), on = this.charts.find((c) => c.element.contains(e.target as Node) && !c.spec.band && !c.spec.stacked && c.spec !== DIFFERENCE);
    if (on) on.include(names);
    else this.add({ title: names[0], names }).element.scrollIntoView({ inline: 'end' });
    this.seek(this.shownAt);
  }
  private shownAt = 0;

  /** The charts that every run begins with. */
  begin(): void { for (const p of PRESETS.slice(0, FIRST)) this.add(p); }

  /** Charts beyond those that every run has. */
  removeAdded(): void { for (const c of [...this.charts]) if (!PRESETS.includes(c.spec) && c.spec !== DIFFERENCE) this.remove(c); }

  private remove(c: Chart): void { this.charts.splice(this.charts.indexOf(c), 1); c.element.remove(); }
  update(t: number): void { this.shownAt = t; if (this.session) for (const c of this.charts) c.update(t); }
}
