// The picture: renderer, camera, light, ground, and the bodies. What is drawn on top (contacts, axes) has its own files.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import type { Triangles } from '../engine/engine.ts';
import type { Session } from './session.ts';
import { extentsOf, meshGeometry, partsOf, pose, unitGeometry, type Primitive } from './shapes.ts';
import { groundMaterial, setGridColours, type Surface } from './ground.ts';
import type { Palette } from './theme.ts';
import { DARK } from './theme.ts';

export interface Quality { antialias: boolean; shadows: boolean; software: boolean }

/** Software rendering is recognised and spared antialiasing and shadows. */
export function judgeQuality(wanted: string | null): Quality {
  let software = false;
  try {
    const gl = document.createElement('canvas').getContext('webgl2');
    const info = gl?.getExtension('WEBGL_debug_renderer_info');
    const name = info && gl ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : '';
    software = /swiftshader|llvmpipe|software/i.test(name);
    gl?.getExtension('WEBGL_lose_context')?.loseContext();
  } catch { software = true; }
  const good = wanted === 'high' || (wanted !== 'low' && !software);
  return { antialias: good, shadows: good, software };
}

interface Instance { body: number; geom: number; visual: number; local: THREE.Matrix4; pool: THREE.InstancedMesh; index: number; colour: THREE.Color }
interface Solid { body: number; geom: number; visual: number; local: THREE.Matrix4; mesh: THREE.Mesh; colour: THREE.Color }

export interface Hit { body: number; geom: number; point: THREE.Vector3 }
export type Skin = 'visual' | 'collision';

const SLOW_FRAME = 55; // ms: above this a moving picture gets coarser (15 frames/s are 67 ms)
const LEAST_RATIO = 0.45;
const SELECTED = new THREE.Color('#2f7de1');

/** The poses of all bodies as matrices, from the engine's numbers. */
export function bodyMatrices(poses: Float64Array, out: THREE.Matrix4[]): void {
  for (let i = 0; i < out.length; i++) {
    const p = 18 * i, x = poses;
    out[i].set(x[p], x[p + 1], x[p + 2], x[p + 9], x[p + 3], x[p + 4], x[p + 5], x[p + 10], x[p + 6], x[p + 7], x[p + 8], x[p + 11], 0, 0, 0, 1);
  }
}

// Bright parts are compressed towards white, dark ones stay what they are: three's own maps crush black robots to silhouettes.
THREE.ShaderChunk.tonemapping_pars_fragment = THREE.ShaderChunk.tonemapping_pars_fragment.replace('vec3 CustomToneMapping( vec3 color ) { return color; }', `
  vec3 CustomToneMapping(vec3 color) {
    float peak = max(color.r, max(color.g, color.b));
    return peak < 0.76 ? color : color * ((1.0 - 0.0576 / (peak - 0.52)) / peak); // from 0.76 on: slope 1, then ever less, below 1
  }`);

export class Stage {
  readonly scene = new THREE.Scene();
  readonly camera = new THREE.PerspectiveCamera(38, 1, 0.01, 1000);
  readonly renderer: THREE.WebGLRenderer;
  readonly controls: OrbitControls;
  readonly quality: Quality;
  /** Half the extent of what is shown: the measure for arrows, labels and light. */
  radius = 1;
  centre = new THREE.Vector3();
  matrices: THREE.Matrix4[] = [];
  skin: Skin = 'visual';
  /** Meshes of the model that cannot be shown: their bodies look as they collide. */
  missing: string[] = [];
  private visuals = new Map<number, Triangles | null>();
  opacity = 1;
  moved = false; // the user turned the camera
  private session: Session | null = null;
  private root = new THREE.Group();
  private instances: Instance[] = [];
  private solids: Solid[] = [];
  private sun = new THREE.DirectionalLight('#ffffff', 2.1);
  private hemisphere = new THREE.HemisphereLight('#ffffff', '#8a8f98', 1.5);
  private palette: Palette = DARK;
  private grounds: THREE.Mesh[] = [];
  private pools: THREE.InstancedMesh[] = [];
  private readonly scratch = new THREE.Matrix4();
  private readonly sharp: number; // pixels of the picture per pixel of the page when nothing moves
  private coarse: number;         // … while something moves: less where frames are slow
  private slow = 0;               // ms a moving frame took, smoothed
  private readonly ray = new THREE.Raycaster();

