// A real Chromium (Debian's) for tests and pictures.
import { chromium } from 'playwright-core';
import { execFileSync } from 'node:child_process';

const PAGE = new URL('../dist/view.html', import.meta.url).href;

export function chromiumPath() { return process.env.KN_CHROMIUM ?? execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim(); }

export async function launch() {
  return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--hide-scrollbars'] });
}

/** A page with the viewer, and what it said on the console. */
export async function openViewer(browser, { query = '', width = 1440, height = 900, url = PAGE } = {}) {
  const page = await browser.newPage({ viewport: { width, height } });
  page.setDefaultTimeout(Number(process.env.KN_PATIENCE ?? 180) * 1000); // a loaded machine is slow, not wrong
  const said = [];
  page.on('console', (m) => { if (m.type() === 'error' || m.type() === 'warning') said.push(`${m.type()}: ${m.text()}`); });
  page.on('pageerror', (e) => said.push(`exception: ${e.message}`));
  await page.goto(url + query);
  await page.waitForFunction(() => document.documentElement.dataset.ready, null, { timeout: 120000 });
  return { page, said };
}
