// The page's own logic without a browser: history, sessions, charts, commands, dropped files.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { balance, DIFFERENCE, join, lessOther, PRESETS, stack } from '../src/charts.ts';
import { asCommand, asPython, parse, parseSet, unparse, unparseSet } from '../src/command.ts';
import { drawnOnB, hull2, readContacts } from '../src/contacts.ts';
import { mainFile, recipeOf } from '../src/drop.ts';
import { num, seconds } from '../src/format.ts';
import { History } from '../src/history.ts';
import { contactTable, loopError } from '../src/inspector.ts';
import { quantities } from '../src/quantities.ts';
import { csv, sample, svg } from '../src/series.ts';
import { Session } from '../src/session.ts';
import type { TourBook } from '../src/tour.ts';
import { VERDICT_TEXT } from '../src/theme.ts';
import { cleanPath } from '../engine/wasi.ts';
import { CONTACT } from '../engine/types.ts';

const wasm = new WebAssembly.Module(readFileSync(new URL('../engine/dist/knuckle.wasm', import.meta.url)));
const root = new URL('../..', import.meta.url).pathname;
const knuckle = [process.env['KN_KNUCKLE'], joinPath(root, 'build/knuckle'), joinPath(root, 'build-dev/knuckle')].find((p) => p && existsSync(p))!;
const session = (...words: string[]) => new Session(wasm, { words, files: [] });
const until = (s: Session, t: number) => { while (s.history.end < t - 1e-9 && !s.complete) s.advance(20, t); };

/** A row without how long its step took, which is no number of the run. */
const untimed = (s: Session, i: number) => { const row = s.history.row(i).slice(); row[s.column('step_time')] = 0; return row; };

test('history: rows, finding a time, thinning under a budget', () => {
  const h = new History({ scalars: 2, nq: 1, nv: 1, nu: 0 }, 16000);
  const source = (t: number) => ({ scalars: new Float64Array([t, 2 * t]), q: new Float64Array([t * t]), v: new Float64Array([-t]), ctrl: new Float64Array(0), contacts: new Float64Array(40 * (t % 2)) });
  for (let i = 0; i < 1000; i++) h.add(source(i));
  assert.ok(h.stride > 1 && h.bytes <= 16000 + 400);
  for (let i = 0; i < h.count; i++) {
    assert.equal(h.time(i), i * h.stride);
    assert.equal(h.q(i)[0], (i * h.stride) ** 2);
  }
  assert.equal(h.time(h.find(10 * h.stride + 0.5)), 10 * h.stride);
  h.truncate(5);
  assert.equal(h.count, 6);
  h.add(source(999));
});

test('a session runs to its end and its rows are the engine’s', () => {
  const s = session('bouncing-ball');
  until(s, 0.8);
  const i = s.history.find(0.8);
  assert.equal(s.history.time(i).toFixed(9), '0.800000000');
  assert.ok(s.history.events.length > 0);
  assert.equal(s.hashAt(i), s.engine.hash());
});

test('going on from the middle gives the same bits, and the ledger goes on', () => {
  const a = session('pendulum-2014'), b = session('pendulum-2014');
  until(a, 1.2);
  until(b, 2.0);
  b.branch(b.history.find(0.7004));
  assert.equal(b.history.end.toFixed(6), '0.700000');
  until(b, 1.2);
  assert.equal(b.hashAt(b.history.count - 1), a.hashAt(a.history.count - 1));
  const k = a.column('ledger_impact'), x = a.history.value(a.history.count - 1, k), y = b.history.value(b.history.count - 1, k);
  assert.ok(Math.abs(x - y) < 1e-9 * Math.abs(x), `${x} ${y}`); // sums in another order
});

