// What `make test` asks of the page: one file opened from file:// in a real Chromium, and a user's way through it by mouse and
// keyboard: scrub, step, layers, pick, charts, exports, dragged quantities, another μ beside the run before, dropped files, pixels
// where the numbers say. The rest is in page.test.ts (make viewer-test).
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, openViewer } from './browser.mjs';
import { conePixels, layerPixels } from './pixels.ts';

const root = new URL('../..', import.meta.url).pathname;
const knuckle = [process.env['KN_KNUCKLE'], join(root, 'build/knuckle'), join(root, 'build-dev/knuckle')].find((p) => p && existsSync(p))!;
const folder = mkdtempSync(join(tmpdir(), 'knuckle-quick-'));
let browser: Browser, page: Page, said: string[] = [], told: { state_hash: string; checks: number };

// eslint-disable-next-line @typescript-eslint/no-explicit-any
declare const window: any;

before(async () => {
  const file = join(folder, 'pendulum.html');
  told = JSON.parse(execFileSync(knuckle, ['view', 'pendulum-2014', '--time', '2', '--html', file, '--json'], { encoding: 'utf8' })) as typeof told;
  assert.ok(statSync(file).size <= 3e6);
  browser = await launch();
  ({ page, said } = await openViewer(browser, { width: 1200, height: 760, url: `file://${file}` }));
});
after(async () => { await browser?.close(); rmSync(folder, { recursive: true }); });

test('the run is made again in the page, and every saved hash with it', async () => {
  await page.waitForFunction(() => window.knuckle.session.complete, null, { timeout: 60000 });
  const r = await page.evaluate(() => { const a = window.knuckle, s = a.session; a.setPlaying(false); return [s.hashAt(s.history.count - 1), s.checked, s.mismatch]; });
  assert.deepEqual(r, [told.state_hash, told.checks, null]);
});

test('scrub, step, go to the first impact: its impulse is drawn', async () => {
  const time = () => page.evaluate(() => window.knuckle.time as number);
  const box = (await page.locator('#timeline').boundingBox())!;
  await page.mouse.click(box.x + box.width / 2, box.y + 0.8 * box.height);
  const t = await time();
  assert.ok(Math.abs(t - 1) < 0.04, `${t}`);
  await page.keyboard.press('ArrowRight');
  assert.ok((await time()) > t - 1e-3 && (await time()) < t + 1.1e-3);
  await page.keyboard.press('Home');
  await page.keyboard.press('Shift+ArrowRight');
  const drawn = await page.evaluate(() => {
    const a = window.knuckle;
    a.fit(); // as it was opened, whatever the machine had time for
    const grab = () => {
      const c = a.capture() as HTMLCanvasElement, d = document.createElement('canvas');
      d.width = c.width; d.height = c.height;
      const g = d.getContext('2d', { willReadFrequently: true })!;
      g.drawImage(c, 0, 0);
      return { g, scale: c.width / c.clientWidth };
    };
    a.setLayer('impulses', false);
    const off = grab();
    a.setLayer('impulses', true);
    const on = grab(), hit = a.contacts.shown.find((c: { impact: boolean; impulse: number[] }) => c.impact && c.impulse[0] > 0);
    if (!hit) return null;
    const p = a.stage.project(hit.point), q = a.stage.project(a.arrowTip(hit)), at = (x: typeof on) => x.g.getImageData(Math.round(((p.x + q.x) / 2) * x.scale), Math.round(((p.y + q.y) / 2) * x.scale), 1, 1).data;
    return [...at(on)].reduce((sum, v, k) => sum + Math.abs(v - at(off)[k]), 0);
  });
  assert.ok(drawn !== null && drawn > 24, `pixels of the arrow changed by ${drawn}`);
});

