// What the page was given: a recipe put into it by `knuckle view --html`, or addresses of the local server's files.
import type { Check, FileIn, Recipe } from './session.ts';
import type { TourBook } from './tour.ts';

export interface Payload { recipe: Recipe | null; checks: Check[]; shot?: Shot; tour?: TourBook; native?: string; problem?: string }
/** Only the picture: of one instant, or of many one after the other until a later one (knuckle view --video). */
export interface Shot { time: number; until?: number; rate?: number; speed?: number }

interface Written {
  words?: string[];
  files?: { path: string; gzip?: string; url?: string }[];
  checks?: [number, string][];
  duration?: number;
  shot?: Shot;
  tour?: TourBook;
  native?: string;
}

export function fromBase64(text: string): Uint8Array {
  const s = atob(text), out = new Uint8Array(s.length);
  for (let i = 0; i < s.length; i++) out[i] = s.charCodeAt(i);
  return out;
}

export async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function fileOf(f: { path: string; gzip?: string; url?: string }): Promise<FileIn> {
  if (f.gzip !== undefined) return { path: f.path, bytes: await unpack(fromBase64(f.gzip)) };
  const answer = await fetch(f.url ?? '');
  if (!answer.ok) throw new Error(`${f.path}: the server answered ${answer.status}`);
  return { path: f.path, bytes: new Uint8Array(await answer.arrayBuffer()) };
}

/** From the text of <script id="run" type="application/json">; null when the page was given nothing. */
export async function readPayload(text: string): Promise<Payload | null> {
  if (!text) return null;
  try {
    const w = JSON.parse(text) as Written;
    const files = await Promise.all((w.files ?? []).map(fileOf));
    const recipe: Recipe | null = w.words ? { words: w.words.map(String), files, ...(w.duration !== undefined ? { duration: w.duration } : {}) } : null;
    const out: Payload = { recipe, checks: (w.checks ?? []).map(([at, hash]) => ({ at, hash })) };
    if (w.shot) out.shot = w.shot;
    if (w.tour) out.tour = w.tour;
    if (w.native) out.native = w.native;
    return out;
  } catch (e) {
    return { recipe: null, checks: [], problem: `What was put into this page is damaged: ${e instanceof Error ? e.message : String(e)}` };
  }
}
