// What `make test` asks of the page: one file opened from file:// in a real Chromium, and a user's way through it. The rest
// is in page.test.ts (make viewer-test).
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { launch, openViewer } from './browser.mjs';

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
});

test('another μ, run again in the page beside the run before: the native hash', async () => {
  const got = await page.evaluate(async () => {
    const a = window.knuckle;
    a.keepPrevious = true;
    a.openWords(['pendulum-2014', '--mu', '0.1']);
    a.setPlaying(false);
    a.session.duration = 0.5;
    while (a.session.history.end < 0.4999) a.session.advance(50, 0.5);
    a.seek(0.5);
    a.draw();
    return [a.session.hashAt(a.session.history.find(0.5)), a.other !== null];
  });
  const r = JSON.parse(spawnSync(knuckle, ['run', 'pendulum-2014', '--mu', '0.1', '--time', '0.5', '--json', '--quiet'], { encoding: 'utf8' }).stdout) as { state_hash: string };
  assert.deepEqual(got, [r.state_hash, true]);
});

test('a bad file is a sentence in the page; nothing was said on the console', async () => {
  await page.setInputFiles('#files', { name: '<img src=x onerror=alert(1)>.xml', mimeType: 'text/xml', buffer: Buffer.from('<mujoco><worldbody><geom type="sphere" size="-1"/></worldbody></mujoco>') });
  await page.waitForFunction(() => document.querySelector('.toast.bad')?.textContent?.includes(':1:'));
  assert.equal(await page.locator('#toasts img').count(), 0);
  assert.deepEqual(said, []);
});
