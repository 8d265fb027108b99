// One file: viewer/dist/view.html with the scripts, the styles and the engine inside. `knuckle view` puts a run where
// the empty <script id="run"> is. And viewer/dist/playground/index.html: the same with the chapters of playground.json.
import { build } from 'esbuild';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';

const common = { bundle: true, write: false, minify: true, format: 'iife', target: 'es2022', charset: 'utf8', legalComments: 'none' };
const worker = await build({ ...common, entryPoints: ['src/feed-worker.ts'] });
// import source from 'feed:worker': the worker's script as text
const inside = {
  name: 'worker',
  setup(b) {
    b.onResolve({ filter: /^feed:worker$/ }, () => ({ path: 'worker', namespace: 'feed' }));
    b.onLoad({ filter: /.*/, namespace: 'feed' }, () => ({ contents: worker.outputFiles[0].text, loader: 'text' }));
  },
};
const result = await build({ ...common, entryPoints: ['src/main.ts'], loader: { '.gz': 'base64', '.css': 'text' }, plugins: [inside] });
const script = result.outputFiles[0].text.replaceAll('</script', '<\\/script');
const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self' data:; worker-src blob:; base-uri 'none'; form-action 'none'";
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Knuckle</title>
<link rel="icon" href="data:,">
</head>
<body style="margin:0;font:15px system-ui,sans-serif;background:#eef1f4">
<p style="position:absolute;inset:0;margin:0;display:grid;place-items:center;color:#5d6877">Knuckle</p>
<script id="run" type="application/json"></script>
<script>${script}</script>
</body>
</html>
`;
mkdirSync('dist', { recursive: true });
writeFileSync('dist/view.html', page);
console.log(`viewer/dist/view.html: ${(page.length / 1e6).toFixed(2)} MB`);
const tour = JSON.stringify({ tour: JSON.parse(readFileSync('playground.json', 'utf8')) }).replaceAll('<', '\\u003c');
mkdirSync('dist/playground', { recursive: true });
writeFileSync('dist/playground/index.html', page.replace('type="application/json">', () => `type="application/json">${tour}`));
