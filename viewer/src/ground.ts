// The ground: a standard material with a grid of lines in world coordinates that fades with the distance.
import * as THREE from 'three';
import type { Palette } from './theme.ts';

/** Physically based where a graphics card draws it; plain where software must. */
export type Surface = THREE.MeshStandardMaterial | THREE.MeshLambertMaterial;

export function setGridColours(m: Surface, p: Palette): void {
  m.color.set(p.ground);
  (m.userData['uniforms'] as { line: { value: THREE.Color } }).line.value.set(p.grid);
}

export function groundMaterial(p: Palette, level: boolean, plain: boolean): Surface {
  const look = {
    color: p.ground, transparent: true, side: THREE.DoubleSide, depthWrite: level, polygonOffset: true, polygonOffsetFactor: 1, polygonOffsetUnits: 1,
  };
  const m = plain ? new THREE.MeshLambertMaterial(look) : new THREE.MeshStandardMaterial({ ...look, roughness: 0.95, metalness: 0 });
  const uniforms = {
    line: { value: new THREE.Color(p.grid) }, cell: { value: 1 }, fade: { value: 10 }, middle: { value: new THREE.Vector3() },
    strength: { value: level ? 1 : 0.45 },
  };
  m.userData['uniforms'] = uniforms;
  m.onBeforeCompile = (shader: THREE.WebGLProgramParametersWithUniforms) => {
    Object.assign(shader.uniforms, uniforms);
    shader.vertexShader = shader.vertexShader
      .replace('#include <common>', '#include <common>\nvarying vec3 vPlace; varying vec2 vIn;')
      .replace('#include <begin_vertex>', '#include <begin_vertex>\nvPlace = (modelMatrix * vec4(position, 1.0)).xyz; vIn = uv - 0.5;');
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', `#include <common>
        varying vec3 vPlace; varying vec2 vIn; uniform vec3 line; uniform float cell, fade, strength; uniform vec3 middle;
        float lines(vec3 x, float width) {
          vec3 d = fwidth(x), g = abs(fract(x - 0.5) - 0.5) / max(d, 1e-6), on = 1.0 - clamp(g / width, 0.0, 1.0);
          on *= clamp(1.0 - 2.2 * d, 0.0, 1.0) * step(1e-6, d); // too fine to draw, or along the line
          return max(on.x, max(on.y, on.z));
        }`)
      .replace('#include <color_fragment>', `#include <color_fragment>
        float far = length(vPlace - middle) / fade;
        float grid = max(0.45 * lines(vPlace / cell, 1.0), lines(vPlace / (10.0 * cell), 1.3));
        diffuseColor.rgb = mix(diffuseColor.rgb, line, grid);
        diffuseColor.a *= strength * (strength < 1.0 ? 1.0 - smoothstep(0.3, 0.5, max(abs(vIn.x), abs(vIn.y))) : 1.0 - smoothstep(0.15, 0.8, far));`);
  };
  return m;
}
