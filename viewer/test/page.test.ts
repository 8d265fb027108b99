// The page in a real Chromium: what a user does, pixels where the numbers say, and nothing on the console.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { chromiumPath, launch, openViewer } from './browser.mjs';
import { conePixels, layerPixels } from './pixels.ts';

const root = new URL('../..', import.meta.url).pathname;
const knuckle = [process.env['KN_KNUCKLE'], join(root, 'build/knuckle'), join(root, 'build-dev/knuckle')].find((p) => p && existsSync(p))!;
const folder = mkdtempSync(join(tmpdir(), 'knuckle-page-'));
let browser: Browser;

// What the tests ask of the page (window.knuckle is its App).
/* eslint-disable @typescript-eslint/no-explicit-any */
type Any = any;
declare const window: Any;

before(async () => { browser = await launch(); });
after(async () => { await browser?.close(); rmSync(folder, { recursive: true }); });

const view = { width: 1200, height: 760 };
async function opened(scene: string, t: number): Promise<{ page: Page; said: string[] }> {
  const o = await openViewer(browser, { ...view, query: `?scene=${scene}` });
  await runTo(o.page, t);
  return o;
}
async function runTo(page: Page, t: number): Promise<void> {
  await page.evaluate((time) => { const a = window.knuckle; a.setPlaying(false); while (!a.session.complete && a.session.history.end < time) a.session.advance(50, time); a.contacts.measure(a.session); a.fit(); a.seek(time); a.draw(); }, t);
}
async function quiet(o: { page: Page; said: string[] }): Promise<void> { await o.page.close(); assert.deepEqual(o.said, []); }
const native = (...words: string[]) => JSON.parse(spawnSync(knuckle, ['run', ...words, '--json', '--quiet'], { encoding: 'utf8' }).stdout) as { state_hash: string };

