// How a long recording behaves in the page: node test/long.mjs RUN.mcap. Prints when the page is there, when the whole run is, its
// memory, and how scrubbing goes. Too long for a test: docs/viewer.md has the figures of ten minutes of a humanoid.
import { spawn } from 'node:child_process';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { launch, openViewer } from './browser.mjs';

const knuckle = join(new URL('../..', import.meta.url).pathname, 'build/knuckle');
const server = spawn(knuckle, ['view', process.argv[2], '--no-browser', '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((ok, bad) => { server.stdout.once('data', (d) => ok(JSON.parse(d.toString()).url)); server.once('exit', () => bad(new Error('the server ended'))); });
const browser = await launch(), start = performance.now(), since = () => `${((performance.now() - start) / 1000).toFixed(1)} s`;
try {
  const { page, said } = await openViewer(browser, { url, width: 1200, height: 760 });
  console.log(`the first picture after ${since()}`);
  await page.waitForFunction(() => window.knuckle.session.complete, null, { timeout: 600000, polling: 500 });
  const r = await page.evaluate(() => { const s = window.knuckle.session; return { end: s.history.end, rows: s.history.count, stride: s.history.stride, bytes: s.history.bytes, heap: performance.memory.usedJSHeapSize, failure: s.failure }; });
  console.log(`${r.end.toFixed(1)} s of the run after ${since()}: ${r.rows} rows, every ${r.stride}th step, ${(r.bytes / 1e6).toFixed(0)} MB of rows, ${(r.heap / 1e6).toFixed(0)} MB in the page ${r.failure}`);
  // Processor time of the main thread: what other programs take of the machine does not count.
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Performance.enable', { timeDomain: 'threadTicks' });
  const busy = async () => 1000 * (await cdp.send('Performance.getMetrics')).metrics.find((m) => m.name === 'TaskDuration').value;
  const scrub = () => page.evaluate(async () => {
    const a = window.knuckle;
    a.setPlaying(false);
    const from = a.frames, t0 = performance.now();
    while (performance.now() - t0 < 4000) { a.seek(a.session.history.end * Math.random()); await new Promise(requestAnimationFrame); }
    return a.frames - from;
  });
  await scrub(); // shaders are compiled, charts filled
  const before = await busy(), frames = await scrub();
  console.log(`scrubbing: ${(frames / 4).toFixed(1)} frames/s, ${(((await busy()) - before) / frames).toFixed(1)} ms of the main thread each (load of the machine ${loadavg()[0].toFixed(1)})`);
  if (said.length) console.log(said);
} finally {
  await browser.close();
  server.kill('SIGINT');
}
