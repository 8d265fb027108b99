// Numbers as people read them.

/** Six significant digits, as printf("%.6g"). */
export function num(x: number, digits = 6): string {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? '–' : x > 0 ? '∞' : '−∞';
  if (x === 0) return '0';
  const e = Math.floor(Math.log10(Math.abs(x)));
  let s: string;
  if (e < -4 || e >= digits) s = x.toExponential(digits - 1).replace(/\.?0+e/, 'e').replace(/e\+?(-?)(\d)$/, 'e$10$2').replace('e+', 'e');
  else { s = x.toPrecision(digits); if (s.includes('.') && !s.includes('e')) s = s.replace(/\.?0+$/, ''); }
  return s.replace('-', '−').replace('e−', 'e-');
}

/** Three digits with a unit, for labels in the picture. */
export function short(x: number, unit: string): string { return `${num(x, 3)} ${unit}`; }

export function count(n: number, one: string, many: string): string { return `${n} ${n === 1 ? one : many}`; }

/** Milliseconds, or as many digits as it takes to tell a step from the next one. */
export function seconds(t: number, step: number): string {
  const digits = step > 0 ? Math.min(9, Math.max(3, Math.ceil(-Math.log10(step) - 1e-9))) : 3;
  return `${t.toFixed(digits)} s`;
}

/** The shortest text that reads back to the same number: what a file or a command gets. */
export function exact(x: number): string { return String(x); }
