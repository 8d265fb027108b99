// A run that `knuckle view` simulates itself and streams to the page (cli/view_native.c): rows like those of a worker, made by
// the same code, natively. Verdicts do not come along; the page judges an instant when asked.
import type { HistoryEvent } from './history.ts';
import type { Fed, Session } from './session.ts';

/** What a part says in words; its numbers follow: rows, contacts, one state where state_step >= 0. */
interface Told { events: (number | string)[][]; counts: string; state_step: number; failure: string; complete: boolean }

/** Bytes of a stream, asked for in exact lengths. */
class Reader {
  private readonly from: ReadableStreamDefaultReader<Uint8Array>;
  private have: Uint8Array[] = [];
  private size = 0;
  constructor(from: ReadableStreamDefaultReader<Uint8Array>) { this.from = from; }

  /** The next n bytes; null when the stream ended before them. */
  async take(n: number): Promise<Uint8Array | null> {
    while (this.size < n) {
      const { value, done } = await this.from.read();
      if (done) return null;
      this.have.push(value);
      this.size += value.length;
    }
    const out = new Uint8Array(n);
    for (let at = 0; at < n;) {
      const first = this.have[0], part = first.subarray(0, n - at);
      out.set(part, at);
      at += part.length;
      if (part.length === first.length) this.have.shift();
      else this.have[0] = first.subarray(part.length);
    }
    this.size -= n;
    return out;
  }
}

function event(x: (number | string)[]): HistoryEvent {
  const n = x.slice(0, 9).map(Number);
  return { t: n[0], kind: n[1], geomA: n[2], geomB: n[3], joint: n[4], value: n[5], after: n[6], at: n[7], step: n[8], text: String(x[9]) };
}

function part(told: Told, bytes: Uint8Array, width: number): Fed {
  const counts = Uint32Array.from(told.counts ? told.counts.split(',').map(Number) : []), rows = counts.length * width, contacts = counts.reduce((a, b) => a + b, 0);
  const numbers = new Float64Array(bytes.buffer, 0, rows + contacts), state = bytes.subarray(8 * (rows + contacts));
  return {
    batch: { rows: numbers.subarray(0, rows), contacts: numbers.subarray(rows), counts, events: told.events.map(event) },
    keyframes: told.state_step >= 0 && state.length ? [{ step: told.state_step, t: counts.length ? numbers[rows - width] : 0, bytes: state.slice() }] : [],
    verdicts: false, failure: told.failure, checked: 0, mismatch: null, complete: told.complete,
  };
}

async function listen(session: Session, answer: Response, grown: () => void): Promise<void> {
  if (!answer.ok || !answer.body) throw new Error(`the server answered ${answer.status}`);
  const reader = new Reader(answer.body.getReader());
  for (;;) {
    const head = await reader.take(8);
    if (!head) throw new Error('the stream ended early');
    const [words, numbers] = new Uint32Array(head.buffer), text = await reader.take(words), bytes = await reader.take(numbers);
    if (!text || !bytes) throw new Error('the stream ended early');
    const fed = part(JSON.parse(new TextDecoder().decode(text)) as Told, bytes, session.history.width);
    session.receive(fed);
    grown();
    if (fed.complete || !session.fed) return;
  }
}

/** Lets the program behind the page do the run; where it fails, the page goes on by itself from what it has. */
export function feedNative(session: Session, url: string, grown: () => void): void {
  const stop = new AbortController(), words = [...session.recipe.words, '--no-verdict'];
  session.feedFrom({ stop: () => stop.abort() });
  session.verdicts = false;
  fetch(url, { method: 'POST', body: [session.duration, ...words].join('\n'), signal: stop.signal })
    .then((answer) => listen(session, answer, grown))
    .catch(() => { if (session.fed && !session.complete) { session.takeOver(); grown(); } });
}
