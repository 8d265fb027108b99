// Every number of a run by name, for charts: the names of `knuckle export --list`.
import { CONTACT } from '../engine/types.ts';
import type { Session } from './session.ts';
import { VERDICT_TEXT } from './theme.ts';

/** `text`: in words, where a number says little. `apart`: a line of its own in a stack. */
export interface Quantity { name: string; unit: string; value: (s: Session, row: number) => number; text?: (s: Session, row: number) => string; apart?: boolean }

const FREE_Q = ['x', 'y', 'z', 'qw', 'qx', 'qy', 'qz'], FREE_V = ['vx', 'vy', 'vz', 'wx', 'wy', 'wz'];
const HIDDEN = new Set(['t', 'hash_high', 'hash_low', 'step', 'events', 'status']);

function scalarName(column: string): string { return column.replace(/^(energy|ledger|momentum|angular|com)_(?!error)/, '$1.'); }

function jointParts(type: string, n: number, velocity: boolean): string[] {
  if (n === 1) return [''];
  return Array.from({ length: n }, (_, i) => (type === 'free' ? (velocity ? FREE_V : FREE_Q)[i] : String(i)));
}

function joints(s: Session, out: Quantity[]): void {
  const { q, v } = s.history.at;
  for (const kind of ['q', 'v'] as const)
    s.model.joints.forEach((j, i) => {
      const n = kind === 'q' ? j.nq : j.nv, at = kind === 'q' ? q + j.q : v + j.v;
      const turn = j.type === 'hinge' ? 'rad' : j.type === 'slide' ? 'm' : '';
      jointParts(j.type, n, kind === 'v').forEach((part, k) => {
        const name = `${kind}.${j.name || `joint${i}`}${part && `.${part}`}`;
        out.push({ name, unit: turn && (kind === 'v' ? `${turn}/s` : turn), value: (run, row) => run.history.value(row, at + k) });
      });
    });
}

function verdictText(s: Session, row: number): string {
  return s.history.contactCount(row) ? VERDICT_TEXT[s.history.value(row, s.column('verdict'))] : 'no contact';
}

/** Sums over the contacts between two bodies: normal force, friction force, smallest gap. */
function pairValue(s: Session, row: number, a: number, b: number, what: 'force' | 'friction' | 'gap'): number {
  const c = s.history.contacts(row), dt = s.history.value(row, s.column('dt'));
  let sum = 0, gap = NaN;
  for (let k = 0; k < c.length; k += CONTACT.size) {
    if (c[k + CONTACT.bodyA] !== a || c[k + CONTACT.bodyB] !== b) continue;
    const p = k + CONTACT.impulse;
    sum += what === 'force' ? c[p] : Math.hypot(c[p + 1], c[p + 2]);
    gap = Number.isNaN(gap) ? c[k + CONTACT.gap] : Math.min(gap, c[k + CONTACT.gap]);
  }
  return what === 'gap' ? gap : sum / dt;
}

export function pairs(s: Session): [number, number][] {
  const seen = new Map<string, [number, number]>();
  const h = s.history, stride = Math.max(1, Math.floor(h.count / 4000));
  for (let i = 0; i < h.count; i += stride) {
    const c = h.contacts(i);
    for (let k = 0; k < c.length; k += CONTACT.size) {
      const a = c[k + CONTACT.bodyA], b = c[k + CONTACT.bodyB];
      const key = `${a} ${b}`;
      if (!seen.has(key)) seen.set(key, [a, b]);
    }
  }
  return [...seen.values()].sort((x, y) => x[0] - y[0] || x[1] - y[1]);
}

export function quantities(s: Session): Quantity[] {
  const out: Quantity[] = [];
  s.engine.scalarNames.forEach((column, i) => {
    if (HIDDEN.has(column) || (column === 'step_time' && s.recorded)) return;
    out.push({ name: scalarName(column), unit: s.engine.scalarUnits[i], value: (run, row) => run.history.value(row, i), ...(column === 'verdict' ? { text: verdictText } : {}) });
  });
  joints(s, out);
  s.model.actuators.forEach((a, i) => {
    const at = s.history.at.ctrl + i;
    out.push({ name: `u.${a.name || `actuator${i}`}`, unit: '', value: (run, row) => run.history.value(row, at) });
  });
  for (const [a, b] of pairs(s)) {
    const names = `${s.bodyName(a)}.${s.bodyName(b)}`;
    out.push({ name: `force.${names}`, unit: 'N', value: (run, row) => pairValue(run, row, a, b, 'force') });
    out.push({ name: `friction.${names}`, unit: 'N', value: (run, row) => pairValue(run, row, a, b, 'friction') });
    out.push({ name: `gap.${names}`, unit: 'm', value: (run, row) => pairValue(run, row, a, b, 'gap') });
  }
  return out;
}
