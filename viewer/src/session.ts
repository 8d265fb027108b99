// A run: an engine with something open, its history so far, and keyframes from which it can go on.
import { Engine } from '../engine/engine.ts';
import { EVENT, type Model } from '../engine/types.ts';
import { History, type Batch, type HistoryEvent } from './history.ts';

export interface FileIn { path: string; bytes: Uint8Array }
/** Words as after `knuckle view`, the files they need, and how long to run (otherwise: as the scene says). */
export interface Recipe { words: string[]; files: FileIn[]; duration?: number }

export interface Keyframe { step: number; t: number; bytes: Uint8Array }

const KEYFRAME_STEPS = 500;
const MAX_KEYFRAMES = 4000;
const SLOW_STEP_MS = 2.5, SLOW_STEPS = 5; // so many steps in a row, with their verdicts, above that: verdicts only where asked for

export type Check = { at: number; hash: string };

/** What a session in a worker (feed.ts) tells the session in the page. */
export interface Fed {
  batch: Batch; keyframes: Keyframe[]; verdicts: boolean; failure: string; checked: number; mismatch: Check | null; complete: boolean;
}
/** Where the rows of a session come from, when not from the page itself. */
export interface Source { stop: () => void }

export class Session {
  engine: Engine;
  readonly model: Model;
  readonly history: History;
  readonly recipe: Recipe;
  readonly recorded: boolean;
  readonly columns: Map<string, number>;
  duration: number;
  verdicts = true;
  /** A step with its verdict is slow above this, ms. */
  slowStep = SLOW_STEP_MS;
  /** Something was done by hand: the run no longer follows from its command. */
  touched = false;
  /** A sentence when the run ended early. */
  failure = '';
  /** Hashes the run must reproduce (a page written by `knuckle view --html`), and what came of it. */
  checks: Check[] = [];
  checked = 0;
  mismatch: Check | null = null;
  private readonly module: WebAssembly.Module;
  private readonly ledgerAt: number;
  private readonly ledgerStart: Float64Array;
  private slowSteps = 0;
  private steps = 0;
  private readAt = 0;
  private keyframes: Keyframe[] = [];
  private source: Source | null = null;
  private sourceDone = false;
  private skip = 0; // rows of the source that are here already

  constructor(module: WebAssembly.Module, recipe: Recipe) {
    this.recipe = recipe;
    this.module = module;
    const engine = Session.fresh(module, recipe, recipe.words);
    this.engine = engine;
    this.recorded = engine.model.recorded;
    this.verdicts = !recipe.words.includes('--no-verdict');
    this.model = engine.model;
    this.columns = new Map(engine.scalarNames.map((n, i) => [n, i]));
    this.ledgerAt = this.column('ledger_kinetic');
    this.ledgerStart = new Float64Array(engine.scalarNames.length - this.ledgerAt);
    this.duration = recipe.duration ?? engine.model.duration;
    const { nq, nv, nu } = engine.model;
    this.history = new History({ scalars: engine.scalarNames.length, nq, nv, nu });
    if (this.recorded) {
      this.duration = 0;
      if (engine.recordedSteps() === 0) this.failure = 'the recording has no complete step';
      else this.duration = this.lastTime();
      this.advance(2);
    } else {
      this.history.add(engine);
      this.keep();
    }
  }

  /** When the recording ends, s; 0 when its last step cannot be read. */
  private lastTime(): number {
    try { this.engine.readRecorded(this.engine.recordedSteps() - 1); } catch { return 0; }
    return this.engine.scalars[0];
  }

  // ---- rows from a worker ----

  get fed(): boolean { return this.source !== null; }

  /** From now on rows come by receive(); the source starts at the beginning. */
  feedFrom(source: Source): void {
    this.source = source;
    this.sourceDone = false;
    this.skip = this.history.seen;
  }

  receive(f: Fed): void {
    if (!this.source) return;
    const n = f.batch.counts.length, known = this.keyframes.at(-1)?.step ?? -1;
    this.history.append(f.batch, Math.min(this.skip, n));
    this.skip -= Math.min(this.skip, n);
    for (const k of f.keyframes) if (k.step > known) this.addKeyframe(k);
    if (f.keyframes.length || n) this.verdicts = f.verdicts;
    this.checked = Math.max(this.checked, f.checked);
    this.mismatch ??= f.mismatch;
    if (this.recorded) { this.readAt += n; this.duration = Math.max(this.duration, this.history.end); }
    if (f.failure) this.failure = f.failure;
    if (f.complete) { this.sourceDone = true; this.source.stop(); }
  }

  /** The page goes on by itself from the last row it has. */
  takeOver(): void {
    if (!this.source) return;
    this.source.stop();
    this.source = null;
    if (this.recorded) this.readAt = this.sourceDone ? this.engine.recordedSteps() : this.history.seen;
    else this.branch(this.history.count - 1);
  }

  close(): void { this.source?.stop(); this.source = null; }

  /** In a worker: what the page does not have yet. */
  hand(): Fed {
    const keyframes = this.keyframes;
    this.keyframes = keyframes.slice(-1);
    return { batch: this.history.drain(), keyframes, verdicts: this.verdicts, failure: this.failure, checked: this.checked, mismatch: this.mismatch, complete: this.complete };
  }

  private static fresh(module: WebAssembly.Module, recipe: Recipe, words: string[]): Engine {
    const engine = new Engine(module);
    for (const f of recipe.files) engine.addFile(f.path, f.bytes);
    engine.open(words);
    return engine;
  }

