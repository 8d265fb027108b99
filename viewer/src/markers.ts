// Axes, centres of mass, inertia boxes, loop closures, the dragging spring, and the ghost of a second run.
import * as THREE from 'three';
import { Glyphs } from './glyphs.ts';
import type { Session } from './session.ts';
import { partsOf, pose, unitGeometry, type Primitive } from './shapes.ts';
import { bodyMatrices } from './stage.ts';
import { FORCE } from './theme.ts';

export interface MarkerLayers { frames: boolean; joints: boolean; com: boolean; inertia: boolean; loops: boolean; path: boolean }

/** Coloured line segments that change every frame. */
class Lines {
  readonly object: THREE.LineSegments;
  private position = new Float32Array(6 * 64);
  private colour = new Float32Array(6 * 64);
  private n = 0;

  constructor(order: number) {
    this.object = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ vertexColors: true, depthTest: false, transparent: true, toneMapped: false }));
    this.object.frustumCulled = false;
    this.object.renderOrder = order;
  }
  begin(): void { this.n = 0; }
  add(a: THREE.Vector3, b: THREE.Vector3, c: THREE.Color): void {
    if (6 * (this.n + 1) > this.position.length) {
      for (const key of ['position', 'colour'] as const) { const more = new Float32Array(2 * this[key].length); more.set(this[key]); this[key] = more; }
      this.object.geometry.dispose();
      this.object.geometry = new THREE.BufferGeometry();
    }
    this.position.set([a.x, a.y, a.z, b.x, b.y, b.z], 6 * this.n);
    this.colour.set([c.r, c.g, c.b, c.r, c.g, c.b], 6 * this.n++);
  }
  end(): void {
    const g = this.object.geometry;
    if (!g.getAttribute('position') || g.getAttribute('position').array !== this.position) {
      g.setAttribute('position', new THREE.BufferAttribute(this.position, 3));
      g.setAttribute('color', new THREE.BufferAttribute(this.colour, 3));
    }
    g.getAttribute('position').needsUpdate = g.getAttribute('color').needsUpdate = true;
    g.setDrawRange(0, 2 * this.n);
    this.object.visible = this.n > 0;
  }
}

const RED = new THREE.Color('#e0342b'), GREEN = new THREE.Color('#1fa35b'), BLUE = new THREE.Color('#2f7de1');
const AXIS = new THREE.Color('#8a5cf0'), BOX = new THREE.Color('#12a0a8'), LOOP = new THREE.Color('#d6249f'), PULL = new THREE.Color('#e0342b');
const COM = new THREE.Color('#f0c419'), PATH = new THREE.Color('#2f7de1');

export class Markers {
  readonly group = new THREE.Group();
  layers: MarkerLayers = { frames: false, joints: false, com: false, inertia: false, loops: true, path: false };
  pull: { from: THREE.Vector3; to: THREE.Vector3 } | null = null;
  private lines = new Lines(7);
  private balls = new Glyphs(new THREE.SphereGeometry(1, 16, 10));

  constructor() { this.group.add(this.lines.object, this.balls.group); }

  update(s: Session, row: number, matrices: THREE.Matrix4[], radius: number, selected: number): void {
    this.lines.begin();
    this.balls.begin();
    const L = this.layers, size = 0.09 * radius;
    matrices.forEach((m, i) => {
      if (L.frames || (selected === i && L.joints)) this.axes(m, size);
      if (L.com) this.ball(new THREE.Vector3(...s.model.bodies[i].com).applyMatrix4(m), 0.012 * radius, COM);
      if (L.inertia) this.inertiaBox(s, i, m);
    });
    if (L.frames) for (const f of s.model.frames) this.axes((f.body < 0 ? new THREE.Matrix4() : matrices[f.body].clone()).multiply(pose(f.pos, f.quat)), 0.7 * size);
    if (L.joints) this.jointAxes(s, matrices, size);
    if (L.com) this.wholeCom(s, row, radius);
    if (L.loops) this.loopEnds(s, matrices, radius);
    if (L.path) this.comPath(s, row);
    if (this.pull) { this.lines.add(this.pull.from, this.pull.to, PULL); this.ball(this.pull.to, 0.014 * radius, PULL); }
    this.lines.end();
    this.balls.end();
  }

  private ball(at: THREE.Vector3, r: number, c: THREE.Color): void { this.balls.add(new THREE.Matrix4().makeScale(r, r, r).setPosition(at), c); }

  private axes(m: THREE.Matrix4, size: number): void {
    const o = new THREE.Vector3().setFromMatrixPosition(m);
    [RED, GREEN, BLUE].forEach((c, k) => this.lines.add(o, new THREE.Vector3().setFromMatrixColumn(m, k).multiplyScalar(size).add(o), c));
  }

