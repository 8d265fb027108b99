// Shapes of the model as three.js geometry. Primitives are unit shapes that instances scale; meshes are made once each.
import * as THREE from 'three';
import { toCreasedNormals } from 'three/examples/jsm/utils/BufferGeometryUtils.js';
import type { Triangles } from '../engine/engine.ts';
import type { Geom, Quat, Vec3 } from '../engine/types.ts';

export type Primitive = 'sphere' | 'box' | 'cylinder';

export function unitGeometry(kind: Primitive, fine: boolean): THREE.BufferGeometry {
  if (kind === 'box') return new THREE.BoxGeometry(2, 2, 2);
  if (kind === 'cylinder') return new THREE.CylinderGeometry(1, 1, 2, fine ? 40 : 20).rotateX(Math.PI / 2);
  return new THREE.SphereGeometry(1, fine ? 40 : 20, fine ? 24 : 12).rotateX(Math.PI / 2);
}

export function pose(pos: Vec3, quat: Quat): THREE.Matrix4 {
  return new THREE.Matrix4().compose(
    new THREE.Vector3(...pos), new THREE.Quaternion(quat[1], quat[2], quat[3], quat[0]), new THREE.Vector3(1, 1, 1));
}

export interface Part { kind: Primitive; local: THREE.Matrix4 }

function scaled(at: THREE.Matrix4, x: number, y: number, z: number, shift = 0): THREE.Matrix4 {
  return at.clone().multiply(new THREE.Matrix4().makeTranslation(0, 0, shift)).multiply(new THREE.Matrix4().makeScale(x, y, z));
}

/** A primitive geom as scaled unit shapes in its body's frame; [] for planes and meshes. */
export function partsOf(g: Geom): Part[] {
  const at = pose(g.pos, g.quat), [a, b, c] = g.size;
  switch (g.shape) {
    case 'sphere': return [{ kind: 'sphere', local: scaled(at, a, a, a) }];
    case 'ellipsoid': return [{ kind: 'sphere', local: scaled(at, a, b, c) }];
    case 'box': return [{ kind: 'box', local: scaled(at, a, b, c) }];
    case 'cylinder': return [{ kind: 'cylinder', local: scaled(at, a, a, b) }];
    case 'capsule': return [
      { kind: 'cylinder', local: scaled(at, a, a, b) },
      { kind: 'sphere', local: scaled(at, a, a, a, b) },
      { kind: 'sphere', local: scaled(at, a, a, a, -b) }];
    default: return [];
  }
}

export function meshGeometry(t: Triangles): THREE.BufferGeometry {
  const g = new THREE.BufferGeometry();
  g.setAttribute('position', new THREE.BufferAttribute(t.vertices, 3));
  g.setIndex(new THREE.BufferAttribute(t.triangles, 1));
  // Edges sharper than 35° stay edges; very large meshes are smoothed, which needs no copy.
  if (t.triangles.length < 600000) return toCreasedNormals(g, (35 * Math.PI) / 180);
  g.computeVertexNormals();
  return g;
}

/** Half the extents of a primitive along its own axes; null for planes and meshes. */
export function extentsOf(g: Geom): Vec3 | null {
  const [a, b, c] = g.size;
  switch (g.shape) {
    case 'sphere': return [a, a, a];
    case 'capsule': return [a, a, a + b];
    case 'cylinder': return [a, a, b];
    case 'ellipsoid': case 'box': return [a, b, c];
    default: return null;
  }
}
