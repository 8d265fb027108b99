// A run in memory: one row of numbers per kept step, contacts beside, events as a list. When the budget is used up every
// second row is dropped and from then on every second step is kept, and so on: memory is bounded, the run is not.
import { CONTACT } from '../engine/types.ts';

export interface Widths { scalars: number; nq: number; nv: number; nu: number }

const CHUNK = 1 << 20; // numbers

/** Numbers appended in pieces that each lie in one chunk: growing copies nothing. */
class Pool {
  private chunks: Float64Array[] = [];
  private readonly size: number;
  used = 0;
  constructor(size = CHUNK) { this.size = size; }

  /** Room for n numbers (at most a chunk) in one piece: where it begins. */
  room(n: number): number {
    if ((this.used % this.size) + n > this.size) this.used = (Math.floor(this.used / this.size) + 1) * this.size;
    const start = this.used;
    if (n > 0 && Math.floor(start / this.size) >= this.chunks.length) this.chunks.push(new Float64Array(this.size));
    this.used += n;
    return start;
  }
  at(start: number, n: number): Float64Array {
    const i = start % this.size;
    return n === 0 ? NONE : this.chunks[Math.floor(start / this.size)].subarray(i, i + n);
  }
  value(start: number): number { return this.chunks[Math.floor(start / this.size)][start % this.size]; }
  cut(used: number): void { this.used = used; this.chunks.length = Math.min(this.chunks.length, Math.max(1, Math.ceil(used / this.size))); }
}
const NONE = new Float64Array(0);

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
  private readonly rows: Pool; // of one width: row i begins at i * width
  private contactPool = new Pool();
  private starts: number[] = []; // of the contacts of each row
  private sizes: number[] = [];  // numbers of the contacts of each row
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
    this.rows = new Pool(this.width * Math.max(1, Math.floor(CHUNK / this.width)));
    this.at = { q: w.scalars, v: w.scalars + w.nq, ctrl: w.scalars + w.nq + w.nv };
  }

  get bytes(): number { return 8 * (this.rows.used + this.contactPool.used); }

  add(s: StepSource): void {
    if (this.seen++ % this.stride !== 0) return;
    const row = this.rows.at(this.rows.room(this.width), this.width);
    row.set(s.scalars);
    row.set(s.q, this.at.q);
    row.set(s.v, this.at.v);
    row.set(s.ctrl, this.at.ctrl);
    this.addContacts(s.contacts);
  }

  /** Ends a row. More contacts than a chunk holds (20 000) are not kept. */
  private addContacts(all: Float64Array): void {
    const x = all.length <= CHUNK ? all : all.subarray(0, CHUNK - (CHUNK % CONTACT.size)), start = this.contactPool.room(x.length);
    this.contactPool.at(start, x.length).set(x);
    this.starts.push(start);
    this.sizes.push(x.length);
    this.count++;
    if (this.bytes > this.budget && this.count > 64) this.thin();
  }

  addEvent(e: HistoryEvent): void {
    if (this.events.length < MAX_EVENTS) this.events.push(e);
    else this.eventsDropped++;
  }

  /** In place: row 2i becomes row i, and its contacts move down. */
  private thin(): void {
    const kept = (this.count + 1) >> 1, w = this.width, contacts = this.contactPool;
    contacts.used = 0; // what is written never passes what is still to be read
    for (let i = 0; i < kept; i++) {
      const from = this.starts[2 * i], n = this.sizes[2 * i], to = contacts.room(n);
      if (i) this.rows.at(i * w, w).set(this.rows.at(2 * i * w, w));
      if (to !== from) contacts.at(to, n).set(contacts.at(from, n));
      this.starts[i] = to;
      this.sizes[i] = n;
    }
    this.keep(kept);
    this.stride *= 2;
    this.epoch++;
  }

  /** Only the first n rows stay. */
  private keep(n: number): void {
    this.count = this.starts.length = this.sizes.length = n;
    this.rows.cut(n * this.width);
    this.contactPool.cut(n ? this.starts[n - 1] + this.sizes[n - 1] : 0);
  }

  /** The rows since the last call, for another history. Only the last row stays here. */
  drain(): Batch {
    const from = this.drained ? 1 : 0, n = this.count - from, w = this.width, total = this.sizes.slice(from).reduce((x, y) => x + y, 0);
    const batch: Batch = { rows: new Float64Array(n * w), contacts: new Float64Array(total), counts: Uint32Array.from(this.sizes.slice(from)), events: this.events };
    for (let i = 0, at = 0; i < n; at += batch.counts[i++]) {
      batch.rows.set(this.row(from + i), i * w);
      batch.contacts.set(this.contacts(from + i), at);
    }
    const last = this.row(this.count - 1).slice(), contacts = this.contacts(this.count - 1).slice();
    this.keep(0);
    this.rows.at(this.rows.room(w), w).set(last);
    this.addContacts(contacts);
    this.events = [];
    this.drained = true;
    return batch;
  }

  /** Adds a batch, without its first `skip` rows and the events in them (they are here already). */
  append(b: Batch, skip: number): void {
    const w = this.width, known = this.end, none = this.count === 0;
    for (let i = 0, at = 0; i < b.counts.length; at += b.counts[i++]) {
      if (i < skip || this.seen++ % this.stride !== 0) continue;
      this.rows.at(this.rows.room(w), w).set(b.rows.subarray(i * w, (i + 1) * w));
      this.addContacts(b.contacts.subarray(at, at + b.counts[i]));
    }
    for (const e of b.events) if (none || skip === 0 || e.at > known) this.addEvent(e);
  }

  /** Forgets everything after row i. */
  truncate(i: number): void {
    if (i + 1 >= this.count) return;
    const t = this.time(i);
    this.keep(i + 1);
    this.seen = i * this.stride + 1;
    this.events = this.events.filter((e) => e.t <= t);
    this.epoch++;
  }

  row(i: number): Float64Array { return this.rows.at(i * this.width, this.width); }
  value(i: number, k: number): number { return this.rows.value(i * this.width + k); }
  time(i: number): number { return this.rows.value(i * this.width); }
  q(i: number): Float64Array { return this.row(i).subarray(this.at.q, this.at.v); }
  v(i: number): Float64Array { return this.row(i).subarray(this.at.v, this.at.ctrl); }
  ctrl(i: number): Float64Array { return this.row(i).subarray(this.at.ctrl); }
  contacts(i: number): Float64Array { return this.contactPool.at(this.starts[i], this.sizes[i]); }
  contactCount(i: number): number { return this.sizes[i] / CONTACT.size; }
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