test('one file of a 10 s pendulum: small, opens from file://, every saved hash reproduced', async () => {
  const file = join(folder, 'pendulum.html');
  const told = JSON.parse(execFileSync(knuckle, ['view', 'pendulum-2014', '--time', '10', '--html', file, '--json'], { encoding: 'utf8' })) as { state_hash: string; checks: number };
  assert.ok(statSync(file).size <= 3e6, `${statSync(file).size} bytes`);
  const idle = loadavg()[0] < availableParallelism(), walls: number[] = [], busy: number[] = [];
  for (let k = 0; k < 3; k++) { // the best of three
    const p = await browser.newPage({ viewport: view }), cdp = await p.context().newCDPSession(p);
    await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
    const start = performance.now();
    await p.goto(`file://${file}`);
    await p.waitForFunction(() => document.documentElement.dataset['ready'] && window.knuckle.frames > 0, null, { timeout: 180000 });
    walls.push((performance.now() - start) / 1000);
    busy.push((await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')!.value);
    await p.close();
  }
  console.log(`a page of 10 s of the pendulum, ${(statSync(file).size / 1e6).toFixed(2)} MB: open after ${Math.min(...walls).toFixed(2)} s, ${Math.min(...busy).toFixed(2)} s of the main thread (load of the machine ${loadavg()[0].toFixed(1)})`);
  assert.ok(Math.min(...busy) <= 2 && (!idle || Math.min(...walls) <= 2), `${walls.join()} ${busy.join()}`);
  const o = await openViewer(browser, { ...view, url: `file://${file}` });
  await o.page.waitForFunction(() => window.knuckle.session.complete);
  const r = await o.page.evaluate(() => { const s = window.knuckle.session; return { steps: s.stepNumber, hash: s.hashAt(s.history.count - 1), checked: s.checked, mismatch: s.mismatch }; });
  assert.deepEqual(r, { steps: 10000, hash: told.state_hash, checked: told.checks, mismatch: null });
  await o.page.waitForFunction(() => document.getElementById('checks')?.textContent?.startsWith('all '));
  await quiet(o);
});

test('scrub, step, play, jump to events, loop', async () => {
  const o = await opened('bouncing-ball', 1), p = o.page, time = () => p.evaluate(() => window.knuckle.time as number);
  const box = (await p.locator('#timeline').boundingBox())!, duration = await p.evaluate(() => window.knuckle.session.duration as number);
  await p.evaluate(() => { const s = window.knuckle.session; while (!s.complete) s.advance(50); });
  await p.mouse.click(box.x + box.width / 2, box.y + box.height * 0.8);
  assert.ok(Math.abs((await time()) - duration / 2) < 0.02 * duration);
  const t0 = await p.evaluate(() => { const a = window.knuckle; const h = a.session.history; return h.time(h.find(a.time)) as number; });
  await p.keyboard.press('ArrowRight');
  assert.ok(Math.abs((await time()) - t0 - 1e-3) < 1e-9, 'one step on');
  await p.keyboard.press('ArrowLeft');
  assert.ok(Math.abs((await time()) - t0) < 1e-9, 'one step back');
  await p.keyboard.press('Home');
  await p.keyboard.press('Shift+ArrowRight');
  const events = await p.evaluate(() => window.knuckle.session.history.events.filter((e: Any) => window.knuckle.catalogue.events[e.kind] === 'impact').map((e: Any) => e.at) as number[]);
  assert.ok(Math.abs((await time()) - events[0]) < 1e-9, 'the first impact');
  assert.ok(await p.evaluate(() => { const a = window.knuckle; a.draw(); return a.contacts.shown.some((c: Any) => c.impact && c.impulse[0] > 0); }), 'its impulse is shown');
  await p.keyboard.press('Home');
  await p.keyboard.press(' ');
  await p.waitForFunction(() => window.knuckle.time > 0.05);
  await p.keyboard.press(' ');
  assert.equal(await p.evaluate(() => window.knuckle.playing), false);
  await p.keyboard.down('Shift');
  await p.mouse.move(box.x + box.width * 0.2, box.y + 30);
  await p.mouse.down();
  await p.mouse.move(box.x + box.width * 0.4, box.y + 30);
  await p.mouse.up();
  await p.keyboard.up('Shift');
  const loop = await p.evaluate(() => window.knuckle.timeline.loop as [number, number]);
  assert.ok(Math.abs(loop[0] - 0.2 * duration) < 0.02 * duration && Math.abs(loop[1] - 0.4 * duration) < 0.02 * duration);
  await quiet(o);
});

test('arrows of normal forces are where the numbers say, and nowhere else', async () => {
  for (const [scene, t] of [['quadruped', 0.3], ['stack', 0.2], ['incline', 0.2]] as const) {
    const o = await opened(scene, t), r = await layerPixels(o.page, 'normal');
    assert.ok(r.mids.length >= 4, `${scene}: ${r.mids.length} arrows`);
    for (const m of r.mids) assert.ok(m.changed > 24, `${scene}: nothing drawn at ${m.x.toFixed(0)}, ${m.y.toFixed(0)}`);
    assert.ok(r.far <= 0.01 * r.all, `${scene}: ${r.far} of ${r.all} changed pixels are away from every arrow`);
    await quiet(o);
  }
});

test('cones stand on their contacts; every layer can be switched', async () => {
  const o = await opened('quadruped', 0.3), p = o.page;
  const hit = await conePixels(p);
  assert.equal(hit.cones.length, 4);
  for (const c of hit.cones) assert.ok(c.inside > 10, JSON.stringify(c));
  assert.ok(hit.all > 200 && hit.far === 0, `${hit.far} of ${hit.all} changed pixels are away from every cone`);
  const boxes = p.locator('[data-layer]');
  for (let i = 0; i < (await boxes.count()); i++) {
    const key = await boxes.nth(i).getAttribute('data-layer'), was = await p.evaluate((k) => window.knuckle.layer(k) as boolean, key);
    await boxes.nth(i).click();
    assert.equal(await p.evaluate((k) => { window.knuckle.draw(); return window.knuckle.layer(k) as boolean; }, key), !was, key!);
  }
  await p.evaluate(() => { const a = window.knuckle; a.stage.setSkin('collision'); a.draw(); a.stage.setOpacity(0.4); a.draw(); });
  await quiet(o);
});

test('picking shows the numbers of the run to the printed digit', async () => {
  const o = await opened('quadruped', 0.3), p = o.page;
  const at = await p.evaluate(() => { const a = window.knuckle, m = a.stage.matrices[0], r = a.stage.renderer.domElement.getBoundingClientRect(), q = a.stage.project(a.stage.centre.clone().setFromMatrixPosition(m)); return { x: r.left + q.x, y: r.top + q.y }; });
  await p.mouse.move(at.x, at.y);
  await p.waitForFunction(() => document.querySelector('.label.hover')?.textContent === 'trunk');
  await p.mouse.click(at.x, at.y);
  await p.waitForFunction(() => document.querySelector('.right')?.textContent?.includes('trunk'));
  await p.locator('.list tbody tr').first().click();
  await p.waitForFunction(() => document.querySelector('.right')?.textContent?.includes('is this force determined?'));
  const shown = await p.evaluate(() => [...document.querySelectorAll('.facts tr')].map((r) => [...r.querySelectorAll('td')].map((d) => d.textContent)));
  const file = join(folder, 'q.mcap'), table = join(folder, 'q.csv');
  execFileSync(knuckle, ['run', 'quadruped', '--time', '0.3', '-o', file, '--quiet']);
  execFileSync(knuckle, ['export', file, '--only', 'energy', '-o', table, '--quiet']);
  const last = readFileSync(table, 'utf8').trim().split('\n').pop()!.split(',').map(Number), head = readFileSync(table, 'utf8').split('\n').find((l) => l.includes('energy.total'))!.split(',');
  const energy = last[head.findIndex((h) => h.includes('energy.total'))];
  const printed = shown.find((r) => r[0] === 'energy, J')![1]!.replace('−', '-');
  assert.equal(printed, String(Number(energy.toPrecision(6))));
  await quiet(o);
});

test('charts: a contact force by search, exports, cursor', async () => {
  const o = await opened('stack', 0.2), p = o.page;
  await p.keyboard.press('q');
  await p.fill('#chart-dialog input', 'force box0 world');
  await p.locator('#chart-dialog .found button').first().click();
  const r = await p.evaluate(() => { const a = window.knuckle; a.draw(); const c = a.charts.charts[a.charts.charts.length - 1]; c.update(a.time); return { csv: c.csvText() as string, svg: c.svgText() as string, title: c.spec.title as string }; });
  assert.match(r.title, /^force\./);
  const rows = r.csv.trim().split('\n');
  const row = rows.find((l) => Number(l.split(',')[0]).toFixed(6) === '0.200000')!.split(',').map(Number);
  const weight = await p.evaluate(() => window.knuckle.session.model.mass as number);
  assert.ok(Math.abs(row[1] - weight * 9.81) < 1e-5 * weight * 9.81, `${row[1]} N`); // at rest, to the solver's residual
  assert.match(r.svg, /<path d="M/);
  const download = p.waitForEvent('download');
  await p.locator('.chart').last().hover();
  await p.locator('.chart').last().locator('button[title="save as CSV"]').click();
  assert.match((await download).suggestedFilename(), /\.csv$/);
  const plot = (await p.locator('.chart .u-over').first().boundingBox())!;
  await p.mouse.click(plot.x + plot.width / 50, plot.y + plot.height / 2);
  assert.ok(await p.evaluate(() => Math.abs(window.knuckle.time - window.knuckle.session.duration / 50) < 0.03 * window.knuckle.session.duration));
  await quiet(o);
});

test('change μ in the page and run again: the native run’s hash; the run before as a ghost', async () => {
  const o = await opened('pendulum-2014', 0.5), p = o.page;
  await p.locator('button[title^="keep the run before"]').click();
  await p.locator('.field', { hasText: 'friction μ' }).locator('input').fill('0.1');
  await p.keyboard.press('Enter');
  await p.waitForFunction(() => window.knuckle.session.recipe.words.includes('--mu'));
  await runTo(p, 0.5);
  const r = await p.evaluate(() => { const a = window.knuckle, s = a.session; return { hash: s.hashAt(s.history.find(0.5)) as string, ghost: a.other !== null && a.ghost.group.children.length > 0, command: '' }; });
  assert.equal(r.hash, native('pendulum-2014', '--mu', '0.1', '--time', '0.5').state_hash);
  assert.ok(r.ghost);
  await p.locator('button[title="this run as a command and as Python"]').click();
  await p.waitForFunction(() => document.querySelector('#copy-dialog pre')?.textContent);
  assert.match((await p.locator('#copy-dialog pre').first().textContent())!, /^knuckle run pendulum-2014 --mu 0\.1 --time 5$/);
  await quiet(o);
});

test('pulling a body changes the run from there on', async () => {
  const o = await opened('stack', 0.1), p = o.page;
  const at = await p.evaluate(() => { const a = window.knuckle, n = a.stage.matrices.length - 1, r = a.stage.renderer.domElement.getBoundingClientRect(), q = a.stage.project(a.stage.centre.clone().setFromMatrixPosition(a.stage.matrices[n])); return { x: r.left + q.x, y: r.top + q.y }; });
  await p.keyboard.down('Control');
  await p.mouse.move(at.x, at.y);
  await p.mouse.down();
  await p.mouse.move(at.x + 120, at.y - 10, { steps: 4 });
  await p.waitForFunction(() => window.knuckle.session.history.end > 0.25, null, { timeout: 20000 });
  await p.mouse.up();
  await p.keyboard.up('Control');
  const moved = await p.evaluate(() => { const a = window.knuckle, s = a.session, h = s.history, j = s.model.joints[s.model.joints.length - 1]; return { touched: s.touched as boolean, dx: Math.hypot(h.q(h.count - 1)[j.q] - h.q(0)[j.q], h.q(h.count - 1)[j.q + 1] - h.q(0)[j.q + 1]) }; });
  assert.ok(moved.touched && moved.dx > 1e-4, JSON.stringify(moved));
  await quiet(o);
});

test('files: a model, a recording, and bad ones with a message', async () => {
  const o = await opened('bouncing-ball', 0.05), p = o.page;
  const model = join(folder, 'robot.xml'), run = join(folder, 'run.mcap'), bad = join(folder, 'bad.xml'), none = join(folder, 'none.mcap'), hostile = join(folder, 'hostile.xml');
  writeFileSync(model, '<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body name="b" pos="0 0 1"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>');
  writeFileSync(bad, '<mujoco><worldbody><body><geom type="bux"/></body></worldbody></mujoco>');
  writeFileSync(none, '');
  writeFileSync(hostile, '<mujoco model="&lt;img src=x onerror=window.hacked=1&gt;"><worldbody><body name="&lt;/script&gt;&lt;script&gt;window.hacked=1&lt;/script&gt;"><freejoint/><geom type="sphere" size=".1"/></body></worldbody></mujoco>');
  execFileSync(knuckle, ['run', 'pendulum-2014', '--time', '0.3', '-o', run, '--quiet']);
  await p.setInputFiles('#files', model);
  await p.waitForFunction(() => window.knuckle.session.model.bodies[0]?.name === 'b');
  await p.setInputFiles('#files', run);
  await p.waitForFunction(() => window.knuckle.session.recorded && window.knuckle.session.complete);
  assert.equal(await p.evaluate(() => window.knuckle.session.history.count), 300);
  await p.locator('button', { hasText: 'Verify every step' }).click();
  await p.waitForFunction(() => [...document.querySelectorAll('.toast')].some((t) => /300 steps verified: no violation/.test(t.textContent!)));
  await p.setInputFiles('#files', bad);
  await p.waitForFunction(() => [...document.querySelectorAll('.toast.bad')].some((t) => /bad\.xml:1:\d+: .*bux/.test(t.textContent!)));
  await p.setInputFiles('#files', none);
  await p.waitForFunction(() => [...document.querySelectorAll('.toast.bad')].some((t) => /none\.mcap is empty/.test(t.textContent!)));
  await p.setInputFiles('#files', hostile);
  await p.waitForFunction(() => document.title.includes('onerror'));
  await p.evaluate(() => { window.knuckle.setLayer('names', true); window.knuckle.draw(); });
  assert.equal(await p.evaluate(() => window.hacked), undefined);
  const page = join(folder, 'hostile.html');
  execFileSync(knuckle, ['view', hostile, '--time', '0.1', '--html', page, '--quiet']);
  const second = await openViewer(browser, { ...view, url: `file://${page}` });
  assert.equal(await second.page.evaluate(() => [window.hacked, window.knuckle.session.model.bodies.length].join()), ',1');
  await quiet(second);
  await quiet(o);
});

test('a damaged page says so', async () => {
  const page = join(folder, 'damaged.html'), text = readFileSync(join(root, 'viewer/dist/view.html'), 'utf8');
  writeFileSync(page, text.replace('type="application/json">', 'type="application/json">{"words":["stack"'));
  const o = await openViewer(browser, { ...view, url: `file://${page}` });
  assert.match((await o.page.locator('#message').textContent())!, /damaged/);
  await quiet(o);
});

test('dark and light, help, panels; the camera fits and follows', async () => {
  const o = await opened('quadruped', 0.1), p = o.page, theme = () => p.evaluate(() => document.documentElement.dataset['theme']);
  const first = await theme();
  await p.keyboard.press('d');
  assert.notEqual(await theme(), first);
  await p.keyboard.press('?');
  assert.ok(await p.locator('dialog.help').isVisible());
  await p.keyboard.press('Escape');
  for (const k of ['[', ']', '\\']) await p.keyboard.press(k);
  assert.equal(await p.locator('.left').isVisible(), false);
  await p.keyboard.press('f');
  await p.keyboard.press('a');
  assert.equal(await p.evaluate(() => window.knuckle.follow), true);
  await quiet(o);
});

function ask(port: number, path: string, headers: Record<string, string> = {}, method = 'GET', body = ''): Promise<number> {
  return new Promise((ok, bad) => { const r = request({ host: '127.0.0.1', port, path, method, headers, agent: false }, (a) => { a.resume(); ok(a.statusCode!); }); r.on('error', bad); r.end(body); });
}
/** `knuckle view …` serving, for as long as `use` takes. */
async function served(words: string[], use: (told: { url: string; engine: string }) => Promise<void>): Promise<void> {
  const server = spawn(knuckle, ['view', ...words, '--no-browser', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    await use(await new Promise((ok, bad) => { server.stdout.once('data', (d: Buffer) => ok(JSON.parse(d.toString()) as { url: string; engine: string })); server.once('exit', () => bad(new Error('the server ended'))); }));
  } finally { server.kill('SIGINT'); }
}

test('simulated natively and streamed: the native hash; μ changed; a hand goes on from it in the page', async () => {
  await served(['pendulum-2014', '--time', '1', '--engine', 'native'], async ({ url, engine }) => {
    assert.equal(engine, 'native');
    const o = await openViewer(browser, { ...view, url }), p = o.page;
    const whole = async () => { await p.waitForFunction(() => window.knuckle.session.complete && window.knuckle.session.fed, null, { timeout: 60000 }); return p.evaluate(() => { const s = window.knuckle.session; return [s.history.count, s.hashAt(s.history.count - 1), s.history.events.length > 0]; }); };
    assert.deepEqual(await whole(), [1001, native('pendulum-2014', '--time', '1').state_hash, true]);
    await p.locator('.field', { hasText: 'friction μ' }).locator('input').fill('0.1');
    await p.keyboard.press('Enter');
    await p.waitForFunction(() => window.knuckle.session.recipe.words.includes('--mu'));
    assert.deepEqual(await whole(), [1001, native('pendulum-2014', '--mu', '0.1', '--time', '1').state_hash, true]);
    await p.evaluate(() => { const a = window.knuckle; a.setPlaying(false); a.seek(Infinity); });
    await p.keyboard.press('ArrowRight'); // beyond the end: the page's own engine, from the last state that came
    assert.deepEqual(await p.evaluate(() => { const s = window.knuckle.session; return [s.fed, s.hashAt(s.history.count - 1)]; }), [false, native('pendulum-2014', '--mu', '0.1', '--time', '1.001').state_hash]);
    await p.evaluate(() => window.knuckle.openWords(['quadruped']));
    await p.waitForFunction(() => window.knuckle.session.model.name === 'quadruped' && window.knuckle.session.history.count > 100);
    await p.keyboard.press('Home');
    assert.equal(await p.evaluate(() => window.knuckle.time), 0);
    await quiet(o);
  });
});

test('a model file is streamed too, and what the page could not do in real time is streamed unasked', async () => {
  const model = join(folder, 'streamed.xml');
  writeFileSync(model, '<mujoco><worldbody><geom type="plane" size="5 5 .1"/><body name="b" pos="0 0 .3"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody></mujoco>');
  await served([model, '--time', '0.2', '--engine', 'native'], async ({ url }) => {
    const o = await openViewer(browser, { ...view, url });
    await o.page.waitForFunction(() => window.knuckle.session.complete && window.knuckle.session.fed, null, { timeout: 60000 });
    assert.equal(await o.page.evaluate(() => { const s = window.knuckle.session; return s.hashAt(s.history.count - 1) as string; }), native(model, '--time', '0.2').state_hash);
    await quiet(o);
  });
  await served(['sphere-pile'], async ({ engine }) => assert.equal(engine, 'native'));
  await served(['bouncing-ball', '--time', '0.2'], async ({ engine }) => assert.equal(engine, 'page'));
});

test('a streaming server: POST of the page only, with the token, and no names of files', async () => {
  const model = join(folder, 'guarded.xml');
  writeFileSync(model, '<mujoco><worldbody><body name="b"><freejoint/><geom size=".1"/></body></worldbody></mujoco>');
  await served([model, '--time', '0.1', '--engine', 'native'], async ({ url }) => {
    const { port, search, origin } = new URL(url), at = Number(port), own = { Origin: origin }, good = '0.1\n/guarded.xml';
    const post = (path: string, headers: Record<string, string>, body: string) => ask(at, path, headers, 'POST', body);
    assert.equal(await post(`/run${search}`, own, good), 200);
    assert.equal(await post(`/run${search}`, own, '0.1\nbouncing-ball\n--mu\n0.3'), 200);
    assert.equal(await post('/run', own, good), 403);
    assert.equal(await post(`/run${search.replace(/.$/, (c) => (c === '0' ? '1' : '0'))}`, own, good), 403);
    assert.equal(await post(`/run${search}`, {}, good), 403);
    assert.equal(await post(`/run${search}`, { Origin: 'null' }, good), 403);
    assert.equal(await post(`/run${search}`, { Origin: 'http://example.org' }, good), 403);
    assert.equal(await post(`/run${search}`, { ...own, Host: `example.org:${at}` }, good), 403);
    assert.equal(await post(`/${search}`, own, good), 404);
    assert.equal(await ask(at, `/run${search}`), 404);
    for (const wrong of ['', 'long\nstack', '-1\nstack', '0.1\n', `0.1\n${model}`, '0.1\n/etc/passwd', '0.1\n../guarded.xml', '0.1\n/guarded.xml\n--keyframe\n../x', '0.1\nstack\n--html\nx.html', '0.1\nno-such-scene', `0.1\n${'x'.repeat(9000)}`, '0.1\nstack\0x'])
      assert.equal(await post(`/run${search}`, own, wrong), 400, JSON.stringify(wrong.slice(0, 40)));
    for (const method of ['PUT', 'DELETE', 'PATCH']) assert.ok([405, 501].includes(await ask(at, `/run${search}`, own, method)), method);
    assert.equal(await post(`/run${search}`, own, good), 200); // and it still serves
  });
});

test('the server: loopback, token, own origin, no paths', async () => {
  const run = join(folder, 'served.mcap');
  execFileSync(knuckle, ['run', 'pendulum-2014', '--time', '0.2', '-o', run, '--quiet']);
  const server = spawn(knuckle, ['view', run, '--no-browser', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const url = await new Promise<string>((ok, bad) => { server.stdout.once('data', (d: Buffer) => ok((JSON.parse(d.toString()) as { url: string }).url)); server.once('exit', () => bad(new Error('the server ended'))); });
    const { port, search } = new URL(url), at = Number(port), wrong = search.replace(/.$/, (c) => (c === '0' ? '1' : '0'));
    assert.equal(new URL(url).hostname, '127.0.0.1');
    assert.equal(await ask(at, `/${search}`), 200);
    assert.equal(await ask(at, `/data/0${search}`), 200);
    assert.equal(await ask(at, '/'), 403);
    assert.equal(await ask(at, `/${wrong}`), 403);
    assert.equal(await ask(at, `/${search}`, { Origin: 'http://example.org' }), 403);
    assert.equal(await ask(at, `/${search}`, { Host: `example.org:${at}` }), 403);
    assert.equal(await ask(at, `/${search}`, {}, 'POST'), 405);
    for (const path of ['/data/1', '/data/-1', '/data/../0', '/../../etc/passwd', '/data/0/../../etc/passwd', '/%2e%2e/%2e%2e/etc/passwd', '/etc/passwd'])
      assert.ok([403, 404, 400].includes(await ask(at, `${path}${search}`)), path);
    const listening = execFileSync('sh', ['-c', 'cat /proc/net/tcp /proc/net/tcp6 2>/dev/null || true'], { encoding: 'utf8' }).split('\n').filter((l) => l.includes(`:${at.toString(16).toUpperCase().padStart(4, '0')} `) && / 0A /.test(l));
    assert.ok(listening.length > 0 && listening.every((l) => / 0100007F:/.test(l)), listening.join('\n'));
    const o = await openViewer(browser, { ...view, url });
    await o.page.waitForFunction(() => window.knuckle.session?.recorded && window.knuckle.session.complete);
    assert.equal(await o.page.evaluate(() => window.knuckle.session.history.count), 200);
    await quiet(o);
  } finally { server.kill('SIGINT'); }
});

test('a picture by the command line', () => {
  assert.ok(chromiumPath());
  const png = join(folder, 'stack.png');
  execFileSync(knuckle, ['view', 'stack', '--time', '0.3', '--at', '0.2', '--size', '640,400', '--screenshot', png, '--quiet']);
  const bytes = readFileSync(png);
  assert.equal(bytes.subarray(1, 4).toString(), 'PNG');
  assert.deepEqual([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], [640, 400]);
  assert.ok(bytes.length > 8000, `${bytes.length} bytes: an empty picture?`);
});

const there = (program: string) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

test('a film by the command line: as many frames as its seconds have, the same film twice, never half a file', { skip: there('ffmpeg') ? false : 'ffmpeg is not installed' }, () => {
  const words = ['view', 'bouncing-ball', '--time', '0.6', '--at', '0.1', '--speed', '0.5', '--fps', '10', '--size', '320,200', '--quiet'], film = join(folder, 'ball.mp4');
  execFileSync(knuckle, [...words, '--video', film]);
  const frames = (file: string) => spawnSync('ffmpeg', ['-v', 'error', '-i', file, '-f', 'framemd5', '-'], { encoding: 'utf8' }).stdout.split('\n').filter((l) => l && !l.startsWith('#')).map((l) => l.split(',').pop()!.trim());
  const first = frames(film);
  assert.equal(first.length, 11); // 0.5 s at half speed: 1 s, 10 frames in it, and the one at its end
  assert.ok(new Set(first).size >= 10, 'the ball moves');
  execFileSync(knuckle, [...words, '--video', join(folder, 'again.mp4')]);
  assert.deepEqual(frames(join(folder, 'again.mp4')), first);
  execFileSync(knuckle, [...words, '--video', join(folder, 'ball.webm')]);
  assert.equal(frames(join(folder, 'ball.webm')).length, 11);
  // An encoder that gives up leaves nothing behind.
  const broken = join(folder, 'broken');
  mkdirSync(broken);
  for (const [name, script] of [['ffmpeg', 'head -c 100 > /dev/null; exit 1']] as const) writeFileSync(join(broken, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const failed = spawnSync(knuckle, [...words, '--video', join(broken, 'none.mp4')], { encoding: 'utf8', env: { ...process.env, PATH: `${broken}:${process.env['PATH']}` } });
  assert.notEqual(failed.status, 0);
  assert.match(failed.stderr, /none\.mp4: ffmpeg/);
  assert.deepEqual(readdirSync(broken), ['ffmpeg']);
});

test('a film without ffmpeg is refused before anything is simulated', () => {
  const only = join(folder, 'only');
  mkdirSync(only);
  symlinkSync(chromiumPath(), join(only, 'chromium'));
  const r = spawnSync(knuckle, ['view', 'stack', '--video', join(folder, 'none.mp4')], { encoding: 'utf8', env: { ...process.env, PATH: only } });
  assert.notEqual(r.status, 0);
  assert.match(r.stderr, /ffmpeg, which makes the film, is not installed \(Debian: ffmpeg\)/);
});

test('scrubbing 50 bodies by software rendering: 15 frames/s, at most 8 ms of the main thread each', async () => {
  const o = await opened('simbench-bouncing', 0.3), p = o.page;
  const scrub = (ms: number) => p.evaluate(async (time) => {
    const a = window.knuckle, start = performance.now(), from = a.frames;
    while (performance.now() - start < time || a.frames - from < 20) { a.seek(0.3 * Math.random()); await new Promise(requestAnimationFrame); }
    return { frames: a.frames - from, seconds: (performance.now() - start) / 1000 };
  }, ms);
  await p.evaluate(() => { const s = window.knuckle.session; s.takeOver(); s.duration = s.history.end; });
  await scrub(1500); // shaders are compiled, the resolution has settled
  // Processor time of the main thread, which does not count what other programs take of the machine.
  const cdp = await p.context().newCDPSession(p), idle = loadavg()[0] < availableParallelism();
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => 1000 * (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration')!.value;
  const before = await busy(), r = await scrub(2500), main = ((await busy()) - before) / r.frames, rate = r.frames / r.seconds;
  console.log(`scrubbing 50 bodies: ${rate.toFixed(1)} frames/s by software rendering, ${main.toFixed(1)} ms of the main thread each${idle ? '' : ' (others use this machine: the rate is not judged)'}`);
  assert.ok(main > 0 && main <= 8, `${main} ms of the main thread a frame`);
  assert.ok(r.frames >= 20 && (!idle || rate >= 15), `${rate} frames/s`);
  await quiet(o);
});

test('1000 bodies of a recording: instances that a few calls draw', async () => {
  const run = join(folder, 'thousand.mcap');
  execFileSync(knuckle, ['run', 'sphere-pile', '--set', 'balls=1000', '--time', '0.05', '-o', run, '--quiet']);
  await served([run], async ({ url }) => {
    const o = await openViewer(browser, { ...view, url }), p = o.page;
    await p.waitForFunction(() => window.knuckle.session?.complete, null, { timeout: 120000 });
    const r = await p.evaluate(async () => {
      const a = window.knuckle, s = a.session;
      a.setPlaying(false);
      a.fit();
      a.draw();
      const calls = a.stage.renderer.info.render.calls as number;
      const scrub = async (ms: number) => { const start = performance.now(), from = a.frames; while (performance.now() - start < ms || a.frames - from < 8) { a.seek(s.history.end * Math.random()); await new Promise(requestAnimationFrame); } return { rate: (1000 * (a.frames - from)) / (performance.now() - start), cost: a.frameCost as number }; };
      await scrub(1500);
      return { calls, bodies: s.model.bodies.length as number, memory: s.engine.memoryBytes as number, hash: s.hashAt(s.history.count - 1) as string, ...(await scrub(2500)) };
    });
    console.log(`1000 bodies: ${r.calls} draw calls, ${r.rate.toFixed(1)} frames/s by software rendering, ${r.cost.toFixed(1)} ms of the main thread, ${(r.memory / 1e6).toFixed(0)} MB of the engine (load of the machine ${loadavg()[0].toFixed(1)})`);
    assert.deepEqual([r.bodies, r.hash], [1000, native('sphere-pile', '--set', 'balls=1000', '--time', '0.05').state_hash]);
    assert.ok(r.calls <= 40, `${r.calls} draw calls`); // a call per kind of shape and layer, not per body
    assert.ok(r.memory < 4e8, `${r.memory} bytes`); // no simulator in the page
    await quiet(o);
  });
});

test('a run is filled by a worker while the page draws, and a hand takes it over', async () => {
  const o = await openViewer(browser, { ...view, query: '?scene=pendulum-2014' }), p = o.page;
  await p.waitForFunction(() => window.knuckle.session.complete, null, { timeout: 30000 });
  const r = await p.evaluate(() => { const s = window.knuckle.session; return { fed: s.fed, n: s.stepNumber, hash: s.hashAt(s.history.count - 1), t: s.duration }; });
  assert.equal(r.fed, true);
  assert.equal(r.hash, native('pendulum-2014', '--time', String(r.t)).state_hash);
  const after = await p.evaluate(() => { const a = window.knuckle; a.seek(Infinity); a.stepBy(1); const s = a.session; return { fed: s.fed, n: s.stepNumber, hash: s.engine.hash(), row: s.hashAt(s.history.count - 1) }; });
  assert.deepEqual([after.fed, after.n, after.row], [false, r.n + 1, after.hash]);
  await quiet(o);
});
