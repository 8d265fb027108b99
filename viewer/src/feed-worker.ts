// Inside the worker of feed.ts: a session whose rows are handed to the page part by part.
import type { Order } from './feed.ts';
import { Session } from './session.ts';

const PART = 40; // ms of work per part
const AHEAD = 2; // parts the page need not have answered
const page = self as unknown as { postMessage: (x: unknown, move: Transferable[]) => void; onmessage: ((e: MessageEvent<Order | null>) => void) | null };

let session: Session | null = null, open = 0;

function work(): void {
  while (session && open < AHEAD) {
    session.advance(PART);
    const f = session.hand();
    open++;
    page.postMessage(f, [f.batch.rows.buffer as ArrayBuffer, f.batch.contacts.buffer as ArrayBuffer, f.batch.counts.buffer as ArrayBuffer]);
    if (f.complete) session = null;
  }
}

page.onmessage = (e) => {
  if (e.data) {
    const { module, words, files, duration, checks } = e.data;
    session = new Session(module, { words, files, ...(duration !== undefined ? { duration } : {}) });
    session.checks = checks;
  } else open--;
  work();
};
