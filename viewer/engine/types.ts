// What the engine says about itself and about what is open (engine/describe.c), and the layout of a contact row.

export interface Param { name: string; value: number; lo: number; hi: number; whole: boolean; doc: string; words: string | null }
export interface SceneInfo { name: string; purpose: string; citation: string; dt: number; duration: number; params: Param[] }
export interface Choice { name: string; doc: string }

export interface Catalogue {
  version: string;
  scenes: SceneInfo[];
  formulations: Choice[];
  laws: Choice[];
  steppers: Choice[];
  events: string[];
  verdicts: string[];
  statuses: string[];
}

export type Vec3 = [number, number, number];
export type Quat = [number, number, number, number]; // w, x, y, z

export interface Body { name: string; parent: number; mass: number; com: Vec3; inertia_quat: Quat; inertia: number[] }
export interface Joint {
  name: string; body: number; type: string; pos: Vec3; axis: Vec3;
  q: number; nq: number; v: number; nv: number; limited: boolean; range: [number, number];
}
export type ShapeKind = 'plane' | 'sphere' | 'capsule' | 'cylinder' | 'ellipsoid' | 'box' | 'hull' | 'mesh';
export interface Geom {
  name: string; body: number; shape: ShapeKind; size: Vec3; pos: Vec3; quat: Quat;
  mu: number | null; e: number; collides: boolean; group: number; rgba: Quat;
}
export interface Actuator { name: string; limited: boolean; range: [number, number] }
export interface Loop { name: string; type: string; a: number; b: number; pos_a: Vec3; pos_b: Vec3 }
export interface Frame { name: string; body: number; pos: Vec3; quat: Quat }
export interface Visual {
  name: string; body: number; geom: number; pos: Vec3; quat: Quat; mesh: string | null; scale: Vec3; rgba: Quat; group: number;
}
export interface Note { kind: 'unsupported' | 'warning' | 'info'; where: string; what: string }

export interface Model {
  name: string; hash: string; recorded: boolean; duration: number; controlled: boolean;
  nq: number; nv: number; nu: number; mass: number; gravity: Vec3;
  bodies: Body[]; joints: Joint[]; geoms: Geom[]; actuators: Actuator[]; loops: Loop[]; frames: Frame[];
  visuals: Visual[]; notes: Note[];
  settings: Record<string, string | number | null>;
  overlaps?: { bodies: string[]; depth: number; left_out: boolean }[];
}

export interface Verification {
  ok: boolean; error?: string; steps: number; violations: number;
  listed: { step: number; check: string; value: number; limit: number }[];
  skipped: string[];
}

/** Places in a contact row (engine/row.c, put_contact). */
export const CONTACT = {
  geomA: 0, geomB: 1, bodyA: 2, bodyB: 3, point: 4, frame: 7, gap: 16, mu: 17, e: 18, impulse: 19, velocity: 22, mode: 25,
  determinate: 26, impact: 27, eUsed: 28, compression: 29, decompression: 30, island: 31, rolling: 32, compliant: 33,
  delta: 34, keyHigh: 37, keyLow: 38, moment: 39, mu2: 42, torsion: 43, roll: 44, size: 45,
} as const;

/** Places in an event row. */
export const EVENT = { t: 0, kind: 1, geomA: 2, geomB: 3, joint: 4, value: 5, after: 6, size: 7 } as const;