test('rows that a worker hands over are the rows, also beyond what fits into memory', () => {
  const a = session('pendulum-2014'), b = session('pendulum-2014'), worker = session('pendulum-2014');
  until(a, 1.2);
  b.advance(0); // the page has begun by itself
  const begun = b.history.count;
  b.feedFrom({ stop: () => undefined });
  worker.duration = 1.2;
  for (let done = false; !done;) { worker.advance(2); const f = worker.hand(); b.receive(f); done = f.complete; }
  assert.ok(begun > 1 && b.complete);
  assert.equal(b.history.count, a.history.count);
  for (let i = 0; i < a.history.count; i += 7) {
    assert.deepEqual(untimed(b, i), untimed(a, i));
    assert.deepEqual(b.history.contacts(i), a.history.contacts(i));
  }
  assert.deepEqual(b.history.events, a.history.events);
  b.stepLive();
  a.stepLive();
  assert.equal(b.hashAt(b.history.count - 1), a.hashAt(a.history.count - 1));
  const h = new History({ scalars: 1, nq: 0, nv: 0, nu: 0 }, 4000), w = new History({ scalars: 1, nq: 0, nv: 0, nu: 0 });
  const none = new Float64Array(0);
  for (let i = 0; i < 3000; i++) {
    w.add({ scalars: new Float64Array([i]), q: none, v: none, ctrl: none, contacts: new Float64Array((40 * i) % 120).fill(i) });
    if (i % 100 === 99) h.append(w.drain(), 0);
  }
  assert.ok(h.stride > 1 && h.seen === 3000);
  for (let i = 0; i < h.count; i++) {
    assert.equal(h.time(i), i * h.stride);
    assert.ok(h.contacts(i).length === (40 * i * h.stride) % 120 && h.contacts(i).every((x) => x === i * h.stride));
  }
});

test('saved hashes are compared, and a wrong one is found', () => {
  const a = session('stack');
  until(a, 0.05);
  const right = a.hashAt(50);
  const b = session('stack');
  b.checks = [{ at: 50, hash: right }, { at: 60, hash: '0123456789abcdef' }];
  until(b, 0.1);
  assert.equal(b.checked, 1);
  assert.deepEqual(b.mismatch, { at: 60, hash: '0123456789abcdef' });
});

test('contacts: forces carry the weight; names of quantities as in export', () => {
  const s = session('stack');
  until(s, 0.3);
  const row = s.history.count - 1, floor = readContacts(s, row).filter((c) => c.bodyA < 0 || c.bodyB < 0);
  const up = floor.reduce((sum, c) => sum + c.normalVector.z, 0), weight = s.model.mass * 9.81;
  assert.ok(Math.abs(up - weight) < 1e-6 * weight, `${up} against ${weight}`); // at rest: residual of the solver
  const names = quantities(s).map((q) => q.name);
  for (const n of ['residual', 'energy.kinetic', 'ledger.friction', 'momentum.x', 'momentum_error', 'force.box0.world', 'gap.box1.box0'])
    assert.ok(names.includes(n) || names.includes(n.replace(/\.(\w+)\.(\w+)$/, '.$2.$1')), `${n} in ${names.slice(0, 60).join(' ')}`);
  assert.equal(drawnOnB(0, 1, [0, 0, -1], [0, 0, -9.81]), true);
  assert.equal(drawnOnB(0, 1, [0, 0, 1], [0, 0, -9.81]), false);
  assert.equal(drawnOnB(-1, 1, [0, 0, 1], [0, 0, -9.81]), true);
});

test('the clock tells neighbouring steps apart', () => {
  const h = session('dominoes').dt; // 0.5 ms: three digits would call 0.62 s and 0.6205 s the same instant
  assert.equal(h, 5e-4);
  assert.deepEqual([0.6194999999999872, 0.6199999999999871, 0.6204999999999871].map((t) => seconds(t, h)), ['0.6195 s', '0.6200 s', '0.6205 s']);
  assert.deepEqual([seconds(1.2, 1e-3), seconds(1.2, 1 / 240), seconds(1.2, 0), seconds(1.25e-5, 1.25e-5)], ['1.200 s', '1.200 s', '1.200 s', '0.00001 s']);
  for (const step of [1e-2, 1e-3, 5e-4, 2.5e-4, 1 / 3000]) for (let k = 0; k < 200; k++) assert.notEqual(seconds(k * step, step), seconds((k + 1) * step, step));
});