  constructor(host: HTMLElement, quality: Quality) {
    this.quality = quality;
    this.renderer = new THREE.WebGLRenderer({ antialias: quality.antialias, powerPreference: 'high-performance' });
    this.sharp = quality.software ? 1 : Math.min(2, window.devicePixelRatio);
    this.coarse = quality.software && !quality.antialias ? 0.7 : this.sharp;
    this.renderer.setPixelRatio(this.sharp);
    this.renderer.shadowMap.enabled = quality.shadows;
    this.renderer.shadowMap.type = THREE.PCFShadowMap;
    this.renderer.toneMapping = THREE.CustomToneMapping;
    host.append(this.renderer.domElement);
    this.camera.up.set(0, 0, 1);
    this.controls = new OrbitControls(this.camera, this.renderer.domElement);
    this.controls.zoomToCursor = true;
    this.controls.addEventListener('start', () => { this.moved = true; });
    this.sun.castShadow = quality.shadows;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.bias = -0.0005;
    this.sun.shadow.normalBias = 0.02;
    this.scene.add(this.sun, this.sun.target, this.hemisphere, this.root);
  }

  resize(width: number, height: number): void {
    this.renderer.setSize(width, height);
    this.camera.aspect = width / Math.max(1, height);
    this.camera.updateProjectionMatrix();
  }

  setPalette(p: Palette): void {
    this.palette = p;
    const c = document.createElement('canvas');
    c.width = 2; c.height = 256;
    const g = c.getContext('2d')!, fill = g.createLinearGradient(0, 0, 0, 256);
    fill.addColorStop(0, p === DARK ? '#232a34' : '#ffffff');
    fill.addColorStop(0.75, p.background);
    g.fillStyle = fill;
    g.fillRect(0, 0, 2, 256);
    const t = new THREE.CanvasTexture(c);
    t.colorSpace = THREE.SRGBColorSpace;
    (this.scene.background as THREE.Texture | null)?.dispose();
    this.scene.background = t;
    this.hemisphere.color.set(p.sky);
    this.hemisphere.groundColor.set(p === DARK ? '#5a626e' : '#b9bec6');
    this.hemisphere.intensity = p === DARK ? 2.0 : 2.6;
    this.sun.intensity = p === DARK ? 2.1 : 1.7;
    for (const m of this.grounds) setGridColours(m.material as Surface, p);
  }

  // ---- the model ----

  private clear(): void {
    for (const o of [...this.root.children]) {
      this.root.remove(o);
      if (o instanceof THREE.InstancedMesh) o.dispose();
      if (o instanceof THREE.Mesh) { o.geometry.dispose(); (o.material as THREE.Material).dispose(); }
    }
    this.instances = [];
    this.pools = [];
    this.solids = [];
    this.grounds = [];
  }

  show(session: Session): void {
    this.session = session;
    this.matrices = session.model.bodies.map(() => new THREE.Matrix4());
    this.visuals.clear();
    this.missing = [];
    this.build();
  }

  setSkin(skin: Skin): void {
    this.skin = skin;
    if (this.session) { this.build(); this.place(); }
  }

  /** The triangles of a visual, read once; null where there are none that this engine reads. */
  private looks(i: number): Triangles | null {
    let t = this.visuals.get(i);
    if (t === undefined) {
      const v = this.session!.model.visuals[i];
      t = v.mesh ? this.session!.engine.visualMesh(i) : null;
      this.visuals.set(i, t);
      if (!t) this.missing.push(v.mesh ? v.mesh.split('/').pop()! : `a mesh of ${this.session!.bodyName(v.body)} that was not found`);
    }
    return t;
  }

  /** Which geoms and visuals the present skin draws. */
  private chosen(): { geoms: number[]; visuals: number[] } {
    const m = this.session!.model;
    const meshes = m.visuals.map((v, i) => ({ v, i })).filter(({ v, i }) => v.rgba[3] > 0.01 && this.looks(i));
    if (this.skin === 'collision') return { geoms: m.geoms.map((_, i) => i).filter((i) => m.geoms[i].collides), visuals: [] };
    const dressed = new Set(meshes.filter(({ v }) => v.group < 3).map(({ v }) => v.body));
    // Collision shapes of bodies that have a mesh to show are hidden; so are MuJoCo's groups 3 and up where there is another.
    const visuals = meshes.filter(({ v }) => v.group < 3 || !dressed.has(v.body)).map(({ i }) => i);
    const covered = new Set(meshes.map(({ v }) => v.geom));
    const plain = new Set(m.geoms.filter((g) => g.group < 3).map((g) => g.body));
    const geoms = m.geoms.map((_, i) => i).filter((i) => {
      const g = m.geoms[i];
      if (covered.has(i) || g.rgba[3] < 0.01) return false;
      if (g.group >= 3 && (plain.has(g.body) || dressed.has(g.body))) return false;
      return g.shape === 'plane' || !dressed.has(g.body) || !g.collides;
    });
    return { geoms, visuals };
  }

