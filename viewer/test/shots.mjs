// Pictures of the page for the docs: node test/shots.mjs [FOLDER [NAME…]]. Each is a scene or a model at an instant.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { launch, openViewer } from './browser.mjs';

const root = new URL('../..', import.meta.url).pathname;
const knuckle = [join(root, 'build/knuckle'), join(root, 'build-dev/knuckle')].find(existsSync);
const models = join(root, '../shared/data/models');
const robot = (path, ...more) => [join(models, path), ...more];

export const SHOTS = [
  { name: 'pendulum', words: ['pendulum-2014'], time: 4, impact: 0, theme: 'light', layers: ['values', 'cones'], select: 'contact' },
  { name: 'quadruped', words: ['quadruped'], time: 1, at: 0.6, theme: 'dark', layers: ['cones', 'values', 'support'] },
  { name: 'stack', words: ['stack'], time: 1, at: 0.8, theme: 'light', layers: [] },
  { name: 'incline', words: ['incline'], time: 1, at: 0.5, theme: 'light', layers: ['cones', 'values'], select: 'contact', opacity: 0.45 },
  { name: 'grasp', words: ['grasp-3d'], time: 1, at: 0.55, theme: 'dark', layers: ['cones'] },
  { name: 'dominoes', words: ['dominoes'], time: 1.2, at: 0.62, theme: 'light', layers: [] },
  { name: 'wall', words: ['wall'], time: 0.5, at: 0.4, theme: 'dark', layers: [] },
  { name: 'four-bar', words: ['four-bar'], time: 3, at: 1.1, theme: 'light', layers: ['joints', 'path', 'com'] },
  { name: 'compare', words: ['pendulum-2014'], time: 2, at: 0.9, theme: 'light', layers: [], compare: ['pendulum-2014', '--restitution', '0.9'] },
  { name: 'talos', words: robot('mjcf/pal_talos/scene_motor.xml'), time: 0.5, at: 0.4, theme: 'light', layers: ['cones', 'support'], robot: true },
  { name: 'cassie', words: robot('mjcf/agility_cassie/scene.xml'), time: 0.4, at: 0.3, theme: 'dark', layers: [], robot: true },
  { name: 'allegro', words: robot('mjcf/wonik_allegro/scene_right.xml'), time: 0.4, at: 0.3, theme: 'light', layers: [], robot: true },
  { name: 'iiwa', words: robot('mjcf/kuka_iiwa_14/scene.xml'), time: 0.4, at: 0.3, theme: 'light', layers: ['joints'], robot: true },
  { name: 'low-cost-arm', words: robot('mjcf/low_cost_robot_arm/scene.xml'), time: 0.4, at: 0.3, theme: 'dark', layers: ['frames'], robot: true },
];

async function take(browser, shot, folder, out) {
  const page = join(folder, `${shot.name}.html`);
  execFileSync(knuckle, ['view', ...shot.words, '--time', String(shot.time), '--engine', 'page', '--html', page, '--quiet'], { stdio: ['ignore', 'ignore', 'inherit'] });
  const o = await openViewer(browser, { url: `file://${page}`, query: `?quality=high&theme=${shot.theme}`, width: 1200, height: 750 });
  const whole = () => o.page.waitForFunction(() => window.knuckle.session.complete, null, { timeout: 300000 });
  await o.page.evaluate(() => window.knuckle.setPlaying(false));
  await whole();
  const other = await o.page.evaluate((s) => {
    const a = window.knuckle, { mismatch } = a.session;
    if (s.compare) { a.keepPrevious = true; a.openWords(s.compare); }
    return mismatch;
  }, shot);
  if (shot.compare) await whole();
  await o.page.evaluate((s) => {
    const a = window.knuckle;
    for (const l of s.layers) a.setLayer(l, true);
    if (s.opacity) a.stage.setOpacity(s.opacity);
    a.contacts.measure(a.session);
    a.fit();
    const hits = a.session.history.events.filter((e) => a.catalogue.events[e.kind] === 'impact');
    a.seek(s.impact === undefined ? s.at : hits[s.impact].at);
    a.draw();
    if (s.select === 'contact' && a.contacts.shown[0]) { const c = a.contacts.shown[0]; a.select({ body: null, geom: -1, contact: `${c.geomA} ${c.geomB} ${c.index}` }); }
    document.getElementById('toasts').replaceChildren();
  }, shot);
  if (other) throw new Error(`${shot.name}: the page's engine is not that of ${knuckle}: step ${other.at} is another (make viewer, make)`);
  await o.page.waitForTimeout(1500);
  await o.page.evaluate(() => window.knuckle.draw());
  await o.page.screenshot({ path: join(out, `${shot.name}.png`), timeout: 180000 });
  execFileSync('pngquant', ['--force', '--ext', '.png', '--speed', '1', '256', join(out, `${shot.name}.png`)]);
  if (o.said.length) console.log(shot.name, o.said);
  await o.page.close();
}

const out = resolve(root, process.argv[2] ?? 'docs/pictures/viewer'), wanted = process.argv.slice(3);
mkdirSync(out, { recursive: true });
const folder = mkdtempSync(join(tmpdir(), 'knuckle-shots-'));
const browser = await launch();
try {
  for (const s of SHOTS) {
    if (wanted.length ? !wanted.includes(s.name) : s.robot) continue;
    if (s.robot && !existsSync(s.words[0])) { console.log(`${s.words[0]} is not here: left out`); continue; }
    await take(browser, s, folder, out);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