test('charts keep peaks, stack and join', () => {
  const s = session('bouncing-ball');
  until(s, 1);
  const q = quantities(s).filter((x) => x.name === 'contacts'), all = sample(s, q, 1e6), few = sample(s, q, 20);
  assert.equal(Math.max(...(few.y[0] as number[])), Math.max(...(all.y[0] as number[])));
  assert.deepEqual(stack([[1, 2], [3, 4], [10, 10], [1, 1]], 2), [[1, 2], [4, 6], [10, 10], [11, 11]]);
  assert.deepEqual(join([0, 1], [[5, 6]], [1, 2], [[7, 8]]), [[0, 1, 2], [[5, 6, undefined], [undefined, 7, 8]]]);
  assert.match(csv(s, q).split('\n')[1], /^0,0$/);
  assert.match(svg('<a>', all, ['<b>'], ['N'], ['#000'], false), /&lt;a&gt;/);
});

test('friction of spin: its moment is at most torsion times the normal force, and stands in the table', () => {
  const s = session('tippe-top', '--set', 'torsion=1e-4');
  until(s, 0.05);
  const row = s.history.count - 1, c = readContacts(s, row).find((x) => x.forceNormal > 0)!;
  assert.equal(c.torsion, 1e-4);
  assert.ok(Math.abs(c.moment[0]) > 0 && Math.abs(c.moment[0]) <= 1e-4 * c.forceNormal * (1 + 1e-9), `${c.moment[0]}`); // rounding of the cone's edge
  const lines = contactTable(s, readContacts(s, row)).trim().split('\n'), head = lines[0].split(','), cells = lines[1].split(',');
  assert.equal(cells.length, head.length);
  assert.equal(Number(cells[head.indexOf('normal')]), c.forceNormal);
  assert.equal(Number(cells[head.indexOf('moment_n')]), c.moment[0]);
});

test('loop errors are those of the report; a loop pulled open shows how far', () => {
  const s = session('four-bar');
  until(s, 0.5);
  const h = s.history, row = h.count - 1, loop = s.model.loops[0];
  assert.ok(loopError(loop, s.engine.pose(h.q(row), h.v(row))) <= h.value(row, s.column('closure')) + 1e-12);
  const q = h.q(row).slice();
  q[0] += 0.01; // the crank alone, by 10 mrad: its end moves by 2 mm
  const open = loopError(loop, s.engine.pose(q, h.v(row)));
  assert.ok(open > 1e-3 && open < 1e-1, `${open}`);
});

test('the difference of two runs is none before they part', () => {
  const a = session('bouncing-ball'), b = session('bouncing-ball', '--restitution', '0.3');
  until(a, 1);
  until(b, 1);
  const hit = a.history.events[0].t, [dq] = DIFFERENCE.derived!(a, b), z = quantities(a).find((x) => x.name === 'energy.total')!;
  assert.equal(dq.value(a, a.history.find(hit - 0.01)), 0);
  assert.ok(dq.value(a, a.history.count - 1) > 1e-3);
  assert.equal(lessOther(z, b).value(a, a.history.count - 1), z.value(a, a.history.count - 1) - z.value(b, b.history.count - 1));
});

test('the energy chart: its height is what there was and what was put in; of what rests, its potential energy', () => {
  const sum = (s: Session, i: number) => balance(s).filter((q) => !q.apart).reduce((x, q) => x + q.value(s, i), 0);
  for (const [scene, apart] of [['pendulum-2014', false], ['grasp-2', true]] as const) {
    const s = session(scene);
    until(s, 0.5);
    const top = balance(s).find((q) => q.apart), rows = [1, s.history.count >> 1, s.history.count - 1];
    assert.equal(top !== undefined, apart, scene);
    const size = Math.max(...rows.map((i) => Math.abs(sum(s, i))));
    // Parts below 1e-4 of the largest are left out of the picture: seven of them at most.
    for (const i of rows) assert.ok(Math.abs(sum(s, i) - (top ? top.value(s, i) : sum(s, 0))) < 1e-3 * size, `${scene} row ${i}: ${sum(s, i)}`);
  }
  const rest = session('stack');
  until(rest, 0.05);
  assert.deepEqual(balance(rest).map((q) => q.name), ['potential']);
  assert.equal(balance(rest)[0].value(rest, 40), rest.history.value(40, rest.column('energy_potential')));
  assert.deepEqual(stack([[1], [2], [9]], 3, [false, false, true]), [[1], [3], [9]]);
});

