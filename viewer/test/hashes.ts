// The engine as WebAssembly on the runs of test/golden/hashes.txt, for scripts/hashes.sh: reads lines "hash steps run",
// prints them with the hash this engine ends with; "-" where a mesh needs a library that is not in it.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Engine, EngineError } from '../engine/engine.ts';

const wasm = new WebAssembly.Module(readFileSync(new URL('../engine/dist/knuckle.wasm', import.meta.url)));

/** Everything below the model's folder; of a package of URDFs, below the folder of all its packages. */
function addModel(e: Engine, path: string): void {
  const root = path.endsWith('.urdf') ? dirname(dirname(dirname(path))) : dirname(path);
  const name = path.endsWith('.urdf') ? path.slice(root.length + 1).split('/')[0] : '';
  for (const f of readdirSync(join(root, name), { recursive: true, withFileTypes: true }))
    if (f.isFile()) e.addFile(join(f.parentPath, f.name), readFileSync(join(f.parentPath, f.name)));
}

for (const line of readFileSync(0, 'utf8').trim().split('\n')) {
  const [, steps, ...words] = line.split(' '), time = words.indexOf('--time');
  words.splice(time, 2); // the engine is told how many steps
  let hash = '';
  try {
    const e = new Engine(wasm);
    if (words[0].startsWith('/')) addModel(e, words[0]);
    e.open([...words, '--no-verdict']);
    e.stepMany(Number(steps));
    hash = e.wasi.takeErrors().includes('need assimp') || JSON.stringify(e.model).includes('need assimp') ? '-' : e.hash();
  } catch (error) {
    if (!(error instanceof EngineError)) throw error;
    hash = error.message.replaceAll(' ', '_');
  }
  console.log(hash, steps, line.split(' ').slice(2).join(' '));
}
