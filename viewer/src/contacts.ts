// The contact layer: points, normal and friction forces, cones, impulses, support polygon. A force is drawn as it acts on
// the body that moves (of two moving bodies: on the one it carries against gravity, else on the first). Forces are
// impulse / dt; impacts are impulses in N s and never drawn as forces.
import * as THREE from 'three';
import { CONTACT } from '../engine/types.ts';
import { Arrows, Glyphs } from './glyphs.ts';
import type { Session } from './session.ts';
import { FORCE } from './theme.ts';

export interface ContactView {
  index: number; row: number;
  bodyA: number; bodyB: number; onB: boolean; geomA: number; geomB: number;
  point: THREE.Vector3; normal: THREE.Vector3; t1: THREE.Vector3; t2: THREE.Vector3;
  gap: number; mu: number; e: number; eUsed: number;
  impulse: [number, number, number]; velocity: [number, number, number];
  /** N; 0 for an impact. Normal and friction as vectors on the body that is drawn. */
  forceNormal: number; forceFriction: number; normalVector: THREE.Vector3; frictionVector: THREE.Vector3;
  /** Friction of spin and rolling: lengths, m; moments about normal and tangents, N m (N m s of an impact), and as a vector. */
  torsion: number; roll: number; moment: [number, number, number]; momentVector: THREE.Vector3;
  mode: 'open' | 'stick' | 'slip' | 'roll'; determinate: 'yes' | 'no' | 'undecided'; impact: boolean; compliant: boolean;
}

const MODES = ['open', 'stick', 'slip'] as const, ANSWERS = ['undecided', 'yes', 'no'] as const;

/** Is the force drawn on body B? Normals point from B to A. */
export function drawnOnB(bodyA: number, bodyB: number, normal: readonly number[], gravity: readonly number[]): boolean {
  if (bodyA < 0 || bodyB < 0) return bodyA < 0;
  const g = Math.hypot(...gravity) || 1;
  return (normal[0] * gravity[0] + normal[1] * gravity[1] + normal[2] * gravity[2]) / g > 0.2;
}

export function readContacts(s: Session, row: number): ContactView[] {
  const c = s.history.contacts(row), dt = s.history.value(row, s.column('dt')), out: ContactView[] = [];
  for (let k = 0, index = 0; k < c.length; k += CONTACT.size, index++) {
    const v = (at: number) => new THREE.Vector3(c[k + at], c[k + at + 1], c[k + at + 2]);
    const f = CONTACT.frame, p = k + CONTACT.impulse, w = k + CONTACT.velocity, impact = c[k + CONTACT.impact] > 0;
    const normal = v(f), t1 = v(f + 3), t2 = v(f + 6), bodyA = c[k + CONTACT.bodyA];
    const bodyB = c[k + CONTACT.bodyB], onB = drawnOnB(bodyA, bodyB, normal.toArray(), s.model.gravity), sign = (onB ? -1 : 1) / dt;
    out.push({
      index, row, bodyA, bodyB, onB, geomA: c[k + CONTACT.geomA], geomB: c[k + CONTACT.geomB],
      point: v(CONTACT.point), normal, t1, t2, gap: c[k + CONTACT.gap], mu: c[k + CONTACT.mu], e: c[k + CONTACT.e], eUsed: c[k + CONTACT.eUsed],
      impulse: [c[p], c[p + 1], c[p + 2]], velocity: [c[w], c[w + 1], c[w + 2]],
      forceNormal: impact ? 0 : c[p] / dt, forceFriction: impact ? 0 : Math.hypot(c[p + 1], c[p + 2]) / dt,
      normalVector: normal.clone().multiplyScalar(sign * c[p]),
      frictionVector: t1.clone().multiplyScalar(sign * c[p + 1]).addScaledVector(t2, sign * c[p + 2]),
      ...momentOf(c, k, impact ? 1 : dt, onB ? -1 : 1, normal, t1, t2),
      mode: c[k + CONTACT.rolling] > 0 && c[k + CONTACT.mode] === 1 ? 'roll' : MODES[c[k + CONTACT.mode]] ?? 'open',
      determinate: ANSWERS[c[k + CONTACT.determinate]] ?? 'undecided', impact, compliant: c[k + CONTACT.compliant] > 0,
    });
  }
  return out;
}

function momentOf(c: Float64Array, k: number, dt: number, sign: number, n: THREE.Vector3, t1: THREE.Vector3, t2: THREE.Vector3): Pick<ContactView, 'torsion' | 'roll' | 'moment' | 'momentVector'> {
  const at = k + CONTACT.moment, m: [number, number, number] = [c[at] / dt, c[at + 1] / dt, c[at + 2] / dt];
  const momentVector = n.clone().multiplyScalar(sign * m[0]).addScaledVector(t1, sign * m[1]).addScaledVector(t2, sign * m[2]);
  return { torsion: c[k + CONTACT.torsion], roll: c[k + CONTACT.roll], moment: m, momentVector };
}

