// Texts over the picture: what is under the pointer, values at arrows, names of bodies.
import * as THREE from 'three';
import type { ContactView } from './contacts.ts';
import { el } from './dom.ts';
import { num, short } from './format.ts';
import type { Session } from './session.ts';
import type { Stage } from './stage.ts';

const MAX_LABELS = 40;
const LETTER = 6.6, MARGIN = 14, LINE = 19; // px of a label: a letter, both sides, from line to line

export class Labels {
  readonly hover = el('div', { class: 'label hover', hidden: true });
  private readonly host: HTMLElement;
  private pool: HTMLElement[] = [];
  private used = 0;
  private taken: { x: number; y: number; w: number }[] = []; // places of the labels so far, px

  constructor(host: HTMLElement) { this.host = host; host.append(this.hover); }

  begin(): void { this.used = 0; this.taken = []; }
  add(stage: Stage, at: THREE.Vector3, text: string): void {
    if (this.used >= MAX_LABELS) return;
    const p = stage.project(at);
    if (!p.front) return;
    // Two texts on one another are none: the first stays. Widths are estimated, so that nothing is laid out to be measured.
    const w = LETTER * text.length + MARGIN;
    if (this.taken.some((t) => Math.abs(t.y - p.y) < LINE && p.x < t.x + t.w && t.x < p.x + w)) return;
    this.taken.push({ x: p.x, y: p.y, w });
    const e = this.pool[this.used] ?? el('div', { class: 'label' });
    if (!this.pool[this.used]) { this.pool.push(e); this.host.append(e); }
    this.used++;
    e.hidden = false;
    e.textContent = text;
    e.style.left = `${p.x.toFixed(1)}px`;
    e.style.top = `${p.y.toFixed(1)}px`;
  }
  end(): void { for (let i = this.used; i < this.pool.length; i++) this.pool[i].hidden = true; }

  showHover(x: number, y: number, text: string | null): void {
    this.hover.hidden = text === null;
    if (text === null) return;
    this.hover.textContent = text;
    const room = this.host.clientWidth - this.hover.offsetWidth - 24;
    this.hover.style.left = `${Math.min(x, Math.max(0, room))}px`;
    this.hover.style.top = `${Math.max(16, y)}px`;
  }
}

export function contactText(s: Session, c: ContactView): string {
  const names = `${s.bodyName(c.bodyA)} – ${s.bodyName(c.bodyB)}`;
  if (c.impact) return `${names}\nimpact: ${short(c.impulse[0], 'N s')} along the normal`;
  if (c.impulse[0] <= 0) return `${names}\ngap ${short(c.gap, 'm')}`;
  const sure = c.determinate === 'no' ? '\nnot determined by the motion' : '';
  return `${names}\nnormal ${short(c.forceNormal, 'N')}, friction ${short(c.forceFriction, 'N')}\n${{ open: 'open', stick: 'sticks', slip: 'slips', roll: 'rolls' }[c.mode]}, μ ${num(c.mu, 3)}${sure}`;
}

/** The contact whose point, or whose arrow's tip, is nearest to the pointer. */
export function contactAt(stage: Stage, contacts: ContactView[], tip: (c: ContactView) => THREE.Vector3, x: number, y: number): ContactView | null {
  let best: ContactView | null = null, least = 11;
  for (const c of contacts)
    for (const at of [c.point, tip(c)]) {
      const p = stage.project(at), d = Math.hypot(p.x - x, p.y - y);
      if (p.front && d < least) { least = d; best = c; }
    }
  return best;
}