test('every layer can be switched, a contact is picked, its force charted', async () => {
  const kept = await page.evaluate(() => {
    const a = window.knuckle, boxes = [...document.querySelectorAll<HTMLInputElement>('[data-layer]')];
    const wrong = boxes.filter((b) => { const key = b.dataset['layer']!, was = a.layer(key); b.click(); a.draw(); const now = a.layer(key); b.click(); return now === was || a.layer(key) !== was; });
    a.draw();
    return [boxes.length, wrong.length];
  });
  assert.deepEqual([kept[0] >= 15, kept[1]], [true, 0]);
  await page.locator('.list tbody tr').first().click();
  await page.getByRole('button', { name: 'Chart this force' }).click();
  const csv = await page.evaluate(() => { const a = window.knuckle; a.draw(); return (a.charts.charts.at(-1).csvText() as string).split('\n').slice(0, 2); });
  assert.match(csv[0], /^t,force\./);
  for (const [title, end, begin] of [['save as CSV', '.csv', 't,force.'], ['save as SVG', '.svg', '<svg '], ['save as PNG', '.png', '\x89PNG']] as const) {
    const saved = page.waitForEvent('download');
    await page.locator('.chart').last().hover();
    await page.locator('.chart').last().locator(`button[title="${title}"]`).click();
    const file = await saved;
    assert.ok(file.suggestedFilename().endsWith(end), file.suggestedFilename());
    assert.equal(readFileSync(await file.path(), 'latin1').slice(0, begin.length), begin);
  }
});

test('a body is picked by the mouse: its name, and its numbers as the engine has them', async () => {
  await page.evaluate(() => { const a = window.knuckle; a.fit(); a.draw(); });
  const at = await page.evaluate(() => { const a = window.knuckle, r = a.stage.renderer.domElement.getBoundingClientRect(), g = a.session.model.geoms.find((x: { body: number }) => x.body === 2), q = a.stage.project(a.stage.centre.clone().set(...(g.pos as [number, number, number])).applyMatrix4(a.stage.matrices[2])); return { x: r.left + q.x, y: r.top + q.y, name: a.session.bodyName(2) as string, z: a.stage.matrices[2].elements[14] as number }; });
  await page.mouse.move(at.x, at.y);
  await page.waitForFunction((n) => document.querySelector('.label.hover')?.textContent === n, at.name);
  await page.mouse.click(at.x, at.y);
  await page.waitForFunction((n) => document.querySelector('.right .facts b')?.textContent === n, at.name);
  const shown = await page.evaluate(() => [...document.querySelectorAll('.facts tr')].map((r) => [...r.querySelectorAll('td')].map((d) => d.textContent!)).find((r) => r[0] === 'position, m')![1]);
  assert.equal(Number(shown.split(/\s+/)[2].replace('−', '-')), Number(at.z.toPrecision(4)));
});

test('a quantity is dragged from a panel onto a chart, and beside the charts', async () => {
  const count = () => page.evaluate(() => window.knuckle.charts.charts.length as number), before = await count();
  const from = page.locator('.facts tr', { hasText: 'overlap, m' });
  // As a hand does it: press, on the way, over the chart, release; the page may take a while to answer.
  const drag = async (to: string) => {
    const target = page.locator(`.chart[aria-label="${to}"] .plot`);
    await from.hover();
    await page.mouse.down();
    await target.hover();
    await target.hover({ position: { x: 12, y: 12 } });
    await page.mouse.up();
  };
  const names = () => { const a = window.knuckle; a.draw(); return a.charts.charts.find((c: { spec: { title: string } }) => c.spec.title === 'Residual').csvText().split('\n')[0] as string; };
  await drag('Residual');
  await page.waitForFunction(() => { const a = window.knuckle; a.draw(); return a.charts.charts.find((c: { spec: { title: string } }) => c.spec.title === 'Residual').csvText().startsWith('t,residual,penetration'); }, null, { timeout: 20000 });
  assert.equal(await page.evaluate(names), 't,residual,penetration');
  assert.equal(await count(), before);
  await drag('Energy'); // a stack takes nothing in: a chart of its own
  await page.waitForFunction((n) => window.knuckle.charts.charts.length > n, before, { timeout: 20000 });
  assert.equal(await count(), before + 1);
});