  private build(): void {
    this.clear();
    const s = this.session!, m = s.model, { geoms, visuals } = this.chosen();
    const fine = this.quality.antialias && m.geoms.length < 400;
    const groups = new Map<string, { kind: Primitive; alpha: number; list: { body: number; geom: number; local: THREE.Matrix4; colour: THREE.Color }[] }>();
    for (const i of geoms) {
      const g = m.geoms[i], alpha = Math.min(1, g.rgba[3]) * this.opacity, colour = this.tint(g.rgba, i);
      if (g.shape === 'plane') { this.addPlane(i); continue; }
      if (g.shape === 'hull' || g.shape === 'mesh') {
        const t = s.engine.geomMesh(i);
        if (t) this.addSolid(g.body, i, -1, pose(g.pos, g.quat), meshGeometry(t), colour, alpha);
        continue;
      }
      for (const part of partsOf(g)) {
        const key = `${part.kind} ${alpha.toFixed(2)}`;
        const group = groups.get(key) ?? { kind: part.kind, alpha, list: [] };
        groups.set(key, group);
        group.list.push({ body: g.body, geom: i, local: part.local, colour });
      }
    }
    for (const g of groups.values()) this.addPool(g.kind, g.alpha, g.list, fine);
    for (const i of visuals) {
      const v = m.visuals[i], t = this.looks(i);
      if (t) this.addSolid(v.body, v.geom, i, pose(v.pos, v.quat), meshGeometry(t), this.tint(v.rgba, -1), v.rgba[3] * this.opacity);
    }
    this.setPalette(this.palette);
  }

  private tint(rgba: readonly number[], geom: number): THREE.Color {
    const c = new THREE.Color().setRGB(rgba[0], rgba[1], rgba[2], THREE.SRGBColorSpace);
    const grey = rgba[0] === 0.5 && rgba[1] === 0.5 && rgba[2] === 0.5; // nobody chose a colour
    if (grey && geom >= 0) c.set(this.session!.model.geoms[geom].body < 0 ? '#8d97a3' : '#7f93ab');
    const light = c.getHSL({ h: 0, s: 0, l: 0 }).l; // black would show no shape
    return light < 0.03 ? c.lerp(new THREE.Color('#ffffff'), 0.03 - light) : c;
  }

  private material(alpha: number, colour?: THREE.Color): Surface {
    const look = { color: colour ?? '#ffffff', transparent: alpha < 1, opacity: alpha, depthWrite: alpha >= 1 };
    return this.quality.antialias ? new THREE.MeshStandardMaterial({ ...look, roughness: 0.62, metalness: 0.05 }) : new THREE.MeshLambertMaterial(look);
  }

  private addPool(kind: Primitive, alpha: number, list: { body: number; geom: number; local: THREE.Matrix4; colour: THREE.Color }[], fine: boolean): void {
    const pool = new THREE.InstancedMesh(unitGeometry(kind, fine), this.material(alpha), list.length);
    pool.frustumCulled = false;
    pool.castShadow = alpha > 0.5;
    pool.receiveShadow = true;
    list.forEach((x, index) => {
      pool.setColorAt(index, x.colour);
      pool.setMatrixAt(index, x.local);
      this.instances.push({ ...x, visual: -1, pool, index });
    });
    this.pools.push(pool);
    this.root.add(pool);
  }

  private addSolid(body: number, geom: number, visual: number, local: THREE.Matrix4, geometry: THREE.BufferGeometry, colour: THREE.Color, alpha: number): void {
    const mesh = new THREE.Mesh(geometry, this.material(alpha, colour));
    mesh.material.side = THREE.DoubleSide; // meshes of robots often have holes
    mesh.matrixAutoUpdate = false;
    mesh.castShadow = mesh.receiveShadow = true;
    this.solids.push({ body, geom, visual, local, mesh, colour });
    this.root.add(mesh);
  }

