// The right side: what is selected, the contacts of this instant, the run as a whole.
import * as THREE from 'three';
import type { ContactView } from './contacts.ts';
import { centreOfPressure } from './contacts.ts';
import { download, el } from './dom.ts';
import { num } from './format.ts';
import { draggable } from './charts.ts';
import { section } from './panels.ts';
import type { Loop } from '../engine/types.ts';
import type { Session } from './session.ts';
import { FORCE, VERDICT_COLOURS, VERDICT_TEXT } from './theme.ts';

export interface Selection { body: number | null; geom: number; contact: string | null }

/** What it is, its value, and names of quantities of it that can be dragged onto a chart. */
type Fact = [string, string | Node, string[]?];

function facts(rows: Fact[]): HTMLTableElement {
  const row = ([a, b, names]: Fact) => { const r = el('tr', { title: names ? 'drag it onto the charts' : undefined }, el('td', {}, a), el('td', {}, b)); return names ? draggable(r, names) : r; };
  return el('table', { class: 'facts' }, el('tbody', {}, ...rows.map(row)));
}
/** Places in m, to a tenth of a millimetre. */
const place = (x: ArrayLike<number>) => `(${Array.from(x).map((v) => v.toFixed(4).replace(/^-(0\.0+)$/, '$1').replace('-', '−')).join(', ')}) m`;
const vec = (x: ArrayLike<number>, digits = 4) => Array.from(x).map((v) => num(v, digits)).join('  ');

export function contactKey(c: ContactView): string { return `${c.geomA} ${c.geomB} ${c.index}`; }

const MAX_ROWS = 60;

