// The engine in node: the same bits as the native build on every scene, save and restore, recordings, bad input.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Engine, EngineError } from '../engine/engine.ts';

export const root = new URL('../..', import.meta.url).pathname;
const native = [process.env['KN_KNUCKLE'], join(root, 'build/knuckle'), join(root, 'build-dev/knuckle')].find((p) => p && existsSync(p));
const wasm = new WebAssembly.Module(readFileSync(join(root, 'viewer/engine/dist/knuckle.wasm')));
const folder = mkdtempSync(join(tmpdir(), 'knuckle-'));
after(() => rmSync(folder, { recursive: true }));

function run(...words: string[]): { state_hash: string; steps: number } {
  // Status 1 means that the run itself had trouble: its numbers count all the same.
  const r = spawnSync(native!, ['run', ...words, '--json', '--quiet'], { encoding: 'utf8' });
  return JSON.parse(r.stdout) as { state_hash: string; steps: number };
}

function fresh(words: string[], files: Record<string, Uint8Array> = {}): Engine {
  const e = new Engine(wasm);
  for (const [path, bytes] of Object.entries(files)) e.addFile(path, bytes);
  e.open(words);
  return e;
}

test('every scene has the native hash', { skip: !native && 'no native build' }, async (t) => {
  for (const scene of new Engine(wasm).catalogue().scenes) {
    const n = Math.min(scene.dt < 1e-4 ? 300 : 200, Math.round(scene.duration / scene.dt));
    await t.test(scene.name, () => {
      const e = fresh([scene.name, '--no-verdict']), theirs = run(scene.name, '--time', String(n * scene.dt));
      e.stepMany(theirs.steps);
      assert.equal(e.hash(), theirs.state_hash);
    });
  }
});

test('verdicts and flags of forces do not change the motion', () => {
  for (const name of ['pendulum-2014', 'quadruped', 'incline', 'painleve-rod']) {
    const a = fresh([name]), b = fresh([name, '--no-verdict']);
    a.stepMany(300);
    b.stepMany(300);
    assert.equal(a.hash(), b.hash(), name);
  }
});

test('changed friction, restitution, gravity and choices: the native hash', { skip: !native && 'no native build' }, () => {
  for (const words of [
    ['pendulum-2014', '--mu', '0.2', '--restitution', '0.8'], ['stack', '--gravity', '0.5,0,-3'], ['pendulum-2014', '--set', 'links=5,e=0', '--formulation', 'mc'],
    ['bouncing-ball', '--stepper', 'event', '--law', 'newton'], ['quadruped', '--friction', 'poly8', '--dt', '0.002']]) {
    const theirs = run(...words, '--time', '0.3'), e = fresh(words);
    e.stepMany(theirs.steps);
    assert.equal(e.hash(), theirs.state_hash, words.join(' '));
  }
});

test('a state that is saved and restored goes on with the same bits', () => {
  const a = fresh(['pendulum-2014']);
  a.stepMany(400);
  const bytes = a.save();
  a.stepMany(300);
  const b = fresh(['pendulum-2014']);
  b.restore(bytes, 400);
  b.stepMany(300);
  assert.equal(a.hash(), b.hash());
});

test('a recording is read and verified by the C reader', { skip: !native && 'no native build' }, () => {
  const path = join(folder, 'run.mcap');
  execFileSync(native!, ['run', 'pendulum-2014', '--time', '0.5', '-o', path, '--quiet']);
  const e = fresh(['/run.mcap'], { '/run.mcap': readFileSync(path) }), live = fresh(['pendulum-2014']);
  assert.equal(e.recordedSteps(), 500);
  for (const i of [0, 250, 499]) {
    e.readRecorded(i);
    while (live.scalars[live.scalarNames.indexOf('step')] < i + 1) live.step();
    assert.deepEqual([...e.q], [...live.q], `coordinates of step ${i + 1}`);
    const k = (n: string) => e.scalarNames.indexOf(n);
    for (const n of ['t', 'energy_total', 'residual', 'hash_high', 'hash_low', 'ledger_friction']) assert.equal(e.scalars[k(n)], live.scalars[k(n)], n);
  }
  const v = e.verify();
  assert.equal(v.ok, true);
  assert.equal(v.steps, 500);
});

test('bad input is a sentence', () => {
  const says = (words: string[], files: Record<string, Uint8Array>, what: RegExp) => assert.throws(() => fresh(words, files), (e: unknown) => e instanceof EngineError && what.test(e.message));
  const text = (s: string) => new TextEncoder().encode(s);
  says(['pendulum'], {}, /no scene 'pendulum'/);
  says(['/a.xml'], { '/a.xml': text('<mujoco><worldbody><geom type="sphere" size="-1"/></worldbody></mujoco>') }, /a\.xml:1:\d+/);
  says(['/a.xml'], { '/a.xml': text('') }, /a\.xml/);
  says(['/a.xml'], { '/a.xml': text('<mujoco><asset><mesh file="gone.stl"/></asset><worldbody><body><geom type="mesh" mesh="gone"/></body></worldbody></mujoco>') }, /gone\.stl/);
  says(['/missing.urdf'], {}, /missing\.urdf/);
  says(['/run.mcap'], { '/run.mcap': text('not a recording') }, /run\.mcap/);
  says(['/run.mcap'], { '/run.mcap': new Uint8Array(0) }, /run\.mcap/);
  says(['stack', '--mu', 'x'], {}, /--mu/);
  says(['stack', '--gravity', '0,1'], {}, /gravity/);
});

test('a recording that was cut off is read as far as it is whole', { skip: !native && 'no native build' }, () => {
  const path = join(folder, 'cut.mcap');
  execFileSync(native!, ['run', 'quadruped', '--time', '2', '-o', path, '--quiet']);
  const bytes = readFileSync(path);
  const e = fresh(['/cut.mcap'], { '/cut.mcap': bytes.subarray(0, Math.floor(0.7 * bytes.length)) });
  assert.ok(e.recordedSteps() > 0 && e.recordedSteps() < 2000);
  assert.ok(e.model.notes.some((n) => n.where === 'recording'));
});

test('a recording with wrong bytes is a sentence or is read; never a crash, never a number that is none', { skip: !native && 'no native build' }, () => {
  const path = join(folder, 'wrong.mcap');
  execFileSync(native!, ['run', 'stack', '--time', '0.05', '-o', path, '--quiet']);
  const whole = readFileSync(path);
  let seed = 12345, opened = 0, refused = 0;
  const next = (n: number) => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return Math.floor((seed / 2 ** 32) * n); };
  for (let k = 0; k < 80; k++) {
    let bytes = Uint8Array.from(whole);
    if (k % 4 === 0) bytes = bytes.slice(0, next(whole.length));
    else for (let i = 0; i <= k % 4; i++) bytes[k % 2 ? next(300) : next(whole.length)] = next(256);
    try {
      const e = fresh(['/wrong.mcap'], { '/wrong.mcap': bytes });
      for (let i = 0; i < e.recordedSteps(); i += 7) { e.readRecorded(i); assert.ok(e.q.every(Number.isFinite)); }
      opened++;
    } catch (e) {
      if (!(e instanceof EngineError)) throw e;
      assert.ok(e.message.length > 10, e.message);
      assert.ok(!/unreachable|memory access|RuntimeError/.test(e.message), e.message);
      refused++;
    }
  }
  assert.ok(opened > 0 && refused > 0, `${opened} opened, ${refused} refused`);
});
