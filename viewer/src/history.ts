// A run in memory: one row of numbers per kept step, contacts beside, events as a list. When the budget is used up every
// second row is dropped and from then on every second step is kept, and so on: memory is bounded, the run is not.
import { CONTACT } from '../engine/types.ts';

export interface Widths { scalars: number; nq: number; nv: number; nu: number }

/** Numbers appended to a growing array. */
class Pool {
  data = new Float64Array(1024);
  used = 0;
  add(x: Float64Array): number {
    const start = this.used;
    if (start + x.length > this.data.length) {
      const more = new Float64Array(Math.max(2 * this.data.length, start + x.length));
      more.set(this.data.subarray(0, start));
      this.data = more;
    }
    this.data.set(x, start);
    this.used += x.length;
    return start;
  }
}

/** `at` is the time after the step in which it happened: where its contacts are shown. */
export interface HistoryEvent { t: number; at: number; step: number; kind: number; geomA: number; geomB: number; joint: number; value: number; after: number; text: string }

export interface StepSource {
  scalars: Float64Array; q: Float64Array; v: Float64Array; ctrl: Float64Array; contacts: Float64Array;
}

/** Rows on their way from a worker to the page: numbers of n rows, of their contacts, and how many of those each has. */
export interface Batch { rows: Float64Array; contacts: Float64Array; counts: Uint32Array; events: HistoryEvent[] }

const MAX_EVENTS = 50000;

export class History {
  readonly width: number;
  readonly at: { q: number; v: number; ctrl: number };
  private readonly w: Widths;
  private readonly budget: number;
  private rows = new Pool();
  private contactPool = new Pool();
  private starts: number[] = [0]; // of the contacts of each row, and the end
  count = 0;
  stride = 1;
  seen = 0; // rows offered
  events: HistoryEvent[] = [];
  eventsDropped = 0;
  private drained = false;
  /** Goes up whenever rows change other than by appending. */
  epoch = 0;

  constructor(w: Widths, budgetBytes = 3e8) {
    this.w = w;
    this.budget = budgetBytes;
    this.width = w.scalars + w.nq + w.nv + w.nu;
    this.at = { q: w.scalars, v: w.scalars + w.nq, ctrl: w.scalars + w.nq + w.nv };
  }

  get bytes(): number { return 8 * (this.rows.used + this.contactPool.used); }

  add(s: StepSource): void {
    if (this.seen++ % this.stride !== 0) return;
    this.rows.add(s.scalars);
    this.rows.add(s.q);
    this.rows.add(s.v);
    this.rows.add(s.ctrl);
    this.contactPool.add(s.contacts);
    this.starts.push(this.contactPool.used);
    this.count++;
    if (this.bytes > this.budget && this.count > 64) this.thin();
  }

  addEvent(e: HistoryEvent): void {
    if (this.events.length < MAX_EVENTS) this.events.push(e);
    else this.eventsDropped++;
  }

  /** In place: row 2i becomes row i. */
  private thin(): void {
    const rows = this.rows.data, contacts = this.contactPool.data, kept = (this.count + 1) >> 1;
    let used = 0;
    for (let i = 0; i < kept; i++) {
      const from = this.starts[2 * i], to = this.starts[2 * i + 1];
      rows.copyWithin(i * this.width, 2 * i * this.width, (2 * i + 1) * this.width);
      contacts.copyWithin(used, from, to);
      this.starts[i] = used;
      used += to - from;
    }
    this.starts[kept] = used;
    this.starts.length = kept + 1;
    this.rows.used = kept * this.width;
    this.contactPool.used = used;
    this.count = kept;
    this.stride *= 2;
    this.epoch++;
  }

  /** The rows since the last call, for another history. Only the last row stays here. */
  drain(): Batch {
    const from = this.drained ? 1 : 0, n = this.count, last = n - 1, w = this.width;
    const batch: Batch = {
      rows: this.rows.data.slice(from * w, n * w), contacts: this.contactPool.data.slice(this.starts[from], this.starts[n]),
      counts: Uint32Array.from({ length: n - from }, (_, i) => this.starts[from + i + 1] - this.starts[from + i]), events: this.events,
    };
    const size = this.starts[n] - this.starts[last];
    this.rows.data.copyWithin(0, last * w, n * w);
    this.contactPool.data.copyWithin(0, this.starts[last], this.starts[n]);
    this.rows.used = w;
    this.contactPool.used = size;
    this.starts = [0, size];
    this.count = 1;
    this.events = [];
    this.drained = true;
    return batch;
  }

  /** Adds a batch, without its first `skip` rows and the events in them (they are here already). */
  append(b: Batch, skip: number): void {
    const w = this.width, known = this.end, none = this.count === 0;
    for (let i = 0, at = 0; i < b.counts.length; at += b.counts[i++]) {
      if (i < skip || this.seen++ % this.stride !== 0) continue;
      this.rows.add(b.rows.subarray(i * w, (i + 1) * w));
      this.contactPool.add(b.contacts.subarray(at, at + b.counts[i]));
      this.starts.push(this.contactPool.used);
      this.count++;
      if (this.bytes > this.budget && this.count > 64) this.thin();
    }
    for (const e of b.events) if (none || skip === 0 || e.at > known) this.addEvent(e);
  }

  /** Forgets everything after row i. */
  truncate(i: number): void {
    if (i + 1 >= this.count) return;
    const t = this.time(i);
    this.count = i + 1;
    this.rows.used = this.count * this.width;
    this.contactPool.used = this.starts[this.count];
    this.starts.length = this.count + 1;
    this.seen = i * this.stride + 1;
    this.events = this.events.filter((e) => e.t <= t);
    this.epoch++;
  }

  row(i: number): Float64Array { return this.rows.data.subarray(i * this.width, (i + 1) * this.width); }
  value(i: number, k: number): number { return this.rows.data[i * this.width + k]; }
  time(i: number): number { return this.rows.data[i * this.width]; }
  q(i: number): Float64Array { return this.row(i).subarray(this.at.q, this.at.v); }
  v(i: number): Float64Array { return this.row(i).subarray(this.at.v, this.at.ctrl); }
  ctrl(i: number): Float64Array { return this.row(i).subarray(this.at.ctrl); }
  contacts(i: number): Float64Array { return this.contactPool.data.subarray(this.starts[i], this.starts[i + 1]); }
  contactCount(i: number): number { return (this.starts[i + 1] - this.starts[i]) / CONTACT.size; }
  get end(): number { return this.count ? this.time(this.count - 1) : 0; }
  get start(): number { return this.count ? this.time(0) : 0; }

  /** The last row at or before time t (rounding of half a step forgiven). */
  find(t: number): number {
    let lo = 0, hi = this.count - 1;
    const slack = this.count > 1 ? 1e-9 * Math.max(1, Math.abs(t)) : 0;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (this.time(mid) <= t + slack) lo = mid;
      else hi = mid - 1;
    }
    return lo;
  }

  get widths(): Widths { return this.w; }
}