test('another μ, run again in the page beside the run before: the native hash, a ghost, the difference', async () => {
  await page.getByRole('button', { name: 'keep the run before' }).click();
  await page.getByLabel('friction μ').fill('0.1');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => window.knuckle.session.recipe.words.includes('--mu') && window.knuckle.session.complete);
  const got = await page.evaluate(() => {
    const a = window.knuckle, s = a.session;
    a.setPlaying(false);
    a.seek(0.5);
    a.draw();
    return { hash: s.hashAt(s.history.find(0.5)) as string, ghost: a.other !== null && a.ghost.group.children.length > 0, charts: [...document.querySelectorAll('.chart h3')].map((h) => h.textContent) };
  });
  const r = JSON.parse(spawnSync(knuckle, ['run', 'pendulum-2014', '--mu', '0.1', '--time', '0.5', '--json', '--quiet'], { encoding: 'utf8' }).stdout) as { state_hash: string };
  assert.equal(got.hash, r.state_hash);
  assert.ok(got.ghost && got.charts.includes('Difference'), got.charts.join());
});

test('arrows and cones are drawn where the numbers say, and nowhere else', async () => {
  await page.evaluate(() => {
    const a = window.knuckle;
    a.keepPrevious = false;
    a.openWords(['quadruped']);
    a.setPlaying(false);
    a.session.takeOver();
    while (a.session.history.end < 0.1) a.session.advance(50, 0.1);
    a.contacts.measure(a.session);
    a.fit();
    a.seek(0.1);
    a.draw();
  });
  const arrows = await layerPixels(page, 'normal');
  assert.equal(arrows.mids.length, 4);
  for (const m of arrows.mids) assert.ok(m.changed > 24, `nothing drawn at ${m.x.toFixed(0)}, ${m.y.toFixed(0)}`);
  assert.ok(arrows.far <= 0.01 * arrows.all, `${arrows.far} of ${arrows.all} changed pixels are away from every arrow`);
  const cones = await conePixels(page);
  assert.equal(cones.cones.length, 4);
  for (const c of cones.cones) assert.ok(c.inside > 10, JSON.stringify(c));
  assert.ok(cones.all > 200 && cones.far === 0, `${cones.far} of ${cones.all} changed pixels are away from every cone`);
});

/** Files dropped on the picture. */
async function drop(files: { name: string; bytes: Buffer }[]): Promise<void> {
  const data = await page.evaluateHandle((list) => {
    const d = new DataTransfer();
    for (const f of list) d.items.add(new File([Uint8Array.from(atob(f.base64), (c) => c.charCodeAt(0))], f.name));
    return d;
  }, files.map((f) => ({ name: f.name, base64: f.bytes.toString('base64') })));
  await page.dispatchEvent('main', 'drop', { dataTransfer: data });
}

