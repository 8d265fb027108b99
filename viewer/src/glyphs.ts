// Arrows, points and cones by the hundred: instanced, drawn once with the depth of the scene and once faintly through bodies.
import * as THREE from 'three';
import { mergeGeometries } from 'three/examples/jsm/utils/BufferGeometryUtils.js';

const GHOST = 0.34; // opacity of what is behind a body
const RIM = 0.38;   // width of the dark rim, in widths of the shaft: an arrow is told from a body of its own colour

/** The same shape, a little larger and seen from behind: its rim. */
function rimMaterial(): THREE.MeshBasicMaterial {
  const m = new THREE.MeshBasicMaterial({ color: '#10161e', side: THREE.BackSide, toneMapped: false });
  m.onBeforeCompile = (shader) => { shader.vertexShader = shader.vertexShader.replace('#include <begin_vertex>', `#include <begin_vertex>\ntransformed.xy += ${RIM} * normalize(position.xy + vec2(1e-6, 0.0)) * step(1e-4, length(position.xy));`); };
  return m;
}

/** One geometry, any number of places, seen through bodies as well. */
export class Glyphs {
  readonly group = new THREE.Group();
  private front: THREE.InstancedMesh;
  private behind: THREE.InstancedMesh;
  private rim: THREE.InstancedMesh | null = null;
  private readonly rimmed: boolean;
  private readonly geometry: THREE.BufferGeometry;
  private readonly translucent: number;
  count = 0;

  constructor(geometry: THREE.BufferGeometry, opacity = 1, rimmed = false) {
    this.rimmed = rimmed;
    this.geometry = geometry;
    this.translucent = opacity;
    [this.front, this.behind] = this.make(64);
  }

  private make(room: number): [THREE.InstancedMesh, THREE.InstancedMesh] {
    const faint = this.translucent < 1;
    const a = new THREE.InstancedMesh(this.geometry, new THREE.MeshBasicMaterial({
      transparent: faint, opacity: this.translucent, depthWrite: !faint, side: faint ? THREE.DoubleSide : THREE.FrontSide, toneMapped: false }), room);
    const b = new THREE.InstancedMesh(this.geometry, new THREE.MeshBasicMaterial({
      transparent: true, opacity: (faint ? 0.35 : 1) * GHOST * this.translucent, depthTest: false, depthWrite: false, toneMapped: false }), room);
    a.setColorAt(0, new THREE.Color());
    b.instanceMatrix = a.instanceMatrix;
    b.instanceColor = a.instanceColor;
    this.rim = null;
    if (this.rimmed) {
      const rim = (this.rim = new THREE.InstancedMesh(this.geometry, rimMaterial(), room));
      rim.instanceMatrix = a.instanceMatrix;
      rim.renderOrder = 3;
      rim.frustumCulled = false;
      rim.count = 0;
      this.group.add(rim);
    }
    a.renderOrder = faint ? 4 : 3;
    b.renderOrder = 5;
    for (const m of [a, b]) { m.frustumCulled = false; m.count = 0; this.group.add(m); }
    return [a, b];
  }

  begin(): void { this.count = 0; }

  add(matrix: THREE.Matrix4, colour: THREE.Color): void {
    if (this.count === this.front.instanceMatrix.count) this.grow();
    this.front.setMatrixAt(this.count, matrix);
    this.front.setColorAt(this.count++, colour);
  }

  private grow(): void {
    const [a, b, rim] = [this.front, this.behind, this.rim], room = 2 * a.instanceMatrix.count;
    this.group.clear();
    [this.front, this.behind] = this.make(room);
    this.front.instanceMatrix.array.set(a.instanceMatrix.array);
    this.front.instanceColor!.array.set(a.instanceColor!.array);
    a.dispose();
    b.dispose();
    rim?.dispose();
  }

  end(): void {
    this.front.count = this.behind.count = this.count;
    this.front.visible = this.behind.visible = this.count > 0;
    if (this.rim) { this.rim.count = this.count; this.rim.visible = this.count > 0; }
    this.front.instanceMatrix.needsUpdate = true;
    this.front.instanceColor!.needsUpdate = true;
  }
}

function shaft(dashed: boolean): THREE.BufferGeometry {
  const one = (from: number, to: number) =>
    new THREE.CylinderGeometry(1, 1, to - from, 8, 1, true).rotateX(Math.PI / 2).translate(0, 0, (from + to) / 2);
  if (!dashed) return one(0, 1);
  return mergeGeometries([0, 1, 2, 3, 4].map((i) => one(i / 5, (i + 0.55) / 5)));
}

/** Arrows of any length with heads of one shape. */
export class Arrows {
  readonly group = new THREE.Group();
  private shafts: Glyphs;
  private heads: Glyphs;
  private readonly m = new THREE.Matrix4();
  private readonly turn = new THREE.Quaternion();
  private readonly up = new THREE.Vector3(0, 0, 1);

  constructor(dashed = false) {
    this.shafts = new Glyphs(shaft(dashed), 1, true);
    this.heads = new Glyphs(new THREE.ConeGeometry(1, 1, 12).rotateX(Math.PI / 2).translate(0, 0, 0.5), 1, true);
    this.group.add(this.shafts.group, this.heads.group);
  }

  get count(): number { return this.heads.count; }
  begin(): void { this.shafts.begin(); this.heads.begin(); }
  end(): void { this.shafts.end(); this.heads.end(); }

  add(from: THREE.Vector3, direction: THREE.Vector3, length: number, width: number, colour: THREE.Color): void {
    if (!(length > 1e-12)) return;
    const head = Math.min(5 * width, 0.6 * length);
    this.turn.setFromUnitVectors(this.up, direction);
    this.m.compose(from, this.turn, new THREE.Vector3(width, width, length - head));
    this.shafts.add(this.m, colour);
    const w = 2.3 * width * Math.min(1, head / (5 * width) + 0.3);
    this.m.compose(from.clone().addScaledVector(direction, length - head), this.turn, new THREE.Vector3(w, w, head));
    this.heads.add(this.m, colour);
  }
}
