// Typed access to the engine module. One Engine is one world (engine/world.h): memory is given back by dropping it.
import { Exit, Wasi, cleanPath } from './wasi.ts';
import type { Catalogue, Model, Verification } from './types.ts';

export type { Catalogue, Model, Verification } from './types.ts';
export { CONTACT } from './types.ts';

type Fn = (...args: number[]) => number;

/** A sentence for the user: bad input, or the engine gave up. */
export class EngineError extends Error {}

export interface Triangles { vertices: Float32Array; triangles: Uint32Array }

export class Engine {
  readonly wasi = new Wasi();
  private readonly call: Record<string, Fn>;
  private readonly memory: WebAssembly.Memory;
  model!: Model;
  /** Names of the numbers of a step and their units, in order. */
  readonly scalarNames: string[];
  readonly scalarUnits: string[];
  private posePointer = 0;
  private scratchPointer = 0;

  constructor(module: WebAssembly.Module) {
    const instance = new WebAssembly.Instance(module, { wasi_snapshot_preview1: this.wasi.imports() });
    this.memory = this.wasi.memory = instance.exports['memory'] as WebAssembly.Memory;
    this.call = instance.exports as unknown as Record<string, Fn>;
    this.call['_initialize']();
    const rows = this.text(this.call['kw_row_names']()).trim().split('\n').map((r) => r.split('|'));
    this.scalarNames = rows.map((r) => r[0]);
    this.scalarUnits = rows.map((r) => r[1]);
  }

  private text(at: number): string {
    const bytes = new Uint8Array(this.memory.buffer);
    let end = at;
    while (bytes[end]) end++;
    return new TextDecoder().decode(bytes.subarray(at, end));
  }

  private put(text: string): number {
    const bytes = new TextEncoder().encode(text);
    const at = this.call['kw_alloc'](bytes.length + 1);
    const to = new Uint8Array(this.memory.buffer, at, bytes.length + 1);
    to.set(bytes);
    to[bytes.length] = 0;
    return at;
  }

  private doubles(at: number, n: number): Float64Array { return new Float64Array(this.memory.buffer, at, n); }

  /** A trap ends the instance; what it means for the user is a sentence. */
  private guard<T>(f: () => T): T {
    try { return f(); } catch (e) {
      if (e instanceof EngineError) throw e;
      const said = this.wasi.takeErrors();
      const why = e instanceof Exit ? e.message : e instanceof Error ? e.message : String(e);
      throw new EngineError(said.trim() || `the engine gave up: ${why}`);
    }
  }

  catalogue(): Catalogue { return JSON.parse(this.text(this.call['kw_catalogue']())) as Catalogue; }

  addFile(path: string, bytes: Uint8Array): void { this.wasi.files.set(cleanPath(path), bytes); }

  /** Opens a scene, a model or a recording: words as after `knuckle view`. */
  open(words: string[]): Model {
    return this.guard(() => {
      this.wasi.takeErrors();
      const line = this.put(words.join('\n'));
      const code = this.call['kw_open'](line);
      this.call['kw_free'](line);
      if (code !== 0) {
        const said = this.wasi.takeErrors().trim().replace(/^knuckle view: /, '');
        throw new EngineError(said || `it could not be opened (status ${code})`);
      }
      this.model = JSON.parse(this.text(this.call['kw_model']())) as Model;
      const n = Math.max(1, 18 * this.model.bodies.length);
      this.posePointer = this.call['kw_alloc'](8 * n);
      this.scratchPointer = this.call['kw_alloc'](8 * (this.model.nq + this.model.nv + 1));
      return this.model;
    });
  }

  step(): void {
    this.guard(() => {
      if (this.call['kw_step']() !== 0) throw new EngineError(this.text(this.call['kw_error']()));
    });
  }

  stepMany(n: number): void {
    this.guard(() => {
      if (this.call['kw_step_many'](n) !== 0) throw new EngineError(this.text(this.call['kw_error']()));
    });
  }

  hash(): string { return this.text(this.call['kw_hash']()); }

