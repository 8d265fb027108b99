// The keyboard: as in MuJoCo's simulate where it has a key for it. One table makes the map and the help.
import { el } from './dom.ts';

export interface Key { keys: string[]; shown: string; what: string; run: () => void }

export function listen(keys: Key[]): void {
  const map = new Map(keys.flatMap((k) => k.keys.map((name) => [name, k.run] as const)));
  window.addEventListener('keydown', (e) => {
    const target = e.target as HTMLElement;
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && (target as HTMLInputElement).type !== 'checkbox' && (target as HTMLInputElement).type !== 'range') return;
    if (document.querySelector('dialog[open]') && e.key !== '?') return;
    const name = `${e.ctrlKey || e.metaKey ? 'Ctrl+' : ''}${e.shiftKey && e.key.length > 1 ? 'Shift+' : ''}${e.key}`;
    const run = map.get(name) ?? (e.ctrlKey || e.metaKey ? undefined : map.get(name.toLowerCase()));
    if (!run) return;
    if (e.key === ' ' && target.tagName === 'BUTTON') target.blur();
    e.preventDefault();
    run();
  });
}

export function helpDialog(keys: Key[]): HTMLDialogElement {
  const rows = keys.map((k) => el('div', {}, el('span', {}, ...k.shown.split(' ').map((x) => el('kbd', {}, x))), el('span', {}, k.what)));
  const mouse: [string, string][] = [
    ['drag', 'turn the camera'], ['right drag', 'pan'], ['wheel', 'zoom to the pointer'], ['click', 'select a body or a contact'],
    ['double click', 'look at that point'], ['Ctrl + drag', 'pull a body by a spring (the run goes on from here)'], ['Shift + drag', 'on the timeline: loop that range'],
  ];
  const d = el('dialog', { class: 'help' }, el('h2', {}, 'Keys and mouse'),
    el('div', { class: 'keys' }, ...rows, ...mouse.map(([a, b]) => el('div', {}, el('span', {}, el('kbd', {}, a)), el('span', {}, b)))),
    el('p', { class: 'note' }, 'Drop an MJCF or URDF file (with its folder of meshes) or an MCAP recording anywhere on the page.'));
  d.addEventListener('click', (e) => { if (e.target === d) d.close(); });
  return d;
}
