// The timeline: what is computed, verdicts as a band, events as ticks that can be clicked, the loop range, the cursor.
import { el } from './dom.ts';
import { seconds } from './format.ts';
import type { HistoryEvent } from './history.ts';
import type { Session } from './session.ts';
import { VERDICT_COLOURS, VERDICT_TEXT } from './theme.ts';

const EVENT_COLOURS: Record<string, string> = {
  impact: '#d6249f', contact: '#9aa3ae', separation: '#9aa3ae', stick: '#1fa35b', slip: '#f0980c', limit: '#8a5cf0', switch: '#2f7de1',
  guard: '#12a0a8', trouble: '#e0342b', repair: '#12a0a8', handed: '#8a6d3b',
};
/** Events worth a click, and how high their ticks are. */
const LOUD = new Set(['impact', 'switch', 'trouble', 'guard', 'limit', 'repair']);

export class Timeline {
  readonly element: HTMLElement;
  loop: [number, number] | null = null;
  private canvas: HTMLCanvasElement;
  private tip: HTMLElement;
  private session: Session | null = null;
  private names: string[] = [];
  private still: ImageData | null = null;
  private stillKey = '';
  private stillAt = 0;
  private theme = '';
  private readonly colours = new Map<string, string>();
  private readonly seek: (t: number) => void;