  /** Planes are endless: a large quad that fades, or a pane where it stands upright. */
  private addPlane(geom: number): void {
    const g = this.session!.model.geoms[geom], at = pose(g.pos, g.quat);
    const level = new THREE.Vector3(at.elements[8], at.elements[9], at.elements[10]).z > 0.2;
    const material = groundMaterial(this.palette, level, !this.quality.antialias);
    const mesh = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), material);
    mesh.matrixAutoUpdate = false;
    mesh.receiveShadow = level;
    mesh.userData = { plane: true, level };
    mesh.renderOrder = level ? -1 : 1;
    this.grounds.push(mesh);
    this.solids.push({ body: g.body, geom, visual: -1, local: at, mesh, colour: new THREE.Color('#ffffff') });
    this.root.add(mesh);
  }

  // ---- every frame ----

  private placePlane(x: Solid): void {
    const level = Boolean(x.mesh.userData['level']), size = level ? 60 * this.radius : 3 * this.radius;
    const at = x.body < 0 ? x.local : this.matrices[x.body].clone().multiply(x.local);
    // The quad lies under what is looked at, also when that has gone far.
    const centre = this.centre.clone().applyMatrix4(at.clone().invert());
    x.mesh.matrix.copy(at).multiply(new THREE.Matrix4().makeTranslation(centre.x, centre.y, 0)).multiply(new THREE.Matrix4().makeScale(size, size, 1));
    const shader = (x.mesh.material as Surface).userData['uniforms'] as Record<string, { value: unknown }>;
    shader['fade'].value = size / 2;
    shader['cell'].value = 10 ** Math.round(Math.log10(this.radius * 0.45));
    (shader['middle'].value as THREE.Vector3).copy(this.centre);
  }

  /** Puts every shape where its body is (matrices hold the poses). */
  place(): void {
    for (const x of this.instances)
      if (x.body >= 0) x.pool.setMatrixAt(x.index, this.scratch.multiplyMatrices(this.matrices[x.body], x.local));
    for (const pool of this.pools) { pool.instanceMatrix.needsUpdate = true; pool.boundingSphere = null; }
    for (const x of this.solids) {
      if (x.mesh.userData['plane']) this.placePlane(x);
      else if (x.body >= 0) x.mesh.matrix.multiplyMatrices(this.matrices[x.body], x.local);
      else x.mesh.matrix.copy(x.local);
      x.mesh.matrixWorldNeedsUpdate = true;
    }
  }

  private light(): void {
    const r = 3 * this.radius, at = this.centre, c = this.sun.shadow.camera;
    this.sun.target.position.copy(at);
    this.sun.position.copy(at).add(new THREE.Vector3(0.9, -1.1, 2.2).multiplyScalar(1.6 * this.radius));
    if (c.right !== r) {
      c.left = c.bottom = -r; c.right = c.top = r; c.near = 0.05 * this.radius; c.far = 9 * this.radius;
      c.updateProjectionMatrix();
      this.sun.shadow.normalBias = 0.006 * this.radius;
    }
  }

  /** Fewer pixels while the picture moves, where drawing it takes long; all of them when it stands still.
      `interval` is the time since the last frame, ms; 0: it stands still. Returns whether the resolution changed. */
  adapt(interval: number): boolean {
    if (interval > 0 && interval < 1000) {
      this.slow = this.slow ? 0.8 * this.slow + 0.2 * interval : interval;
      if (this.slow > SLOW_FRAME) { this.coarse = Math.max(LEAST_RATIO, 0.8 * this.coarse); this.slow = 0.75 * SLOW_FRAME; }
      else if (this.slow < 0.4 * SLOW_FRAME) { this.coarse = Math.min(this.sharp, 1.05 * this.coarse); }
    }
    const wanted = interval > 0 ? this.coarse : this.sharp, now = this.renderer.getPixelRatio();
    if (wanted === now || (interval > 0 && Math.abs(wanted - now) < 0.1 * now)) return false;
    this.renderer.setPixelRatio(wanted);
    return true;
  }

  render(): void {
    this.controls.update();
    this.light();
    this.renderer.render(this.scene, this.camera);
  }

  // ---- camera ----

  /** The box around the moving shapes for the given poses. */
  grow(box: THREE.Box3): void {
    for (const g of this.session!.model.geoms) {
      const half = extentsOf(g);
      if (!half) continue;
      const at = pose(g.pos, g.quat), one = new THREE.Box3(new THREE.Vector3(...half).negate(), new THREE.Vector3(...half));
      box.union(one.applyMatrix4(g.body < 0 ? at : at.premultiply(this.matrices[g.body])));
    }
    for (const x of this.solids) if (!x.mesh.userData['plane']) box.expandByObject(x.mesh);
  }

  fit(box: THREE.Box3, flat: boolean): void {
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, 0), new THREE.Vector3(1, 1, 1));
    const size = box.getSize(new THREE.Vector3());
    this.radius = Math.max(1e-4, size.length() / 2);
    box.getCenter(this.centre);
    const from = (flat ? new THREE.Vector3(0.32, -1, 0.24) : new THREE.Vector3(0.85, -1, 0.5)).normalize(), away = this.distance(box, from);
    this.camera.position.copy(this.centre).addScaledVector(from, away);
    this.camera.near = away / 500;
    this.camera.far = away * 60;
    this.camera.updateProjectionMatrix();
    this.controls.target.copy(this.centre);
    this.controls.update();
    this.moved = false;
  }

  /** How far away the camera must be so that every corner of the box is in view, with a margin. */
  private distance(box: THREE.Box3, from: THREE.Vector3): number {
    const right = new THREE.Vector3().crossVectors(this.camera.up, from).normalize(), up = new THREE.Vector3().crossVectors(from, right);
    const high = Math.tan((this.camera.fov * Math.PI) / 360), wide = high * this.camera.aspect, corner = new THREE.Vector3();
    let away = 1.2 * this.radius;
    for (let k = 0; k < 8; k++) {
      corner.set(k & 1 ? box.max.x : box.min.x, k & 2 ? box.max.y : box.min.y, k & 4 ? box.max.z : box.min.z).sub(this.centre);
      away = Math.max(away, corner.dot(from) + Math.max(Math.abs(corner.dot(right)) / wide, Math.abs(corner.dot(up)) / high) * 1.12);
    }
    return away;
  }

  /** Moves camera and target alike. */
  shift(by: THREE.Vector3): void {
    this.camera.position.add(by);
    this.controls.target.add(by);
    this.centre.add(by);
  }

  // ---- picking ----

  pick(x: number, y: number): Hit | null {
    this.ray.setFromCamera(new THREE.Vector2(x, y), this.camera);
    const hits = this.ray.intersectObjects(this.root.children, false);
    for (const h of hits) {
      const i = this.instances.find((k) => k.pool === h.object && k.index === h.instanceId);
      const s = i ?? this.solids.find((k) => k.mesh === h.object);
      if (!s || (s.geom >= 0 && this.session!.model.geoms[s.geom].shape === 'plane' && !(h.object.userData['level']))) continue;
      return { body: s.body, geom: s.geom, point: h.point.clone() };
    }
    return null;
  }

  /** Where the pointer's ray meets the plane through `point` that faces the camera. */
  onPlane(x: number, y: number, point: THREE.Vector3): THREE.Vector3 {
    this.ray.setFromCamera(new THREE.Vector2(x, y), this.camera);
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(this.camera.getWorldDirection(new THREE.Vector3()), point);
    return this.ray.ray.intersectPlane(plane, new THREE.Vector3()) ?? point.clone();
  }

  highlight(bodies: Set<number>): void {
    const c = new THREE.Color();
    for (const x of this.instances) x.pool.setColorAt(x.index, bodies.has(x.body) ? c.copy(x.colour).lerp(SELECTED, 0.55) : x.colour);
    for (const pool of this.pools) if (pool.instanceColor) pool.instanceColor.needsUpdate = true;
    for (const x of this.solids) {
      if (x.mesh.userData['plane']) continue;
      (x.mesh.material as Surface).color.copy(x.colour).lerp(SELECTED, bodies.has(x.body) ? 0.5 : 0);
    }
  }

  setOpacity(opacity: number): void {
    if (opacity === this.opacity) return;
    this.opacity = opacity;
    if (this.session) { this.build(); this.place(); }
  }

  /** Pixels of a point in the world, and whether it is in front of the camera. */
  project(p: THREE.Vector3): { x: number; y: number; front: boolean } {
    const v = p.clone().project(this.camera), size = this.renderer.getSize(new THREE.Vector2());
    return { x: ((v.x + 1) / 2) * size.x, y: ((1 - v.y) / 2) * size.y, front: v.z < 1 };
  }

  dispose(): void { this.clear(); this.renderer.dispose(); }
}