/** How far apart the two ends of a loop are, m: end a and end b in the world. */
export function loopError(l: Loop, poses: Float64Array): number {
  const end = (body: number, p: readonly number[]) => {
    if (body < 0) return [...p];
    const x = poses.subarray(18 * body);
    return [0, 1, 2].map((i) => x[9 + i] + x[3 * i] * p[0] + x[3 * i + 1] * p[1] + x[3 * i + 2] * p[2]);
  };
  const a = end(l.a, l.pos_a), b = end(l.b, l.pos_b);
  return Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

/** All contacts of an instant as a table; names are quoted, forces in N, impulses of impacts in N s. */
export function contactTable(s: Session, contacts: ContactView[]): string {
  const quote = (x: string) => `"${x.replaceAll('"', '""')}"`;
  const head = 'body_a,body_b,geom_a,geom_b,x,y,z,nx,ny,nz,gap,mu,e,mode,impact,normal,tangent1,tangent2,moment_n,moment_1,moment_2,slip,determinate';
  return [head, ...contacts.map((c) => {
    const dt = c.impact ? 1 : s.history.value(c.row, s.column('dt'));
    return [...[s.bodyName(c.bodyA), s.bodyName(c.bodyB), s.geomName(c.geomA), s.geomName(c.geomB)].map(quote), ...c.point.toArray(), ...c.normal.toArray(), c.gap, c.mu, c.e,
      c.mode, c.impact ? 1 : 0, ...c.impulse.map((x) => x / dt), ...c.moment, Math.hypot(c.velocity[1], c.velocity[2]), c.determinate].join(',');
  })].join('\n') + '\n';
}

export class Inspector {
  readonly element = el('div', {});
  private selection = section('Selection', true);
  private contacts = section('Contacts', true);
  private run = section('Run', true);
  private loops = section('Loop closures', true);
  private notes = section('Notes', false);
  private readonly actions: { contact: (key: string) => void; body: (i: number) => void; verify: () => void; judge: () => void; chart: (names: string[], title: string) => void };

  constructor(actions: Inspector['actions']) {
    this.actions = actions;
    this.element.append(this.selection, this.contacts, this.loops, this.run, this.notes);
    // A button that is made anew between press and release would never be clicked: pressed panels stay as they are.
    // A release ends its own press only: the next one may have come before the panel was let go.
    let presses = 0;
    this.element.addEventListener('pointerdown', () => {
      const mine = ++presses, free = () => { setTimeout(() => { if (mine === presses) delete document.body.dataset['dragging']; }); };
      document.body.dataset['dragging'] = '1';
      window.addEventListener('pointerup', free, { once: true });
      window.addEventListener('dragend', free, { once: true });
    });
  }

  private body(s: HTMLDetailsElement): HTMLElement { return s.querySelector<HTMLElement>(':scope > .body')!; }

  showNotes(s: Session, missing: string[]): void {
    const list = [...s.model.notes.filter((n) => n.kind !== 'info'), ...missing.map((what) => ({ kind: 'mesh', where: 'not shown', what }))];
    this.notes.hidden = list.length === 0;
    this.notes.querySelector('summary')!.textContent = `Notes on the file (${list.length})`;
    this.body(this.notes).replaceChildren(...list.slice(0, 200).map((n) => el('p', { class: 'note' }, el('b', {}, `${n.kind}: `), `${n.where}: ${n.what}`)));
  }

  update(s: Session, row: number, contacts: ContactView[], selected: Selection, poses: Float64Array): void {
    if (this.selection.open) this.body(this.selection).replaceChildren(this.selectionFacts(s, row, contacts, selected, poses));
    if (this.contacts.open) this.showContacts(s, contacts, selected);
    this.showLoops(s, poses);
    if (this.run.open) this.body(this.run).replaceChildren(this.runFacts(s, row));
  }

  // ---- selection ----

  private selectionFacts(s: Session, row: number, contacts: ContactView[], selected: Selection, poses: Float64Array): Node {
    const c = contacts.find((x) => contactKey(x) === selected.contact);
    if (c) return this.contactFacts(s, row, c);
    if (selected.body === null) return el('p', { class: 'note' }, 'Click a body or a contact. Ctrl + drag pulls a body.');
    if (selected.body < 0) return facts([['body', 'world'], ['shape', s.geomName(selected.geom)], ...this.surface(s, selected.geom)]);
    return this.bodyFacts(s, row, selected, poses);
  }

  private surface(s: Session, geom: number): Fact[] {
    const g = s.model.geoms[geom];
    return g ? [['surface', `μ ${num(g.mu ?? Infinity, 4)}, e ${num(g.e, 4)}`]] : [];
  }

  private bodyFacts(s: Session, row: number, selected: Selection, poses: Float64Array): Node {
    const i = selected.body!, b = s.model.bodies[i], p = 18 * i, chain: string[] = [];
    for (let k = b.parent, n = 0; n < 6; n++) { chain.push(s.bodyName(k)); if (k < 0) break; k = s.model.bodies[k].parent; }
    const R = new THREE.Matrix4().set(poses[p], poses[p + 1], poses[p + 2], 0, poses[p + 3], poses[p + 4], poses[p + 5], 0, poses[p + 6], poses[p + 7], poses[p + 8], 0, 0, 0, 0, 1);
    const q = new THREE.Quaternion().setFromRotationMatrix(R);
    const rows: Fact[] = [
      ['body', el('b', {}, s.bodyName(i))], ...(selected.geom >= 0 ? [['shape', s.geomName(selected.geom)] as Fact] : []),
      ['position, m', vec(poses.subarray(p + 9, p + 12))], ['rotation (w x y z)', vec([q.w, q.x, q.y, q.z])],
      ['velocity, m/s', vec(poses.subarray(p + 15, p + 18))], ['turning, rad/s', vec(poses.subarray(p + 12, p + 15))],
      ['mass, kg', num(b.mass)], ['inertia, kg m²', vec(b.inertia.slice(0, 3))], ['parents', chain.join(' › ')], ...this.surface(s, selected.geom),
    ];
    const names: string[] = [];
    s.model.joints.forEach((j, k) => {
      if (j.body !== i) return;
      const name = j.name || `joint${k}`;
      const one = j.nq === 1, fact = (what: string, x: string, quantity: string): Fact => (one ? [what, x, [quantity]] : [what, x]);
      rows.push(fact(`${j.type} ${name}`, vec(s.history.q(row).subarray(j.q, j.q + j.nq)), `q.${name}`), fact('  its speed', vec(s.history.v(row).subarray(j.v, j.v + j.nv)), `v.${name}`));
      if (one) names.push(`q.${name}`, `v.${name}`);
    });
    return el('div', {}, facts(rows), names.length ? el('div', { class: 'row' }, el('button', { type: 'button', class: 'action', onclick: () => this.actions.chart(names, s.bodyName(i)) }, 'Chart its joint')) : null);
  }

  private contactFacts(s: Session, row: number, c: ContactView): Node {
    const a = s.bodyName(c.bodyA), b = s.bodyName(c.bodyB), speed = Math.hypot(c.velocity[1], c.velocity[2]);
    const use = c.forceNormal > 0 && c.mu > 0 ? c.forceFriction / (c.mu * c.forceNormal) : NaN;
    const rows: Fact[] = [
      ['contact', el('b', {}, `${a} – ${b}`)], ['shapes', `${s.geomName(c.geomA)} – ${s.geomName(c.geomB)}`],
      ['point, m', vec(c.point.toArray())], ['normal', vec(c.normal.toArray())], ['gap, m', num(c.gap), [`gap.${a}.${b}`]],
      ['state', el('span', {}, el('i', { class: 'dot', style: `background:${c.impact ? FORCE.impulse : FORCE[c.mode]}` }), c.impact ? 'impact' : { open: 'open', stick: 'sticks', slip: 'slips', roll: 'rolls' }[c.mode], c.compliant ? ', compliant' : '')],
    ];
    if (c.impact) rows.push(['normal impulse, N\u00a0s', num(c.impulse[0])], ['friction impulse, N\u00a0s', num(Math.hypot(c.impulse[1], c.impulse[2]))], ['e asked, used', `${num(c.e, 4)}, ${num(c.eUsed, 4)}`]);
    else rows.push(['normal force, N', num(c.forceNormal), [`force.${a}.${b}`]], ['friction force, N', num(c.forceFriction), [`friction.${a}.${b}`]], ['of the cone', Number.isNaN(use) ? '–' : `${num(100 * use, 4)} %`]);
    if (c.torsion > 0 || c.roll > 0) rows.push(['lengths of spin, rolling, m', `${num(c.torsion, 4)}, ${num(c.roll, 4)}`], [c.impact ? 'moments, N\u00a0m\u00a0s' : 'moments, N\u00a0m', vec(c.moment)]);
    rows.push(['μ, e', `${num(c.mu, 4)}, ${num(c.e, 4)}`], ['sliding, m/s', num(speed, 4)],
      ['is this force determined?', c.determinate === 'yes' ? 'yes' : c.determinate === 'no' ? 'no: others give the same motion' : 'not decided']);
    void row;
    return el('div', {}, facts(rows), el('div', { class: 'row' }, el('button', { type: 'button', class: 'action', onclick: () => this.actions.chart([`force.${a}.${b}`, `friction.${a}.${b}`], `Force ${a} – ${b}`) }, 'Chart this force')));
  }

  // ---- contacts ----

  private showContacts(s: Session, contacts: ContactView[], selected: Selection): void {
    const body = this.body(this.contacts);
    const loaded = contacts.filter((c) => c.impulse[0] > 0).sort((x, y) => y.impulse[0] - x.impulse[0]);
    const rest = contacts.length - loaded.length;
    this.contacts.querySelector('summary')!.textContent = `Contacts (${loaded.length}${rest ? ` + ${rest} without load` : ''})`;
    if (!loaded.length) { body.replaceChildren(el('p', { class: 'note' }, 'Nothing touches at this instant.')); return; }
    const rows = loaded.slice(0, MAX_ROWS).map((c) => {
      const key = contactKey(c);
      const colour = c.impact ? FORCE.impulse : FORCE[c.mode];
      const name = [c.bodyA, c.bodyB].filter((x) => x >= 0).map((x) => s.bodyName(x)).join(' – ');
      const open = () => this.actions.contact(key);
      return el('tr', { class: key === selected.contact ? 'on' : '', tabindex: 0, 'aria-selected': key === selected.contact ? 'true' : 'false', onclick: open, onkeydown: (e: KeyboardEvent) => { if (e.key === 'Enter') open(); } },
        el('td', {}, el('i', { class: 'dot', style: `background:${colour}` }), name),
        el('td', { class: 'n' }, c.impact ? `${num(c.impulse[0], 4)} N s` : `${num(c.forceNormal, 4)} N`),
        el('td', { class: 'n' }, c.impact ? `${num(Math.hypot(c.impulse[1], c.impulse[2]), 3)} N s` : `${num(c.forceFriction, 3)} N`),
        el('td', { class: 'n', title: 'is the force determined by the motion?' }, c.determinate === 'no' ? '≈' : c.determinate === 'yes' ? '=' : ''));
    });
    const head = el('thead', {}, el('tr', {}, el('th', {}, 'bodies'), el('th', { class: 'n' }, 'normal'), el('th', { class: 'n' }, 'friction'), el('th', {}, '')));
    const sum = loaded.reduce((x, c) => x + c.forceNormal, 0), cop = centreOfPressure(loaded.filter((c) => (c.bodyA < 0 || c.bodyB < 0) && Math.abs(c.normal.z) > 0.7));
    const focused = [...body.querySelectorAll('.list tbody tr')].indexOf(document.activeElement as HTMLElement);
    body.replaceChildren(el('table', { class: 'list' }, head, el('tbody', {}, ...rows)),
      el('p', { class: 'note' }, `${loaded.length > MAX_ROWS ? `and ${loaded.length - MAX_ROWS} more. ` : ''}${sum > 0 ? `Sum of normal forces ${num(sum, 4)} N.` : ''}${cop ? ` Centre of pressure ${place(cop.toArray())}.` : ''}${loaded.some((c) => c.determinate === 'no') ? ' ≈: not determined by the motion.' : ''}`),
      el('div', { class: 'row' }, el('button', { type: 'button', class: 'action', onclick: () => download(`${s.model.name || 'run'}-contacts.csv`, new Blob([contactTable(s, contacts)], { type: 'text/csv' })) }, 'Table of this instant')));
    rows[focused]?.focus();
  }

  // ---- loops ----

  private showLoops(s: Session, poses: Float64Array): void {
    const list = s.model.loops.filter((l) => l.type !== 'coupling');
    this.loops.hidden = list.length === 0;
    if (!list.length || !this.loops.open) return;
    const rows = list.slice(0, MAX_ROWS).map((l, i) => el('tr', {}, el('td', {}, l.name || `${s.bodyName(l.a)} – ${s.bodyName(l.b)}` || `loop ${i}`), el('td', {}, l.type), el('td', { class: 'n' }, `${num(loopError(l, poses), 3)} m`)));
    this.loops.querySelector('summary')!.textContent = `Loop closures (${list.length})`;
    this.body(this.loops).replaceChildren(el('table', {}, el('tbody', {}, ...rows)));
  }

  // ---- the run ----

  private runFacts(s: Session, row: number): Node {
    const h = s.history, x = (n: string) => h.value(row, s.column(n)), verdict = x('verdict');
    const rows: Fact[] = [
      ['step', `${num(x('step'), 12)}${h.stride > 1 ? ` (every ${h.stride}th kept)` : ''}`],
      ['verdict', s.verdicts || s.recorded ? el('span', {}, el('i', { class: 'dot', style: `background:${h.contactCount(row) ? VERDICT_COLOURS[verdict] : 'var(--done)'}` }), h.contactCount(row) ? VERDICT_TEXT[verdict] : 'no contact') : el('span', {}, 'on demand ', el('button', { type: 'button', class: 'action', onclick: this.actions.judge }, 'judge this instant'))],
      ['residual', num(x('residual'), 3), ['residual']], ['overlap, m', num(x('penetration'), 3), ['penetration']],
      ['energy, J', num(x('energy_total')), ['energy.total']], ['kinetic, potential', `${num(x('energy_kinetic'), 5)}, ${num(x('energy_potential'), 5)}`, ['energy.kinetic', 'energy.potential']],
      ['problem size', num(x('lcp_size')), ['lcp_size']], ['contacts, islands', `${num(x('contacts'))}, ${num(x('islands'))}`, ['contacts', 'islands']],
    ];
    if (s.model.loops.length) rows.push(['loop error', num(x('closure'), 3), ['closure']]);
    rows.push(['settings', ['formulation', 'law', 'stepper'].map((k) => s.model.settings[k]).join(', ')], ['state hash', el('span', { class: 'mono' }, s.hashAt(row))]);
    const checks: Node[] = [];
    if (s.checks.length) {
      const text = s.mismatch ? `differs from the run that was saved, at step ${s.mismatch.at}` : s.touched ? 'changed by hand' : s.checked === s.checks.length ? `all ${s.checks.length} saved hashes reproduced` : `${s.checked} of ${s.checks.length} saved hashes reproduced`;
      checks.push(el('p', {}, el('span', { class: s.mismatch ? 'pill bad' : 'pill good', id: 'checks' }, text)));
    }
    if (s.failure) checks.push(el('p', {}, el('span', { class: 'pill bad' }, s.failure)));
    if (s.recorded) checks.push(el('div', { class: 'row' }, el('button', { type: 'button', class: 'action', onclick: this.actions.verify }, 'Verify every step')));
    return el('div', {}, facts(rows), ...checks);
  }
}