  /** Verdicts turned out too dear to come with every step: the run goes on without them. A run that follows from its
      command is made once more from its beginning, which is the same to the bit and takes a part of what verdicts took;
      one that was touched goes on from its state, with the last step once more (`before` it): what begins and ends in a
      step is told from the step before. */
  private dropVerdicts(before: Uint8Array): void {
    const state = this.engine.save();
    this.engine = Session.fresh(this.module, this.recipe, [...this.recipe.words, '--no-verdict']);
    if (this.touched) {
      this.engine.restore(before, this.steps - 1);
      this.engine.stepMany(1);
      this.engine.restore(state, this.steps);
    } else this.engine.stepMany(this.steps);
    this.carryLedger();
    this.verdicts = false;
  }

  // A simulator sums energy over all its steps, also after a state was restored: what the rows say goes on instead.
  private carryLedger(): void {
    const last = this.history.count - 1, own = this.engine.ledger(this.ledgerStart.length);
    this.ledgerStart.forEach((_, k) => { this.ledgerStart[k] = this.history.value(last, this.ledgerAt + k) - own[k]; });
  }

  column(name: string): number {
    const i = this.columns.get(name);
    if (i === undefined) throw new Error(`no number called ${name}`);
    return i;
  }

  get dt(): number { return Number(this.model.settings['dt'] ?? 0) || this.history.value(Math.min(1, this.history.count - 1), 1); }

  /** Everything there is has been simulated or read. */
  get complete(): boolean {
    if (this.failure) return true;
    if (this.source) return this.sourceDone;
    return this.recorded ? this.readAt >= this.engine.recordedSteps() : this.history.end >= this.duration - 0.5 * this.dt;
  }

  private addKeyframe(k: Keyframe): void {
    if (this.keyframes.length >= MAX_KEYFRAMES) this.keyframes = this.keyframes.filter((_, i) => i % 2 === 0);
    this.keyframes.push(k);
  }

  private keep(): void {
    this.addKeyframe({ step: this.steps, t: this.engine.scalars[0], bytes: this.engine.save() });
  }

  private store(): void {
    const e = this.engine;
    const scalars = e.scalars;
    this.ledgerStart.forEach((x, k) => { scalars[this.ledgerAt + k] += x; });
    this.history.add(e);
    const events = e.events;
    for (let i = 0; i * EVENT.size < events.length; i++) {
      const x = events.subarray(i * EVENT.size);
      const event: HistoryEvent = {
        t: x[EVENT.t], at: e.scalars[0], step: e.scalars[this.column('step')], kind: x[EVENT.kind], geomA: x[EVENT.geomA], geomB: x[EVENT.geomB],
        joint: x[EVENT.joint], value: x[EVENT.value], after: x[EVENT.after], text: e.eventText(i),
      };
      this.history.addEvent(event);
    }
  }

  private compare(): void {
    const next = this.checks[this.checked];
    if (!next || next.at !== this.steps || this.mismatch) return;
    if (this.engine.hash() === next.hash) this.checked++;
    else this.mismatch = next;
  }

  private one(): void {
    const before = this.slowSteps === SLOW_STEPS - 1 ? this.engine.save() : null, start = this.verdicts ? performance.now() : 0;
    this.engine.step();
    this.slowSteps = this.verdicts && performance.now() - start > this.slowStep ? this.slowSteps + 1 : 0;
    this.steps++;
    this.store();
    if (before && this.slowSteps === SLOW_STEPS) this.dropVerdicts(before);
    if (this.checks.length && !this.touched) this.compare();
    if (this.steps % KEYFRAME_STEPS === 0) this.keep();
  }

  /** Simulates or reads on for so many milliseconds, not beyond `until` (s). Returns whether anything was done. */
  advance(milliseconds: number, until = Infinity): boolean {
    if (this.source && !this.sourceDone) this.takeOver();
    const start = performance.now(), goal = until - 0.5 * this.dt;
    let done = false;
    try {
      while (!this.complete && (this.recorded || this.history.end < goal)) {
        if (this.recorded) { this.engine.readRecorded(this.readAt++); this.store(); } else this.one();
        done = true;
        if (performance.now() - start > milliseconds) break;
      }
    } catch (e) {
      this.failure = e instanceof Error ? e.message : String(e);
    }
    if (this.recorded) this.duration = this.complete ? this.history.end : Math.max(this.duration, this.history.end);
    return done;
  }

  /** One step, whatever the duration says. */
  stepLive(): void {
    this.takeOver();
    try { this.one(); } catch (e) { this.failure = e instanceof Error ? e.message : String(e); }
    this.duration = Math.max(this.duration, this.history.end);
  }

  /** Makes the engine's state that of row i, and forgets the rows behind it. */
  branch(i: number): void {
    if (this.recorded) return;
    this.close();
    const step = Math.round(this.history.value(i, this.column('step')));
    if (step !== this.steps) {
      let from = this.keyframes[0];
      for (const k of this.keyframes) if (k.step < step) from = k; // a step at least: events are told from the report before
      this.engine.restore(from.bytes, from.step);
      this.engine.stepMany(step - from.step);
      this.steps = step;
    }
    this.keyframes = this.keyframes.filter((k) => k.step <= step);
    this.history.truncate(i);
    this.carryLedger();
    this.failure = '';
  }

  get stepNumber(): number { return this.source ? this.history.value(this.history.count - 1, this.column('step')) : this.steps; }

  hashAt(i: number): string {
    const h = this.history;
    const part = (name: string) => h.value(i, this.column(name)).toString(16).padStart(8, '0');
    return part('hash_high') + part('hash_low');
  }

  bodyName(i: number): string { return i < 0 ? 'world' : this.model.bodies[i]?.name || `body${i}`; }
  geomName(i: number): string {
    const g = this.model.geoms[i];
    if (!g) return '';
    return g.name || `${this.bodyName(g.body)} ${g.shape}`;
  }
}
