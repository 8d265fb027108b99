// A tour through examples: chapters with a text, what to look for, and runs to choose from. The chapters are in the page
// (playground.json, put there by build.mjs); each run is a command line, as everywhere.
import type { App } from './app.ts';
import { el, toast } from './dom.ts';
import type { Recipe } from './session.ts';

export interface TourRun {
  label: string; words: string[]; compare?: string[]; duration?: number; speed?: number; layers?: string[]; charts?: string[][];
}
export interface Chapter { id: string; title: string; source: string; text: string; look: string[]; runs: TourRun[] }
export interface TourBook { title: string; chapters: Chapter[] }

const OWN = new Set(['cones', 'values', 'joints']); // layers that chapters switch

export class Tour {
  readonly element = el('section', { class: 'tour', 'aria-label': 'playground' });
  private readonly book: TourBook;
  private readonly app: App;
  private readonly setSpeed: (x: number) => void;
  private at = 0;
  private run = 0;

  constructor(book: TourBook, app: App, setSpeed: (x: number) => void) {
    this.book = book;
    this.app = app;
    this.setSpeed = setSpeed;
    window.addEventListener('hashchange', () => this.go(this.fromAddress(), 0));
  }

  private fromAddress(): number { return Math.max(0, this.book.chapters.findIndex((c) => `#${c.id}` === location.hash)); }

  start(): void { this.go(this.fromAddress(), 0); }

  go(chapter: number, run: number): void {
    this.at = chapter;
    this.run = run;
    const c = this.book.chapters[chapter];
    if (location.hash !== `#${c.id}` && (location.hash || chapter > 0)) history.replaceState(null, '', `#${c.id}`);
    this.show();
    this.open(c.runs[run]);
  }

  private open(r: TourRun): void {
    const a = this.app, recipe = (words: string[]): Recipe => ({ words, files: [], ...(r.duration !== undefined ? { duration: r.duration } : {}) });
    a.keepPrevious = false;
    if (r.compare) { if (!a.open(recipe(r.compare))) return; a.keepPrevious = true; }
    if (!a.open(recipe(r.words))) { toast(`this run could not be opened: ${r.words.join(' ')}`, true); return; }
    for (const k of OWN) a.setLayer(k, r.layers?.includes(k) ?? false);
    a.charts.removeAdded();
    for (const [title, ...names] of r.charts ?? []) a.addChart(names, title);
    this.setSpeed(r.speed ?? 1);
    a.seek(-Infinity);
    a.setPlaying(!matchMedia('(prefers-reduced-motion: reduce)').matches);
  }

  private show(): void {
    const { chapters } = this.book, c = chapters[this.at];
    const menu = el('select', { 'aria-label': 'chapter', onchange: () => this.go(menu.selectedIndex, 0) }, ...chapters.map((x, i) => el('option', { value: i }, `${i + 1}. ${x.title}`)));
    menu.selectedIndex = this.at;
    const step = (by: number, text: string) => el('button', { type: 'button', class: 'action', disabled: !chapters[this.at + by], onclick: () => this.go(this.at + by, 0) }, text);
    this.element.replaceChildren(
      el('div', { class: 'row' }, menu), el('h2', {}, c.title), el('p', { class: 'note' }, c.source), el('p', {}, c.text),
      el('div', { class: 'row' }, ...c.runs.map((r, i) => el('button', { type: 'button', class: i === this.run ? 'action on' : 'action', 'aria-pressed': i === this.run ? 'true' : 'false', onclick: () => this.go(this.at, i) }, r.label))),
      el('h3', {}, 'What to look for'), el('ul', {}, ...c.look.map((x) => el('li', {}, x))),
      el('p', { class: 'note mono' }, `knuckle view ${c.runs[this.run].words.map((w) => (/[^\w=.,/-]/.test(w) ? `'${w}'` : w)).filter((w) => w !== '--no-verdict').join(' ')}`),
      el('div', { class: 'row' }, step(-1, '‹ before'), step(1, 'next ›')));
  }
}
