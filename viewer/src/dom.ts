// Elements of the page. Text is always set as text: names from files are never markup.
type Child = Node | string | null | false;
type Props = Record<string, string | boolean | number | ((event: never) => void) | undefined>;

export function el<K extends keyof HTMLElementTagNameMap>(tag: K, props: Props = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') e.addEventListener(key.slice(2), value as unknown as EventListener);
    else if (key === 'class') e.className = String(value);
    else if (key === 'value') (e as HTMLInputElement).value = String(value);
    else if (value === true) e.setAttribute(key, '');
    else e.setAttribute(key, String(value));
  }
  for (const c of children) if (c !== null && c !== false) e.append(c);
  return e;
}

const PATHS: Record<string, string> = {
  play: 'M7 5v14l12-7z', pause: 'M7 5h4v14H7zM13 5h4v14h-4z', first: 'M6 5h2v14H6zM20 5v14L9 12z', last: 'M16 5h2v14h-2zM4 5v14l11-7z',
  back: 'M16 5v14L6 12z', next: 'M8 5v14l10-7z', loop: 'M7 7h9V4l5 4.5-5 4.5v-3H9v4H6V8zM17 17H8v3l-5-4.5L8 11v3h7v-4h3v6z',
  sun: 'M12 7a5 5 0 100 10 5 5 0 000-10zM11 1h2v3h-2zM11 20h2v3h-2zM1 11h3v2H1zM20 11h3v2h-3zM4 5l1.4-1.4 2.1 2.1L6.100 7.100zM16.500 17.900l1.400-1.400 2.100 2.100-1.400 1.400zM4 19l2.100-2.100 1.400 1.400L5.400 20.400zM16.500 6.100l2.100-2.100 1.400 1.400-2.100 2.100z',
  help: 'M11 17h2v2h-2zM12 5a4 4 0 00-4 4h2a2 2 0 114 0c0 2-3 1.800-3 5h2c0-2.200 3-2.500 3-5a4 4 0 00-4-4z',
  fit: 'M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4z', follow: 'M12 8a4 4 0 100 8 4 4 0 000-8zM11 2h2v4h-2zM11 18h2v4h-2zM2 11h4v2H2zM18 11h4v2h-4z',
  camera: 'M9 4l-1.500 2H4v13h16V6h-3.500L15 4zM12 8.500a4 4 0 110 8 4 4 0 010-8z', copy: 'M8 3h11v13H8zM5 7v14h11v-2H7V7z', open: 'M3 5h7l2 2h9v12H3z',
  compare: 'M4 5h7v14H4zM13 5h7v14h-7zM15 7v10h3V7z', close: 'M6.400 5L12 10.600 17.600 5 19 6.400 13.400 12 19 17.600 17.600 19 12 13.400 6.400 19 5 17.600 10.600 12 5 6.400z',
  panel: 'M4 5h16v14H4zM10 7v10h8V7z', panel2: 'M4 5h16v14H4zM6 7v10h8V7z', plus: 'M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z', down: 'M6 9l6 6 6-6z', save: 'M11 3h2v9l3.500-3.500L18 10l-6 6-6-6 1.500-1.500L11 12zM4 18h16v2H4z', rerun: 'M12 5V1L7 6l5 5V7a5 5 0 11-5 5H5a7 7 0 107-7z',
};

export function icon(name: string): SVGSVGElement {
  const s = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  s.setAttribute('viewBox', '0 0 24 24');
  s.setAttribute('aria-hidden', 'true');
  const p = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  p.setAttribute('d', PATHS[name] ?? '');
  s.append(p);
  return s;
}

export function button(name: string, title: string, onclick: () => void, label?: string): HTMLButtonElement {
  const b = el('button', { type: 'button', title, 'aria-label': title, class: label ? 'wide' : 'icon', onclick }, icon(name));
  if (label) b.append(el('span', {}, label));
  return b;
}

export function download(name: string, content: Blob): void {
  const a = el('a', { href: URL.createObjectURL(content), download: name });
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10000);
}

/** A short message in the corner. */
export function toast(text: string, bad = false): void {
  const box = document.getElementById('toasts')!;
  const t = el('div', { class: bad ? 'toast bad' : 'toast', role: 'status' }, text);
  box.append(t);
  setTimeout(() => t.remove(), bad ? 9000 : 3500);
}