  constructor(seek: (t: number) => void) {
    this.seek = seek;
    this.canvas = el('canvas', { tabindex: 0, role: 'slider', 'aria-label': 'time', id: 'timeline' });
    this.tip = el('div', { class: 'tip', hidden: true });
    this.element = el('div', { class: 'timeline' }, this.canvas, this.tip);
    let dragging = false, ranging: number | null = null;
    const time = (e: PointerEvent) => {
      const r = this.canvas.getBoundingClientRect();
      return Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)) * this.span();
    };
    this.canvas.addEventListener('pointerdown', (e) => {
      this.canvas.setPointerCapture(e.pointerId);
      if (e.shiftKey) { ranging = time(e); this.loop = null; } else { dragging = true; this.jump(e, time(e)); }
    });
    this.canvas.addEventListener('pointermove', (e) => {
      if (dragging) this.seek(time(e));
      if (ranging !== null) { const t = time(e); this.loop = [Math.min(ranging, t), Math.max(ranging, t)]; }
      this.hover(e);
    });
    this.canvas.addEventListener('pointerup', () => {
      dragging = false;
      if (this.loop && this.loop[1] - this.loop[0] < this.span() / 500) this.loop = null;
      ranging = null;
    });
    this.canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
  }

  show(session: Session, eventNames: string[]): void { this.session = session; this.names = eventNames; this.loop = null; this.still = null; }

  private span(): number { const s = this.session; return s ? Math.max(s.duration, s.history.end, 1e-9) : 1; }
  private x(t: number): number { return (t / this.span()) * this.canvas.width; }

  private near(e: PointerEvent): HistoryEvent | null {
    const s = this.session;
    if (!s) return null;
    const r = this.canvas.getBoundingClientRect(), px = e.clientX - r.left;
    let best: HistoryEvent | null = null, least = 6;
    for (const v of s.history.events) {
      if (!LOUD.has(this.names[v.kind])) continue;
      const d = Math.abs((v.t / this.span()) * r.width - px);
      if (d < least) { least = d; best = v; }
    }
    return best;
  }

  private jump(e: PointerEvent, t: number): void {
    const r = this.canvas.getBoundingClientRect(), event = e.clientY - r.top < r.height * 0.55 ? this.near(e) : null;
    this.seek(event ? event.at : t);
  }

  private hover(e: PointerEvent): void {
    const s = this.session, r = this.canvas.getBoundingClientRect();
    if (!s) return;
    const t = ((e.clientX - r.left) / r.width) * this.span(), event = this.near(e);
    const row = s.history.find(t), verdict = s.history.value(row, s.column('verdict'));
    let text = seconds(t, s.dt);
    if (event) text = `${seconds(event.t, s.dt)}  ${this.names[event.kind]}  ${[s.geomName(event.geomA), s.geomName(event.geomB)].filter(Boolean).join(' – ')}${event.text ? `  ${event.text}` : ''}`;
    else if (s.verdicts && s.history.contactCount(row) > 0) text += `  ${VERDICT_TEXT[verdict]}`;
    this.tip.textContent = text;
    this.tip.hidden = false;
    this.tip.style.left = `${Math.min(r.width - this.tip.offsetWidth, Math.max(0, e.clientX - r.left - this.tip.offsetWidth / 2))}px`;
  }

  private paintStill(g: CanvasRenderingContext2D, w: number, h: number, css: (name: string) => string): void {
    const s = this.session!, H = s.history;
    g.fillStyle = css('--track');
    g.fillRect(0, h * 0.3, w, h * 0.4);
    g.fillStyle = css('--done');
    g.fillRect(0, h * 0.3, this.x(H.end), h * 0.4);
    const verdict = s.column('verdict');
    for (let px = 0; px < this.x(H.end); px++) {
      const row = H.find((px / w) * this.span());
      if (H.contactCount(row) === 0) continue;
      g.fillStyle = s.verdicts || s.recorded ? VERDICT_COLOURS[H.value(row, verdict)] : '#9aa3ae';
      g.fillRect(px, h * 0.72, 1, h * 0.14);
    }
    for (const loud of [false, true])
      for (const e of H.events) {
        const name = this.names[e.kind];
        if (LOUD.has(name) !== loud) continue;
        g.fillStyle = EVENT_COLOURS[name] ?? '#9aa3ae';
        g.globalAlpha = loud ? 1 : 0.35;
        g.fillRect(this.x(e.t) - (name === 'trouble' ? 1 : 0.5), loud ? 0 : h * 0.16, name === 'trouble' ? 2 : 1, loud ? h * 0.28 : h * 0.12);
      }
    g.globalAlpha = 1;
  }

  /** A colour of the page; asking the browser anew in every frame is slow. */
  private colour(name: string): string {
    const theme = document.documentElement.dataset['theme'] ?? '';
    if (theme !== this.theme) { this.theme = theme; this.colours.clear(); }
    let c = this.colours.get(name);
    if (c === undefined) this.colours.set(name, (c = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
    return c;
  }

  draw(t: number): void {
    const s = this.session;
    if (!s) return;
    const ratio = window.devicePixelRatio || 1, w = Math.round(this.canvas.clientWidth * ratio), h = Math.round(this.canvas.clientHeight * ratio);
    if (w === 0 || h === 0) return;
    const g = this.canvas.getContext('2d', { willReadFrequently: true })!;
    const css = (name: string) => this.colour(name);
    const key = `${w} ${h} ${s.history.count} ${s.history.epoch} ${this.span()} ${document.documentElement.dataset['theme']}`;
    // A run that still grows is painted anew a few times a second.
    const fresh = key !== this.stillKey && (s.complete || performance.now() - this.stillAt > 250);
    if (fresh || !this.still || this.canvas.width !== w || this.canvas.height !== h) {
      this.canvas.width = w; this.canvas.height = h;
      this.paintStill(g, w, h, css);
      this.still = g.getImageData(0, 0, w, h);
      this.stillKey = key;
      this.stillAt = performance.now();
    } else g.putImageData(this.still, 0, 0);
    if (this.loop) {
      g.fillStyle = 'rgba(47,125,225,0.25)';
      g.fillRect(this.x(this.loop[0]), 0, this.x(this.loop[1]) - this.x(this.loop[0]), h);
    }
    g.fillStyle = css('--accent');
    g.fillRect(0, h * 0.3, this.x(t), h * 0.4);
    g.fillStyle = css('--ink');
    g.fillRect(this.x(t) - ratio, 0, 2 * ratio, h);
    this.canvas.setAttribute('aria-valuenow', t.toFixed(3));
    this.canvas.setAttribute('aria-valuemax', this.span().toFixed(3));
  }

  /** The next or last event worth a look. */
  neighbour(t: number, forward: boolean): number | null {
    const times = (this.session?.history.events ?? []).filter((e) => LOUD.has(this.names[e.kind])).map((e) => e.at);
    const found = forward ? times.find((x) => x > t + 1e-9) : times.reverse().find((x) => x < t - 1e-9);
    return found ?? null;
  }
}