  // Numbers of the last step; views that the next step or a growing memory makes stale: copy them.
  get scalars(): Float64Array { return this.doubles(this.call['kw_row'](), this.call['kw_row_size']()); }
  get q(): Float64Array { return this.doubles(this.call['kw_row_q'](), this.model.nq); }
  get v(): Float64Array { return this.doubles(this.call['kw_row_v'](), this.model.nv); }
  get ctrl(): Float64Array { return this.doubles(this.call['kw_row_ctrl'](), this.model.nu); }
  get contacts(): Float64Array {
    return this.doubles(this.call['kw_row_contact'](), this.call['kw_row_contacts']() * this.call['kw_contact_size']());
  }
  get events(): Float64Array {
    return this.doubles(this.call['kw_row_event'](), this.call['kw_row_events']() * this.call['kw_event_size']());
  }
  eventText(i: number): string { return this.text(this.call['kw_row_event_text'](i)); }

  /** The simulated state itself, to write to; call touch() after writing to q or v. */
  get stateQ(): Float64Array { return this.doubles(this.call['kw_q'](), this.model.nq); }
  get stateV(): Float64Array { return this.doubles(this.call['kw_v'](), this.model.nv); }
  get stateCtrl(): Float64Array { return this.doubles(this.call['kw_ctrl'](), this.model.nu); }
  /** The simulator's own sums of the energy ledger. */
  ledger(n: number): Float64Array { return this.doubles(this.call['kw_ledger'](), n); }
  touch(): void { this.call['kw_touch'](); }

  save(): Uint8Array {
    const n = this.call['kw_save_size'](), at = this.call['kw_alloc'](n);
    const status = this.call['kw_save'](at, n);
    const out = new Uint8Array(this.memory.buffer, at, n).slice();
    this.call['kw_free'](at);
    if (status !== 0) throw new EngineError(this.text(this.call['kw_error']()));
    return out;
  }

  restore(bytes: Uint8Array, step: number): void {
    const at = this.call['kw_alloc'](bytes.length);
    new Uint8Array(this.memory.buffer, at, bytes.length).set(bytes);
    const status = this.call['kw_restore'](at, bytes.length, step);
    this.call['kw_free'](at);
    if (status !== 0) throw new EngineError(this.text(this.call['kw_error']()));
  }

  /** Per body 18 numbers: R row by row, p, angular and linear velocity of the origin. Stale after the next call. */
  pose(q: ArrayLike<number>, v: ArrayLike<number>): Float64Array {
    const { nq, nv, bodies } = this.model;
    const to = this.doubles(this.scratchPointer, nq + nv);
    to.set(q);
    to.set(v, nq);
    this.call['kw_pose'](this.posePointer, this.scratchPointer, this.scratchPointer + 8 * nq);
    return this.doubles(this.posePointer, 18 * bodies.length);
  }

  drag(body: number, local: number[], target: number[], stiffness: number): void {
    this.call['kw_drag'](body, local[0], local[1], local[2], target[0], target[1], target[2], stiffness);
  }
  dragEnd(): void { this.call['kw_drag_end'](); }

  recordedSteps(): number { return this.call['kw_recorded_steps'](); }
  readRecorded(i: number): void {
    this.guard(() => {
      if (this.call['kw_recorded_read'](i) !== 0) throw new EngineError(this.text(this.call['kw_error']()));
    });
  }
  verify(): Verification { return this.guard(() => JSON.parse(this.text(this.call['kw_verify']())) as Verification); }

  private triangles(): Triangles {
    const nv = this.call['kw_mesh_vertex_count'](), nt = this.call['kw_mesh_triangle_count']();
    const out = {
      vertices: new Float32Array(this.doubles(this.call['kw_mesh_vertices'](), 3 * nv)),
      triangles: new Uint32Array(this.memory.buffer, this.call['kw_mesh_triangles'](), 3 * nt).slice(),
    };
    this.call['kw_mesh_free']();
    return out;
  }
  geomMesh(i: number): Triangles | null {
    return this.guard(() => (this.call['kw_geom_mesh'](i) === 0 ? this.triangles() : null));
  }
  visualMesh(i: number): Triangles | null {
    return this.guard(() => (this.call['kw_visual_mesh'](i) === 0 ? this.triangles() : null));
  }

  /** The number of the verdict on coordinates q and velocities v, -1 when it could not be had. */
  judge(q: ArrayLike<number>, v: ArrayLike<number>): number {
    const { nq, nv } = this.model;
    const to = this.doubles(this.scratchPointer, nq + nv), out = this.call['kw_alloc'](8);
    to.set(q);
    to.set(v, nq);
    const kind = this.guard(() => this.call['kw_judge'](this.scratchPointer, this.scratchPointer + 8 * nq, out, out + 4));
    this.call['kw_free'](out);
    return kind;
  }

  get memoryBytes(): number { return this.memory.buffer.byteLength; }
}
