// Simulating and reading away from the page: a worker holds a session of its own and hands its rows over, so that a long
// run fills the page's history while the page only draws. The worker's script is inside the page (build.mjs).
import source from 'feed:worker';
import type { Fed, Session } from './session.ts';

export interface Order { module: WebAssembly.Module; words: string[]; files: { path: string; bytes: Uint8Array }[]; duration: number | undefined; checks: { at: number; hash: string }[] }

/** Lets a worker do the rest of a run; `grown` is called with every part that came. Where there are no workers nothing
    changes: the page does it by itself. */
export function feed(session: Session, module: WebAssembly.Module, grown: () => void): void {
  if (!source || typeof Worker === 'undefined' || session.complete || session.touched) return;
  let worker: Worker;
  try {
    const url = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
    worker = new Worker(url);
    URL.revokeObjectURL(url);
  } catch { return; }
  session.feedFrom({ stop: () => worker.terminate() });
  worker.onmessage = (e: MessageEvent<Fed>) => {
    session.receive(e.data);
    worker.postMessage(null); // the next part, please
    grown();
  };
  worker.onerror = (e) => { e.preventDefault(); session.takeOver(); grown(); };
  const { words, files, duration } = session.recipe;
  const order: Order = { module, words: session.verdicts ? words : [...words, '--no-verdict'], files, duration, checks: session.checks };
  worker.postMessage(order);
}
