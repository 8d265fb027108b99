// Files from the user: dropped files and folders, or chosen by a dialog. They stay in the page.
import type { FileIn, Recipe } from './session.ts';

const MODEL = /\.(xml|urdf|mjcf)$/i, RUN = /\.mcap$/i;
const MAX_BYTES = 1.5e9;

async function walk(entry: FileSystemEntry, path: string, out: FileIn[]): Promise<void> {
  const name = `${path}/${entry.name}`;
  if (entry.isFile) {
    const file = await new Promise<File>((ok, bad) => (entry as FileSystemFileEntry).file(ok, bad));
    out.push({ path: name, bytes: new Uint8Array(await file.arrayBuffer()) });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((ok, bad) => reader.readEntries(ok, bad));
    if (part.length === 0) return;
    for (const e of part) await walk(e, name, out);
  }
}

export async function filesOf(data: DataTransfer): Promise<FileIn[]> {
  const entries = [...data.items].map((i) => i.webkitGetAsEntry?.()).filter((e): e is FileSystemEntry => !!e);
  const out: FileIn[] = [];
  if (entries.length) for (const e of entries) await walk(e, '', out);
  else for (const f of data.files) out.push({ path: `/${f.name}`, bytes: new Uint8Array(await f.arrayBuffer()) });
  return out;
}

export async function filesOfInput(list: FileList): Promise<FileIn[]> {
  return Promise.all([...list].map(async (f) => ({ path: `/${f.webkitRelativePath || f.name}`, bytes: new Uint8Array(await f.arrayBuffer()) })));
}

/** What a model of these files is most likely: not one that another includes, and rather the one called scene. */
export function mainFile(files: FileIn[]): FileIn | undefined {
  const run = files.find((f) => RUN.test(f.path));
  if (run) return run;
  const models = files.filter((f) => MODEL.test(f.path));
  const text = (f: FileIn) => new TextDecoder().decode(f.bytes.subarray(0, 2e6));
  const roots = models.filter((f) => /<(mujoco|robot)[\s>]/.test(text(f)));
  const base = (f: FileIn) => f.path.split('/').pop()!;
  const included = new Set(roots.flatMap((f) => [...text(f).matchAll(/<include\s[^>]*file\s*=\s*"([^"]+)"/g)].map((m) => m[1].split('/').pop()!)));
  const free = roots.filter((f) => !included.has(base(f)));
  const depth = (f: FileIn) => f.path.split('/').length;
  const pick = (free.length ? free : roots).sort((a, b) => depth(a) - depth(b) || Number(/scene/.test(base(b))) - Number(/scene/.test(base(a))) || a.path.length - b.path.length);
  return pick[0];
}

/** Meshes that a URDF names by package (package://robots/arm/link.stl) under that name too, where a folder inside the package was
    dropped: the file that ends like it. */
export function packaged(main: FileIn, files: FileIn[]): FileIn[] {
  const out: FileIn[] = [], known = new Set(files.map((f) => f.path));
  if (!/\.urdf$/i.test(main.path)) return out;
  for (const [, rest] of new TextDecoder().decode(main.bytes).matchAll(/(?:package|model):\/\/\/?([^"'<>]+)/g)) {
    const path = `/${rest}`, parts = rest.split('/');
    for (let k = 0; k < parts.length && !known.has(path); k++) {
      const end = `/${parts.slice(k).join('/')}`, like = files.find((f) => f.path.endsWith(end));
      if (like) { out.push({ path, bytes: like.bytes }); known.add(path); }
    }
  }
  return out;
}

/** A recipe of what was given; throws a sentence. */
export function recipeOf(files: FileIn[]): Recipe {
  if (files.reduce((n, f) => n + f.bytes.length, 0) > MAX_BYTES) throw new Error('these files are larger than 1.5 GB, more than a page can hold');
  const main = mainFile(files);
  if (!main) throw new Error(`no model or recording among ${files.length === 1 ? files[0].path.slice(1) : `${files.length} files`}: expected .xml (MJCF), .urdf or .mcap`);
  if (main.bytes.length === 0) throw new Error(`${main.path.slice(1)} is empty`);
  const words = [main.path];
  return { words, files: [...files, ...packaged(main, files)] };
}