/** Convex hull of points in the plane, counter-clockwise (monotone chain). */
export function hull2(points: [number, number][]): [number, number][] {
  const p = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (p.length < 3) return p;
  const turn = (o: number[], a: number[], b: number[]) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list: [number, number][]) => {
    const out: [number, number][] = [];
    for (const x of list) {
      while (out.length > 1 && turn(out[out.length - 2], out[out.length - 1], x) <= 0) out.pop();
      out.push(x);
    }
    return out.slice(0, -1);
  };
  return [...half(p), ...half(p.reverse())];
}

export interface ContactLayers {
  points: boolean; normal: boolean; friction: boolean; cones: boolean; impulses: boolean; moments: boolean; support: boolean; gaps: boolean;
}

const colours = Object.fromEntries(Object.entries(FORCE).map(([k, v]) => [k, new THREE.Color(v)])) as Record<keyof typeof FORCE, THREE.Color>;

export class ContactLayer {
  readonly group = new THREE.Group();
  layers: ContactLayers = { points: true, normal: true, friction: true, cones: false, impulses: true, moments: true, support: false, gaps: false };
  /** Length of an arrow per its reference load, times the radius of the scene; log: lengths by the logarithm. */
  scale = 1;
  log = false;
  /** What an arrow of ordinary length stands for, N and N s. */
  referenceForce = 1;
  referenceImpulse = 1;
  shown: ContactView[] = [];
  private crowd = 1; // smaller arrows and points where there are many
  private facets = 0;
  private points = new Glyphs(new THREE.SphereGeometry(1, 12, 8));
  private solid = new Arrows();
  private dashed = new Arrows(true);
  private cones: Glyphs;
  private outline: THREE.LineLoop;
  private marks = new Glyphs(new THREE.SphereGeometry(1, 12, 8));

