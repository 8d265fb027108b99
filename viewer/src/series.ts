// Numbers of a run for drawing: at most a few points per pixel, and none of the peaks lost.
import type { Quantity } from './quantities.ts';
import type { Session } from './session.ts';

export interface Drawn { t: number[]; y: (number | null)[][] }

const finite = (x: number): number | null => (Number.isFinite(x) ? x : null);

/** Every quantity at every row, or (many rows) each bucket's least and greatest value. */
export function sample(s: Session, list: Quantity[], buckets: number, from = 0, to = s.history.count): Drawn {
  const n = to - from, out: Drawn = { t: [], y: list.map(() => []) };
  if (n <= 2 * buckets) {
    for (let i = from; i < to; i++) {
      out.t.push(s.history.time(i));
      list.forEach((q, k) => out.y[k].push(finite(q.value(s, i))));
    }
    return out;
  }
  for (let b = 0; b < buckets; b++) {
    const lo = from + Math.floor((b * n) / buckets), hi = from + Math.floor(((b + 1) * n) / buckets), mid = (lo + hi) >> 1;
    out.t.push(s.history.time(lo), s.history.time(mid));
    list.forEach((q, k) => {
      let least = Infinity, most = -Infinity, leastAt = lo, mostAt = lo;
      for (let i = lo; i < hi; i++) {
        const x = q.value(s, i);
        if (x < least) { least = x; leastAt = i; }
        if (x > most) { most = x; mostAt = i; }
      }
      const pair = leastAt <= mostAt ? [least, most] : [most, least];
      out.y[k].push(finite(pair[0]), finite(pair[1]));
    });
  }
  return out;
}

export function csv(s: Session, list: Quantity[]): string {
  const quote = (x: string) => (/[",\n]/.test(x) ? `"${x.replaceAll('"', '""')}"` : x);
  const lines = [['t', ...list.map((q) => q.name)].map(quote).join(',')];
  for (let i = 0; i < s.history.count; i++) lines.push([s.history.time(i), ...list.map((q) => q.value(s, i))].map(String).join(','));
  return lines.join('\n') + '\n';
}

const escape = (x: string) => x.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

/** A plain picture of the curves with axes, as text. */
export function svg(title: string, data: Drawn, names: string[], units: string[], colours: string[], log: boolean): string {
  const W = 720, H = 360, L = 70, R = 20, T = 40, B = 70;
  const f = (x: number) => (log ? Math.log10(Math.max(x, 1e-18)) : x);
  const all = data.y.flat().filter((x): x is number => x !== null && (!log || x > 0)).map(f);
  let lo = Math.min(...all), hi = Math.max(...all);
  if (!(hi > lo)) { lo -= 1; hi += 1; }
  const t0 = data.t[0] ?? 0, t1 = data.t[data.t.length - 1] ?? 1;
  const X = (t: number) => L + ((t - t0) / (t1 - t0 || 1)) * (W - L - R), Y = (y: number) => H - B - ((f(y) - lo) / (hi - lo)) * (H - T - B);
  const ticks = (a: number, b: number, n: number) => {
    const raw = (b - a) / n, p = 10 ** Math.floor(Math.log10(raw)), step = [1, 2, 5, 10].map((k) => k * p).find((k) => k >= raw)!;
    return Array.from({ length: Math.floor(b / step) - Math.ceil(a / step) + 1 }, (_, i) => (Math.ceil(a / step) + i) * step);
  };
  const text = (x: number, y: number, s: string, more = '') => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escape(s)}</text>`;
  const out = [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${W} ${H}" font-family="sans-serif" font-size="12" fill="#1c2430">`,
    `<rect width="${W}" height="${H}" fill="#fff"/>`, text(L, 22, title, 'font-size="15" font-weight="bold"')];
  for (const t of ticks(t0, t1, 8)) out.push(`<path d="M${X(t)} ${T}V${H - B}" stroke="#e4e8ec"/>`, text(X(t), H - B + 18, String(+t.toPrecision(6)), 'text-anchor="middle"'));
  for (const y of ticks(lo, hi, 6)) {
    const py = H - B - ((y - lo) / (hi - lo)) * (H - T - B);
    out.push(`<path d="M${L} ${py}H${W - R}" stroke="#e4e8ec"/>`, text(L - 8, py + 4, log ? `1e${+y.toPrecision(3)}` : String(+y.toPrecision(6)), 'text-anchor="end"'));
  }
  data.y.forEach((ys, k) => {
    let d = '', pen = false;
    ys.forEach((y, i) => { if (y === null || (log && y <= 0)) { pen = false; return; } d += `${pen ? 'L' : 'M'}${X(data.t[i]).toFixed(1)} ${Y(y).toFixed(1)}`; pen = true; });
    out.push(`<path d="${d}" fill="none" stroke="${colours[k]}" stroke-width="1.5"/>`, text(L + (k % 4) * 160, H - 24 + 16 * Math.floor(k / 4), `— ${names[k]}${units[k] ? ` (${units[k]})` : ''}`, `style="fill:${colours[k]}"`));
  });
  out.push(text(W - R, H - B + 34, 'time (s)', 'text-anchor="end"'), '</svg>');
  return out.join('\n');
}