test('step times: of a run that is simulated, not of a recording', () => {
  const s = session('wall');
  until(s, 0.02);
  const [q] = PRESETS.find((p) => p.title === 'Step time')!.derived!(s, null);
  const mean = q.value(s, 10);
  assert.ok(mean > 1 && mean < 1e6, `${mean} µs`); // 39 bricks: milliseconds
  assert.ok(quantities(s).some((x) => x.name === 'step_time'));
});

test('live: pendulum, quadruped and humanoid are faster than real time, verdicts and rows included', () => {
  for (const scene of ['pendulum-2014', 'quadruped', 'humanoid']) {
    const s = session(scene), shares: number[] = [];
    until(s, 0.2); // compiled
    for (const end of [0.5, 0.8, 1.1]) {
      const from = process.cpuUsage(), t = s.history.end; // processor time: what others take of the machine does not count
      until(s, end);
      const used = process.cpuUsage(from);
      shares.push((used.user + used.system) / 1e6 / (s.history.end - t));
    }
    console.log(`${scene}: ${Math.min(...shares).toFixed(3)} s of a processor for a second of the run${s.verdicts ? '' : ', without verdicts'}`);
    assert.ok(Math.min(...shares) < 1, `${scene}: ${shares.join(', ')}`);
  }
});

test('commands round-trip and are quoted', () => {
  const words = ['pendulum-2014', '--set', 'links=6,e=0', '--passive', '--mu', '0.2'];
  assert.deepEqual(unparse(parse(words)), words);
  assert.equal(unparseSet(parseSet('a=1,b=x')), 'a=1,b=x');
  assert.equal(asCommand({ words, files: [] }, 2), 'knuckle run pendulum-2014 --set links=6,e=0 --passive --mu 0.2 --time 2');
  assert.equal(asCommand({ words: ["/it's here.xml"], files: [] }), `knuckle run 'it'\\''s here.xml'`);
  assert.match(asPython({ words: ['/r.xml', '--dt', '0.001'], files: [] }, 1), /knuckle\.load\("r\.xml"\)[\s\S]*dt=0\.001/);
  const robot = asPython({ words: ['/r.xml', '--sequential', '--mu', '0.2', '--gravity', '0,0,-5', '--drop', '0.1'], files: [] }, 1);
  assert.match(robot, /knuckle\.load\("r\.xml", mu=0\.2, drop=0\.1, gravity=\[0, 0, -5\]\)/);
  assert.match(robot, /knuckle\.Sim\(model, sequential=True\)/);
  assert.doesNotMatch(robot, /not said here/);
});

test('dropped files: the scene that includes the others', () => {
  const file = (path: string, text: string) => ({ path, bytes: new TextEncoder().encode(text) });
  const files = [file('/r/assets/a.stl', ''), file('/r/robot.xml', '<mujoco model="r"></mujoco>'), file('/r/scene.xml', '<mujoco><include file="robot.xml"/></mujoco>')];
  assert.equal(mainFile(files)?.path, '/r/scene.xml');
  const urdf = file('/arm/robots/arm.urdf', '<robot name="r"><mesh filename="package://all/robots/arm/meshes/a.stl"/></robot>'), mesh = file('/arm/meshes/a.stl', 'solid');
  assert.deepEqual(recipeOf([urdf, mesh, file('/arm/other/a.stl', '')]).files.at(-1), { path: '/all/robots/arm/meshes/a.stl', bytes: mesh.bytes });
  assert.throws(() => recipeOf([file('/x.txt', 'hello')]), /no model or recording/);
  assert.throws(() => recipeOf([file('/x.mcap', '')]), /empty/);
  assert.equal(cleanPath('/a/./b/../c.stl'), '/a/c.stl');
});

const COLLADA = `<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1"><asset><unit meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="p"><float_array id="a" count="12">0 0 0 0.2 0 0 0 0.3 0 0 0 0.4</float_array><technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices><triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>0 2 1 0 1 3 1 2 3 2 0 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node></visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>`;