  private jointAxes(s: Session, matrices: THREE.Matrix4[], size: number): void {
    for (const j of s.model.joints) {
      if (j.type === 'free' || j.type === 'fixed') continue;
      const m = matrices[j.body], at = new THREE.Vector3(...j.pos).applyMatrix4(m);
      const axis = new THREE.Vector3(...j.axis).transformDirection(m).multiplyScalar(1.2 * size);
      if (j.type !== 'ball') this.lines.add(at.clone().sub(axis), at.clone().add(axis), AXIS);
      this.ball(at, 0.12 * size, AXIS);
    }
  }

  private wholeCom(s: Session, row: number, radius: number): void {
    const k = s.column('com_x'), h = s.history;
    this.ball(new THREE.Vector3(h.value(row, k), h.value(row, k + 1), h.value(row, k + 2)), 0.022 * radius, RED);
  }

  /** The box of even density with the body's mass and moments. */
  private inertiaBox(s: Session, i: number, m: THREE.Matrix4): void {
    const b = s.model.bodies[i], [x, y, z] = b.inertia, f = 6 / Math.max(b.mass, 1e-12);
    const side = (a: number) => 0.5 * Math.sqrt(Math.max(0, f * a));
    const h = [side(y + z - x), side(x + z - y), side(x + y - z)];
    const at = m.clone().multiply(pose(b.com, b.inertia_quat));
    const corner = (k: number) => new THREE.Vector3(k & 1 ? h[0] : -h[0], k & 2 ? h[1] : -h[1], k & 4 ? h[2] : -h[2]).applyMatrix4(at);
    for (let k = 0; k < 8; k++) for (const bit of [1, 2, 4]) if (!(k & bit)) this.lines.add(corner(k), corner(k | bit), BOX);
  }

  private loopEnds(s: Session, matrices: THREE.Matrix4[], radius: number): void {
    const at = (body: number, p: readonly number[]) => {
      const v = new THREE.Vector3(p[0], p[1], p[2]);
      return body < 0 ? v : v.applyMatrix4(matrices[body]);
    };
    for (const l of s.model.loops) {
      if (l.type === 'coupling') continue;
      const a = at(l.a, l.pos_a), b = at(l.b, l.pos_b);
      this.lines.add(a, b, LOOP);
      this.ball(a, 0.013 * radius, LOOP);
    }
  }

  private comPath(s: Session, row: number): void {
    const k = s.column('com_x'), h = s.history, stride = Math.max(1, Math.floor(row / 400));
    let last: THREE.Vector3 | null = null;
    for (let i = 0; i <= row; i += stride) {
      const p: THREE.Vector3 = new THREE.Vector3(h.value(i, k), h.value(i, k + 1), h.value(i, k + 2));
      if (last) this.lines.add(last, p, PATH);
      last = p;
    }
  }
}

/** The bodies of a second run, see-through. */
export class Ghost {
  readonly group = new THREE.Group();
  private parts: { body: number; local: THREE.Matrix4; pool: THREE.InstancedMesh; index: number }[] = [];
  private matrices: THREE.Matrix4[] = [];
  private session: Session | null = null;

  show(session: Session | null): void {
    this.session = session;
    for (const o of this.group.children) if (o instanceof THREE.InstancedMesh) o.dispose();
    this.group.clear();
    this.parts = [];
    if (!session) return;
    this.matrices = session.model.bodies.map(() => new THREE.Matrix4());
    const lists = new Map<Primitive, { body: number; local: THREE.Matrix4 }[]>();
    for (const g of session.model.geoms) {
      if (g.body < 0) continue;
      for (const p of partsOf(g)) lists.set(p.kind, [...(lists.get(p.kind) ?? []), { body: g.body, local: p.local }]);
    }
    for (const [kind, list] of lists) {
      const material = new THREE.MeshStandardMaterial({ color: FORCE.ghost, transparent: true, opacity: 0.38, depthWrite: false, roughness: 0.7, polygonOffset: true, polygonOffsetFactor: 2, polygonOffsetUnits: 4 });
      const pool = new THREE.InstancedMesh(unitGeometry(kind, false), material, list.length);
      pool.frustumCulled = false;
      pool.renderOrder = 2;
      list.forEach((x, index) => this.parts.push({ ...x, pool, index }));
      this.group.add(pool);
    }
  }

  update(t: number): void {
    const s = this.session;
    if (!s) return;
    const row = s.history.find(t), m = new THREE.Matrix4();
    bodyMatrices(s.engine.pose(s.history.q(row), s.history.v(row)), this.matrices);
    for (const x of this.parts) x.pool.setMatrixAt(x.index, m.multiplyMatrices(this.matrices[x.body], x.local));
    for (const x of this.parts) x.pool.instanceMatrix.needsUpdate = true;
  }
}
