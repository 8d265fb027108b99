// Pictures for the command line (knuckle view --screenshot, --video): the page stands still, and shows the frame it is asked
// for. Frame i is the run at time + i speed / rate, whatever the machine's own clock says: the same film every time.
import type { App } from './app.ts';
import { el } from './dom.ts';
import { seconds } from './format.ts';
import type { Shot } from './payload.ts';

declare global { interface Window { knuckleReady: () => Promise<string>; knuckleFrame: (i: number) => Promise<string> } }

const PART = 200; // ms of simulating between two looks at the messages

/** "ok", or why there is nothing to be seen. */
function state(app: App): string {
  const message = document.getElementById('message');
  if (app.session) return app.session.failure || 'ok';
  return message?.textContent || 'nothing was opened';
}

/** Two frames of the browser: what was drawn last is on the screen. */
function shown(): Promise<void> { return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done()))); }

export function shoot(app: App, shot: Shot, view: HTMLElement): void {
  const film = shot.until !== undefined, stamp = el('div', { class: 'stamp' });
  if (film) view.append(stamp);
  window.knuckleReady = async () => {
    const s = app.session, until = shot.until ?? shot.time;
    if (!s) return state(app);
    while (!s.complete && s.history.end < until) { s.advance(PART, s.recorded ? Infinity : until); await new Promise((done) => setTimeout(done)); }
    app.contacts.measure(s);
    app.fit();
    // The speed of a film says how long an impact is seen after it happened.
    app.speed = shot.speed ?? 1;
    app.playing = film;
    return state(app) === 'ok' || s.history.end >= shot.time ? 'ok' : state(app);
  };
  window.knuckleFrame = async (i) => {
    if (!app.session) return state(app);
    app.seek(shot.time + (i * (shot.speed ?? 1)) / (shot.rate ?? 1));
    stamp.textContent = `${seconds(app.time, app.session.dt)}${shot.speed !== undefined && shot.speed !== 1 ? `, ${shot.speed} × real time` : ''}`;
    app.capture();
    await shown();
    return 'ok';
  };
}