test('a file of a URDF whose meshes are Collada in a package: the page opens it, with the native hashes', (t) => {
  const folder = mkdtempSync(joinPath(tmpdir(), 'knuckle-package-')), at = (...p: string[]) => joinPath(folder, ...p), html = at('arm.html');
  mkdirSync(at('all', 'arm', 'robots'), { recursive: true });
  mkdirSync(at('all', 'arm', 'meshes'));
  writeFileSync(at('all', 'arm', 'meshes', 'wedge.dae'), COLLADA);
  const mesh = '<geometry><mesh filename="package://all/arm/meshes/wedge.dae"/></geometry>';
  writeFileSync(at('all', 'arm', 'robots', 'arm.urdf'), `<robot name="r"><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual>${mesh}</visual><collision>${mesh}</collision></link></robot>`);
  const made = spawnSync(knuckle, ['view', at('all', 'arm', 'robots', 'arm.urdf'), '--base', 'floating', '--drop', '0.01', '--time', '0.2', '--html', html, '--json'], { encoding: 'utf8' });
  if (/built without/.test(made.stderr)) { rmSync(folder, { recursive: true }); t.skip('built without assimp'); return; }
  assert.equal(made.status, 0, made.stderr);
  const told = JSON.parse(made.stdout) as { state_hash: string };
  const text = readFileSync(html, 'utf8').match(/<script id="run" type="application\/json">([^]*?)<\/script>/)![1];
  const w = JSON.parse(text) as { words: string[]; files: { path: string; gzip: string }[]; checks: [number, string][] };
  rmSync(folder, { recursive: true });
  const s = new Session(wasm, { words: w.words, files: w.files.map((f) => ({ path: f.path, bytes: gunzipSync(Buffer.from(f.gzip, 'base64')) })) });
  s.checks = w.checks.map(([step, hash]) => ({ at: step, hash }));
  until(s, 0.2);
  assert.deepEqual([s.hashAt(s.history.count - 1), s.mismatch], [told.state_hash, null]);
  const looks = s.model.visuals.map((v, i) => (v.mesh ? s.engine.visualMesh(i)!.triangles.length / 3 : 0));
  assert.ok(looks.length > 0 && looks.every((n) => n === 4), String(looks));
});

test('the playground: every run opens and steps, every chart finds its numbers, and the texts are true', () => {
  const book = JSON.parse(readFileSync(new URL('../playground.json', import.meta.url), 'utf8')) as TourBook;
  assert.ok(book.chapters.length >= 8);
  for (const c of book.chapters)
    for (const r of c.runs) {
      const s = session(...r.words);
      until(s, 0.12);
      assert.equal(s.failure, '', r.words.join(' '));
      if (r.compare) assert.equal(session(...r.compare).model.bodies.length, s.model.bodies.length);
      const known = new Set(quantities(s).map((q) => q.name));
      for (const name of r.charts?.flatMap(([, ...names]) => names) ?? []) assert.ok(known.has(name), `${r.words.join(' ')}: ${name}`);
    }
  // Painlevé's rod has no solution at t = 0 for friction above 4/3, and one below; turning, several.
  const verdict = (...words: string[]) => { const s = session(...words); return s.engine.judge(s.history.q(0), s.history.v(0)); };
  assert.deepEqual([verdict('painleve-rod'), verdict('painleve-rod', '--set', 'mu=1.2'), verdict('painleve-rod', '--set', 'rate=6')].map((k) => VERDICT_TEXT[k]), ['no solution', 'unique', 'several motions']);
  // Five equal balls that touch, one simultaneous impact with e = 1: v = (−3/5, 2/5, 2/5, 2/5, 2/5); gravity turns them by 1e-4 in 4 ms.
  for (const law of ['poisson', 'newton', 'projection']) {
    const s = session('newton-cradle', '--set', 'gap=0', '--law', law);
    until(s, 0.004);
    [...s.history.v(s.history.count - 1)].forEach((v, i) => assert.ok(Math.abs(v - (i ? 0.4 : -0.6)) < 1e-4, `${law}: ball ${i} ${v}`));
  }
  // The grasp's window: several motions at 0.5 s, one before 0.42 s.
  const g = session('grasp-2');
  until(g, 0.5);
  const at = (t: number) => VERDICT_TEXT[g.history.value(g.history.find(t), g.column('verdict'))];
  assert.deepEqual([at(0.3), at(0.5)], ['unique', 'several motions']);
});

