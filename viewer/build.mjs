// One file: viewer/dist/view.html with the scripts, the styles and the engine inside. `knuckle view` puts a run where
// the empty <script id="run"> is.
import { build } from 'esbuild';
import { mkdirSync, writeFileSync } from 'node:fs';

const result = await build({
  entryPoints: ['src/main.ts'], bundle: true, write: false, minify: true, format: 'iife', target: 'es2022', charset: 'utf8', legalComments: 'none',
  loader: { '.gz': 'base64', '.css': 'text' },
});
const script = result.outputFiles[0].text.replaceAll('</script', '<\\/script');
const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self' data:; base-uri 'none'; form-action 'none'";
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Knuckle</title>
<link rel="icon" href="data:,">
</head>
<body>
<script id="run" type="application/json"></script>
<script>${script}</script>
</body>
</html>
`;
mkdirSync('dist', { recursive: true });
writeFileSync('dist/view.html', page);
console.log(`viewer/dist/view.html: ${(page.length / 1e6).toFixed(2)} MB`);
