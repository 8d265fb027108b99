import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { Engine } from '../engine/engine.ts';
const module = new WebAssembly.Module(readFileSync(new URL('../engine/dist/knuckle.wasm', import.meta.url)));
let e = new Engine(module);
const c = e.catalogue();
let bad = 0;
for (const s of c.scenes) {
  const steps = Math.min(300, Math.round(s.duration / s.dt));
  e = new Engine(module);
  const t0 = performance.now();
  e.open([s.name]);
  const t1 = performance.now();
  for (let i = 0; i < steps; i++) e.step();
  const t2 = performance.now();
  let native;
  try { native = execFileSync('../build-dev/knuckle', ['run', s.name, '--time', String(steps * s.dt), '--json'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }); } catch (x) { native = x.stdout; }
  const j = JSON.parse(native);
  const ok = j.state_hash === e.hash();
  if (!ok) bad++;
  console.log(s.name.padEnd(18), steps, ok ? 'equal' : `DIFFERENT ${j.state_hash} ${e.hash()} steps ${j.steps}`, `open ${(t1 - t0).toFixed(0)} ms, ${(1e3 * (t2 - t1) / steps).toFixed(1)} us/step, ${(e.memoryBytes / 1048576).toFixed(0)} MiB`);
}
console.log(bad, 'bad of', c.scenes.length);