test('numbers and polygons', () => {
  assert.equal(num(0.1 + 0.2), '0.3');
  assert.equal(num(-1234567), '−1.23457e06');
  assert.equal(num(2.5e-12, 3), '2.5e-12');
  assert.deepEqual(hull2([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5]]), [[0, 0], [1, 0], [1, 1], [0, 1]]);
});

test('every row is the recording’s, whichever way the page came to it', () => {
  const words = ['dominoes', '--set', 'tiles=3'], end = 0.27, folder = mkdtempSync(joinPath(tmpdir(), 'knuckle-rows-')), file = joinPath(folder, 'run.mcap');
  execFileSync(knuckle, ['run', ...words, '--time', String(end), '-o', file, '--quiet'], { stdio: 'ignore' });
  const recorded = new Session(wasm, { words: ['/run.mcap'], files: [{ path: '/run.mcap', bytes: readFileSync(file) }] });
  rmSync(folder, { recursive: true });
  while (!recorded.complete) recorded.advance(1000);

  const straight = session(...words);
  const silent = session(...words, '--no-verdict');
  const dropped = session(...words); // verdicts given up in the middle: another simulator goes on
  until(dropped, 0.1);
  dropped.slowStep = -1;
  const branched = session(...words);
  until(branched, 0.2);
  branched.branch(branched.history.find(0.17));
  const again = session(...words); // from a keyframe
  until(again, 0.26);
  again.branch(500);
  const taken = session(...words), worker = session(...words); // a worker's run that the page takes over
  taken.feedFrom({ stop: () => undefined });
  until(worker, 0.25);
  taken.receive(worker.hand());
  taken.takeOver();
  for (const [name, s] of Object.entries({ straight, silent, dropped, branched, again, taken })) {
    until(s, end);
    if (s === dropped) assert.equal(s.verdicts, false);
    assert.deepEqual(differences(s, recorded), [], name);
  }
});

/** Rows of a run that are not those of its recording, and in what. Sums of energy may be added in another order: 1e-12 of
    the largest of them is a hundred times what 700 roundings make. Verdicts are asked for or not, and a
    recording has μ alone, not the coefficients of the second direction, of spin and of rolling: those are the model's. */
function differences(s: Session, r: Session): string[] {
  const names = [...s.columns.keys()], from = r.history.value(0, r.column('step')), wrong: string[] = [];
  const left = new Set<number>([CONTACT.determinate, CONTACT.mu2, CONTACT.torsion, CONTACT.roll]);
  const sums = names.filter((n) => n.startsWith('ledger_'));
  const scale = Math.max(...sums.map((n) => Math.abs(r.history.value(r.history.count - 1, r.column(n)))));
  for (let k = 0; k < r.history.count; k++) {
    const i = k + (from - s.history.value(0, s.column('step')));
    for (const n of names) {
      const x = s.history.value(i, s.column(n)), y = r.history.value(k, r.column(n));
      if (n !== 'verdict' && n !== 'step_time' && !(sums.includes(n) ? Math.abs(x - y) <= 1e-12 * scale : Object.is(x, y))) wrong.push(`row ${k} ${n}: ${x} for ${y}`);
    }
    for (const part of ['q', 'v', 'ctrl'] as const) s.history[part](i).forEach((x, j) => { if (x !== r.history[part](k)[j]) wrong.push(`row ${k} ${part}[${j}]`); });
    const a = s.history.contacts(i), b = r.history.contacts(k);
    if (a.length !== b.length) wrong.push(`row ${k}: ${a.length / CONTACT.size} contacts for ${b.length / CONTACT.size}`);
    else a.forEach((x, j) => { if (!left.has(j % CONTACT.size) && x !== b[j]) wrong.push(`row ${k} contact ${Math.floor(j / CONTACT.size)} number ${j % CONTACT.size}: ${x} for ${b[j]}`); });
  }
  return wrong.slice(0, 8);
}