test('dropped: an MJCF with a mesh, a URDF with a mesh, a recording', async () => {
  const corners = [[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.4]], obj = Buffer.from(`${corners.map((c) => `v ${c.join(' ')}`).join('\n')}\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n`);
  const mjcf = '<mujoco><asset><mesh name="m" file="wedge.obj"/></asset><worldbody><geom type="plane" size="5 5 .1"/><body name="wedge" pos="0 0 1"><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>';
  const urdf = '<robot name="r"><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial><visual><geometry><mesh filename="wedge.obj"/></geometry></visual><collision><geometry><box size=".1 .1 .1"/></geometry></collision></link></robot>';
  const named = (name: string) => page.waitForFunction((n) => window.knuckle.session.model.bodies.some((b: { name: string }) => b.name === n), name);
  await drop([{ name: 'robot.xml', bytes: Buffer.from(mjcf) }, { name: 'wedge.obj', bytes: obj }]);
  await named('wedge');
  await drop([{ name: 'robot.urdf', bytes: Buffer.from(urdf) }, { name: 'wedge.obj', bytes: obj }]);
  await named('arm');
  const triangles = await page.evaluate(() => { const s = window.knuckle.session, t = s.engine.visualMesh(s.model.visuals.findIndex((v: { mesh: unknown }) => v.mesh)); return t.triangles.length / 3; });
  assert.equal(triangles, 4);
  await drop([{ name: 'robot.urdf', bytes: Buffer.from(urdf) }]); // and without its mesh: a note or a sentence, never a blank page
  await page.waitForFunction(() => /1 mesh cannot be shown/.test(document.querySelector('.toast.bad')?.textContent ?? '') && document.querySelector('.right')!.textContent!.includes('Notes on the file (1)'));
  const run = join(folder, 'dropped.mcap');
  execFileSync(knuckle, ['run', 'bouncing-ball', '--time', '0.2', '-o', run, '--quiet']);
  await drop([{ name: 'dropped.mcap', bytes: readFileSync(run) }]);
  await page.waitForFunction(() => window.knuckle.session.recorded && window.knuckle.session.complete);
  assert.equal(await page.evaluate(() => window.knuckle.session.history.count), 200);
});

test('a bad file is a sentence in the page; nothing was said on the console', async () => {
  await page.setInputFiles('#files', { name: '<img src=x onerror=alert(1)>.xml', mimeType: 'text/xml', buffer: Buffer.from('<mujoco><worldbody><geom type="sphere" size="-1"/></worldbody></mujoco>') });
  await page.waitForFunction(() => document.querySelector('.toast.bad')?.textContent?.includes(':1:'));
  assert.equal(await page.locator('#toasts img').count(), 0);
  assert.deepEqual(said, []);
});

test('the page of a sweep: a click on a case replays it, with the numbers of its row', async () => {
  const study = join(folder, 'swing.yaml');
  writeFileSync(study, 'scene: pendulum-2014\nduration: 0.2\nsweep:\n  method: list\n  vary:\n    mu: {field: option.mu, values: [0.1, 0.4, 0.8]}\n    links: {field: set.links, values: [3, 4, 5]}\n  outputs:\n    end: final(t)\n    e: final(energy.total)\n');
  execFileSync(knuckle, ['sweep', study, '--quiet']);
  const row = readFileSync(join(folder, 'swing.sweep/results.csv'), 'utf8').split('\n')[2]!.split(',');
  const server = spawn(knuckle, ['view', study, '--sweep', join(folder, 'swing.sweep'), '--no-browser', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const { url } = await new Promise<{ url: string }>((ok, bad) => { server.stdout.once('data', (d: Buffer) => ok(JSON.parse(d.toString()) as { url: string })); server.once('exit', () => bad(new Error('the server ended'))); });
    const p = await browser.newPage();
    await p.goto(url);
    await p.locator('#rows tbody tr').nth(1).click();
    const [replay] = await Promise.all([p.waitForEvent('popup'), p.getByText('Replay it here').click()]);
    await replay.waitForFunction(() => document.documentElement.dataset['ready'] && window.knuckle.session.complete, null, { timeout: 60000 });
    const seen = await replay.evaluate(() => { const s = window.knuckle.session; return { hash: s.hashAt(s.history.count - 1), end: s.history.end, bodies: s.model.bodies?.length ?? s.model.links?.length }; });
    assert.equal(seen.bodies, 4); // the links of case 1
    const words = ['run', study, '--case', '1', '--json', '--quiet'], run = (...more: string[]) => (JSON.parse(spawnSync(knuckle, [...words, ...more], { encoding: 'utf8' }).stdout) as { state_hash: string }).state_hash;
    assert.equal(run(), row[4]);
    assert.equal(seen.hash, run('--time', String(seen.end))); // the last of the 60 pictures in a second
    await p.close();
    await replay.close();
  } finally { server.kill('SIGINT'); }
});