  constructor() {
    this.cones = new Glyphs(this.coneGeometry(0), 0.2);
    this.outline = new THREE.LineLoop(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: FORCE.stick, depthTest: false, transparent: true, toneMapped: false }));
    this.outline.frustumCulled = false;
    this.outline.renderOrder = 6;
    this.group.add(this.points.group, this.solid.group, this.dashed.group, this.cones.group, this.outline, this.marks.group);
  }

  private coneGeometry(facets: number): THREE.BufferGeometry {
    return new THREE.ConeGeometry(1, 1, facets || 40, 1, true).rotateX(-Math.PI / 2).translate(0, 0, 0.5);
  }

  /** The cone of the run's own friction: round, or with the facets of its polyhedron. */
  setFacets(facets: number): void {
    if (facets === this.facets) return;
    this.facets = facets;
    this.group.remove(this.cones.group);
    this.cones = new Glyphs(this.coneGeometry(facets), 0.2);
    this.group.add(this.cones.group);
  }

  /** What loads are usual in this run: three quarters of all forces (impulses) are below the reference. */
  measure(s: Session): void {
    const forces: number[] = [], impulses: number[] = [], h = s.history, stride = Math.max(1, Math.floor(h.count / 400));
    for (let i = 0; i < h.count; i += stride)
      for (const c of readContacts(s, i)) {
        if (c.impact && c.impulse[0] > 0) impulses.push(c.impulse[0]);
        else if (c.forceNormal > 0) forces.push(c.forceNormal);
      }
    const rows = Math.ceil(h.count / stride), many = (forces.length + impulses.length) / Math.max(1, rows);
    this.crowd = Math.min(1, Math.max(0.45, (16 / Math.max(1, many)) ** 0.4));
    const usual = (x: number[]) => x.sort((a, b) => a - b)[Math.floor(0.75 * (x.length - 1))];
    const weight = s.model.mass * Math.max(1e-3, Math.hypot(...s.model.gravity));
    this.referenceForce = usual(forces) || weight || 1;
    this.referenceImpulse = usual(impulses) || weight * s.dt * 10 || 1;
  }

  /** Length of the arrow of a load, in units of the scene. */
  length(load: number, reference: number, radius: number): number {
    const x = Math.abs(load) / reference;
    const r = 0.3 * radius * this.scale * this.crowd;
    return Math.min(3 * r, this.log ? r * Math.log10(1 + 9 * x) : r * x);
  }

  private arrow(from: THREE.Vector3, vector: THREE.Vector3, load: number, reference: number, radius: number, width: number, colour: THREE.Color, sure: boolean): void {
    const n = vector.length();
    if (!(n > 0)) return;
    (sure ? this.solid : this.dashed).add(from, vector.clone().divideScalar(n), this.length(load, reference, radius), width, colour);
  }

  /** Shows the contacts of a row, and the impulses of the `fade` seconds before. */
  update(s: Session, row: number, radius: number, fade: number): void {
    for (const g of [this.points, this.solid, this.dashed, this.cones, this.marks]) g.begin();
    const unit = 0.0075 * radius * this.crowd;
    this.shown = readContacts(s, row);
    for (const c of this.shown) this.one(c, radius, unit);
    if (fade > 0 && this.layers.impulses) this.recent(s, row, radius, unit, fade);
    this.support(radius, unit);
    for (const g of [this.points, this.solid, this.dashed, this.cones, this.marks]) g.end();
  }

  private one(c: ContactView, radius: number, unit: number): void {
    const L = this.layers, loaded = c.impulse[0] > 0, m = new THREE.Matrix4();
    if (L.points && (loaded || L.gaps)) {
      m.makeScale(1.25 * unit, 1.25 * unit, 1.25 * unit).setPosition(c.point);
      this.points.add(m, loaded ? colours[c.mode] : colours.open);
    }
    if (c.impact) {
      if (L.impulses) this.impulse(c, radius, unit, 1);
      return;
    }
    const sure = c.determinate !== 'no';
    if (L.normal) this.arrow(c.point, c.normalVector, c.forceNormal, this.referenceForce, radius, unit, sure ? colours.normal : colours.indeterminate, sure);
    if (L.friction) this.arrow(c.point, c.frictionVector, c.forceFriction, this.referenceForce, radius, unit, sure ? colours.tangential : colours.indeterminate, sure);
    if (L.moments) this.moment(c, radius, unit);
    if (L.cones && loaded && c.mu > 0) this.cone(c, radius);
  }

  /** A moment along its axis, as long as the force that has it on the lever of the contact's own length (at most N). */
  private moment(c: ContactView, radius: number, unit: number): void {
    const lever = Math.max(c.torsion, c.roll), m = Math.hypot(...c.moment);
    if (lever > 0 && m > 0) this.arrow(c.point, c.momentVector, m / lever, this.referenceForce, radius, 0.8 * unit, colours.moment, true);
  }

  private impulse(c: ContactView, radius: number, unit: number, strength: number): void {
    const whole = c.normalVector.clone().add(c.frictionVector);
    this.arrow(c.point, whole, Math.hypot(...c.impulse), this.referenceImpulse, radius, unit * 1.3 * strength, colours.impulse, true);
  }

  private recent(s: Session, row: number, radius: number, unit: number, fade: number): void {
    const h = s.history, t = h.time(row), imp = s.column('events');
    for (let i = row - 1; i >= 0 && h.time(i) > t - fade; i--) {
      if (!h.value(i, imp)) continue;
      for (const c of readContacts(s, i)) if (c.impact && c.impulse[0] > 0) this.impulse(c, radius, unit, 1 - (t - h.time(i)) / fade);
    }
  }

  private cone(c: ContactView, radius: number): void {
    const h = 0.16 * radius * this.scale * this.crowd, r = h * Math.min(3, c.mu), out = c.onB ? -1 : 1;
    const z = c.normal.clone().multiplyScalar(out);
    const m = new THREE.Matrix4().makeBasis(c.t1.clone().multiplyScalar(r), new THREE.Vector3().crossVectors(z, c.t1).multiplyScalar(r), z.multiplyScalar(h)).setPosition(c.point);
    this.cones.add(m, c.mode === 'slip' ? colours.slip : c.mode === 'roll' ? colours.roll : colours.stick);
  }

  /** Polygon of the loaded points on level ground, centre of pressure in it. */
  private support(radius: number, unit: number): void {
    this.outline.visible = false;
    if (!this.layers.support) return;
    const feet = this.shown.filter((c) => c.forceNormal > 0 && (c.bodyA < 0 || c.bodyB < 0) && Math.abs(c.normal.z) > 0.7);
    if (feet.length === 0) return;
    const z = feet.reduce((sum, c) => sum + c.point.z, 0) / feet.length + 0.002 * radius;
    const ring = hull2(feet.map((c) => [c.point.x, c.point.y]));
    this.outline.geometry.setFromPoints(ring.map(([x, y]) => new THREE.Vector3(x, y, z)));
    this.outline.visible = ring.length > 1;
    const p = centreOfPressure(feet);
    if (p) this.marks.add(new THREE.Matrix4().makeScale(1.8 * unit, 1.8 * unit, 1.8 * unit).setPosition(p), colours.tangential);
  }
}

export function centreOfPressure(contacts: ContactView[]): THREE.Vector3 | null {
  const p = new THREE.Vector3();
  let sum = 0;
  for (const c of contacts) { p.addScaledVector(c.point, c.forceNormal); sum += c.forceNormal; }
  return sum > 0 ? p.divideScalar(sum) : null;
}
