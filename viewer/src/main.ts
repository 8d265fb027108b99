// The page's beginning: unpacks the engine, builds the bars, opens what the page was given.
import uplotStyle from 'uplot/dist/uPlot.min.css';
import style from './style.css';
import packed from '../engine/dist/knuckle.wasm.gz';
import { Engine } from '../engine/engine.ts';
import { App, SPEEDS } from './app.ts';
import { draggable, PRESETS } from './charts.ts';
import { asCommand, asPython } from './command.ts';
import { button, download, el, toast } from './dom.ts';
import { filesOf, filesOfInput, recipeOf } from './drop.ts';
import { count, seconds } from './format.ts';
import { helpDialog, listen, type Key } from './keys.ts';
import { field } from './panels.ts';
import { fromBase64, readPayload, unpack } from './payload.ts';
import { shoot } from './shoot.ts';
import { quantities } from './quantities.ts';
import type { FileIn } from './session.ts';
import { Tour } from './tour.ts';

async function engineModule(): Promise<WebAssembly.Module> {
  return WebAssembly.compile((await unpack(fromBase64(packed))) as BufferSource);
}

function failure(title: string, text: string): void {
  const box = document.getElementById('message')!;
  box.replaceChildren(el('div', { role: 'alert' }, el('h2', {}, title), el('pre', {}, text), el('p', { class: 'note' }, 'Drop a model (MJCF, URDF with its meshes) or a recording (MCAP) on the page, or choose a scene on the left.')));
  box.hidden = false;
}

function layerExtras(app: App): HTMLElement[] {
  const skin = el('select', { 'aria-label': 'shapes', onchange: () => { app.stage.setSkin(skin.value as 'visual' | 'collision'); app.refresh(); } },
    el('option', { value: 'visual' }, 'as it looks'), el('option', { value: 'collision' }, 'collision shapes'));
  const opacity = el('input', { type: 'range', min: 0.15, max: 1, step: 0.05, value: 1, 'aria-label': 'opacity of bodies', onchange: () => { app.stage.setOpacity(Number(opacity.value)); app.refresh(); } });
  const scale = el('input', { type: 'range', min: -1.5, max: 1.5, step: 0.05, value: 0, 'aria-label': 'length of arrows', oninput: () => { app.contacts.scale = 10 ** Number(scale.value); app.refresh(); } });
  const log = el('input', { type: 'checkbox', onchange: () => { app.contacts.log = log.checked; app.refresh(); } });
  return [field('shapes', skin), field('opacity of bodies', opacity), field('length of arrows', scale), el('label', { class: 'check' }, log, 'lengths by the logarithm')];
}

/** Any quantity by search. */
function chartDialog(app: App): HTMLDialogElement {
  const found = el('div', { class: 'found' }), input = el('input', { type: 'search', placeholder: 'q.  v.  force.  ledger.  residual …', oninput: () => list(), 'aria-label': 'find a quantity' });
  const dialog = el('dialog', { id: 'chart-dialog' }, el('h2', {}, 'Chart any quantity'), input, found, el('p', { class: 'note' }, 'Click: a chart of its own. Drag one onto a chart: on the same axes.'));
  const list = () => {
    const words = input.value.toLowerCase().split(/\s+/), all = app.session ? quantities(app.session) : [];
    const fits = (name: string) => words.every((w) => name.toLowerCase().includes(w)), done = () => { dialog.close(); app.refresh(); };
    found.replaceChildren(
      ...PRESETS.filter((p) => fits(p.title)).map((p) => el('button', { type: 'button', onclick: () => { app.addPreset(p); done(); } }, el('b', {}, p.title))),
      ...all.filter((q) => fits(q.name)).slice(0, 200).map((q) => handle(el('button', { type: 'button', onclick: () => { app.addChart([q.name], q.name); done(); } }, q.name, el('small', {}, q.unit)), q.name)));
  };
  // While one is dragged the dialog covers nothing and lets the charts take it.
  const handle = (b: HTMLButtonElement, name: string) => {
    b.addEventListener('dragstart', () => { setTimeout(() => { dialog.close(); dialog.classList.add('aside'); dialog.show(); }); });
    b.addEventListener('dragend', () => { dialog.close(); dialog.classList.remove('aside'); });
    return draggable(b, [name]);
  };
  dialog.addEventListener('toggle', () => { if (dialog.open) list(); });
  dialog.addEventListener('click', (e) => { if (e.target === dialog) dialog.close(); });
  return dialog;
}

function copyDialog(app: App): HTMLDialogElement {
  const command = el('pre', { class: 'mono' }), python = el('pre', { class: 'mono' });
  const copy = (e: HTMLElement) => el('button', { type: 'button', class: 'action', onclick: () => void navigator.clipboard.writeText(e.textContent ?? '').then(() => toast('copied'), () => toast('the browser did not allow copying', true)) }, 'Copy');
  const dialog = el('dialog', { id: 'copy-dialog' }, el('h2', {}, 'This run as a command'), command, copy(command), el('h2', {}, 'as Python'), python, copy(python));
  dialog.addEventListener('toggle', () => {
    const s = app.session;
    if (!dialog.open || !s) return;
    command.textContent = asCommand(s.recipe, s.recorded ? undefined : s.duration);
    python.textContent = s.recorded ? '# a recording is read with: knuckle export' : asPython(s.recipe, s.duration);
  });
  dialog.addEventListener('click', (e) => { if (e.target === dialog) dialog.close(); });
  return dialog;
}

function picker(app: App): { input: HTMLInputElement; take: (files: FileIn[], compare: boolean) => void } {
  const take = (files: FileIn[], compare: boolean) => {
    try {
      const recipe = recipeOf(files);
      app.keepPrevious = compare;
      if (app.open(recipe)) document.getElementById('message')!.hidden = true;
    } catch (e) { toast(e instanceof Error ? e.message : String(e), true); }
  };
  const input = el('input', { type: 'file', multiple: true, hidden: true, id: 'files', onchange: () => { if (input.files) void filesOfInput(input.files).then((f) => { take(f, false); input.value = ''; }); } });
  return { input, take };
}

function dropZone(take: (files: FileIn[], compare: boolean) => void): void {
  const sign = el('div', { class: 'drop', hidden: true }, 'Drop a model with its meshes, or a recording');
  document.body.append(sign);
  const files = (e: DragEvent) => e.dataTransfer?.types.includes('Files') ?? false;
  window.addEventListener('dragover', (e) => { if (files(e)) { e.preventDefault(); sign.hidden = false; } });
  window.addEventListener('dragleave', (e) => { if (!e.relatedTarget) sign.hidden = true; });
  window.addEventListener('drop', (e) => {
    if (!files(e)) return;
    e.preventDefault();
    sign.hidden = true;
    if (e.dataTransfer) void filesOf(e.dataTransfer).then((files) => take(files, false), (x: unknown) => toast(String(x), true));
  });
}

function savePicture(app: App): void {
  app.capture().toBlob((b) => { if (b) download(`${app.session?.model.name || 'knuckle'}.png`, b); });
}

async function main(): Promise<void> {
  document.head.append(el('style', {}, uplotStyle), el('style', {}, style));
  const given = document.getElementById('run')?.textContent?.trim() ?? '';
  const query = new URLSearchParams(location.search);
  let theme: 'dark' | 'light' = (query.get('theme') as 'dark' | 'light' | null) ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  document.documentElement.dataset['theme'] = theme;
  const wait = el('p', { class: 'wait', role: 'status' }, 'unpacking the engine …');
  const root = el('div', { id: 'app' }), view = el('main', { class: 'view' }, el('div', { class: 'message', id: 'message', hidden: true }), el('div', { class: 'hint' }, 'press ? for keys'), wait);
  document.body.removeAttribute('style'); // that of the page before its script
  document.body.replaceChildren(root, el('div', { id: 'toasts' }));
  root.append(view);
  const [module, payload] = await Promise.all([engineModule(), readPayload(given)]);
  const catalogue = new Engine(module).catalogue();
  wait.remove();

  const title = el('div', { class: 'title' }), clock = el('div', { class: 'clock' }), small = el('small', {});
  const play = button('play', 'play or pause (space)', () => app.setPlaying(!app.playing));
  play.classList.add('primary');
  const app: App = new App(module, catalogue, view, payload?.shot ? 'high' : query.get('quality'), layerExtras, () => files.input.click(), {
    clock: (t, end) => { const step = app.session?.dt ?? 0; clock.firstChild!.textContent = seconds(t, step); small.textContent = `of ${seconds(end, step)}${app.session?.complete ? '' : ' …'}`; },
    playing: (on) => { play.replaceChildren(button(on ? 'pause' : 'play', '', () => {}).firstChild!); },
    opened: () => {
      const s = app.session!;
      document.getElementById('message')!.hidden = true;
      title.replaceChildren(el('b', {}, s.model.name || s.recipe.words[0].replace(/^\/+/, '')), `  ${count(s.model.bodies.length, 'body', 'bodies')}, ${count(s.model.nv, 'degree', 'degrees')} of freedom, ${s.recorded ? 'recorded' : s.fed && app.native ? 'simulated natively' : 'simulated here'}`);
      document.title = `${s.model.name || 'Knuckle'} – Knuckle`;
    },
    failed: failure,
  });
  clock.append('', small);
  const files = picker(app);
  dropZone(files.take);

  const speed = el('select', { title: 'speed of playing', 'aria-label': 'speed of playing', style: 'width:72px', onchange: () => { app.speed = Number(speed.value); } }, ...SPEEDS.map((x) => el('option', { value: x }, `${x} ×`)));
  speed.value = '1';
  const faster = (k: number) => { const i = SPEEDS.indexOf(app.speed); app.speed = SPEEDS[Math.min(SPEEDS.length - 1, Math.max(0, i + k))]; speed.value = String(app.speed); toast(`${app.speed} × real time`); };
  const toggle = (b: HTMLButtonElement, on: boolean) => { b.classList.toggle('on', on); b.setAttribute('aria-pressed', String(on)); };
  const loop = button('loop', 'play in a loop', () => { app.looping = !app.looping; toggle(loop, app.looping); });
  const follow = button('follow', 'follow the selected body, or the centre of mass (f)', () => { app.follow = !app.follow; toggle(follow, app.follow); app.select(app.selected); });
  const compare = button('compare', 'keep the run before as a ghost when something is changed', () => {
    app.keepPrevious = !app.keepPrevious;
    if (!app.keepPrevious) app.compareWith(null);
    toggle(compare, app.keepPrevious);
  }, 'Compare');
  const chart = chartDialog(app), copy = copyDialog(app);
  const setTheme = () => { theme = theme === 'dark' ? 'light' : 'dark'; app.setTheme(theme); };
  // A panel that the width hides is shown over the picture; one that is there is folded away.
  const side = (name: 'left' | 'right' | 'charts') => {
    const shown = getComputedStyle(root.querySelector(`.${name}`)!).display !== 'none';
    root.classList.toggle(`no-${name}`, shown);
    root.classList.toggle(`show-${name}`, !shown);
    app.refresh();
  };

  const keys: Key[] = [
    { keys: [' '], shown: 'space', what: 'play or pause', run: () => app.setPlaying(!app.playing) },
    { keys: ['ArrowRight'], shown: '→', what: 'one step on', run: () => app.stepBy(1) },
    { keys: ['ArrowLeft'], shown: '←', what: 'one step back', run: () => app.stepBy(-1) },
    { keys: ['Shift+ArrowRight'], shown: 'shift →', what: 'next impact, switch or trouble', run: () => app.jumpEvent(true) },
    { keys: ['Shift+ArrowLeft'], shown: 'shift ←', what: 'event before', run: () => app.jumpEvent(false) },
    { keys: ['Home', 'Backspace'], shown: 'Home', what: 'to the beginning', run: () => app.reset() },
    { keys: ['End'], shown: 'End', what: 'to the end', run: () => app.seek(Infinity) },
    { keys: ['+', '='], shown: '+', what: 'faster', run: () => faster(1) },
    { keys: ['-'], shown: '−', what: 'slower', run: () => faster(-1) },
    { keys: ['r'], shown: 'r', what: 'run again', run: () => app.rerun() },
    { keys: ['a'], shown: 'a', what: 'fit all into view', run: () => app.fit() },
    { keys: ['f'], shown: 'f', what: 'follow', run: () => follow.click() },
    { keys: ['c'], shown: 'c', what: 'contact points', run: () => app.toggleLayer('points') },
    { keys: ['n'], shown: 'n', what: 'normal forces', run: () => app.toggleLayer('normal') },
    { keys: ['t'], shown: 't', what: 'friction forces', run: () => app.toggleLayer('friction') },
    { keys: ['i'], shown: 'i', what: 'impulses', run: () => app.toggleLayer('impulses') },
    { keys: ['k'], shown: 'k', what: 'friction cones', run: () => app.toggleLayer('cones') },
    { keys: ['v'], shown: 'v', what: 'values at the arrows', run: () => app.toggleLayer('values') },
    { keys: ['e'], shown: 'e', what: 'body frames', run: () => app.toggleLayer('frames') },
    { keys: ['j'], shown: 'j', what: 'joint axes', run: () => app.toggleLayer('joints') },
    { keys: ['m'], shown: 'm', what: 'centres of mass', run: () => app.toggleLayer('com') },
    { keys: ['b'], shown: 'b', what: 'inertia boxes', run: () => app.toggleLayer('inertia') },
    { keys: ['g'], shown: 'g', what: 'names', run: () => app.toggleLayer('names') },
    { keys: ['.'], shown: '.', what: 'select the next body', run: () => app.selectNext(1) },
    { keys: [','], shown: ',', what: 'the body before', run: () => app.selectNext(-1) },
    { keys: ['Ctrl+ArrowLeft'], shown: 'Ctrl ←', what: 'turn the camera; also → ↑ ↓', run: () => app.turn(-0.12, 0) },
    { keys: ['PageUp'], shown: 'PgUp', what: 'closer; PgDn: farther', run: () => app.turn(0, 0, 0.85) },
    { keys: ['q'], shown: 'q', what: 'add a chart', run: () => chart.showModal() },
    { keys: ['d'], shown: 'd', what: 'dark or light', run: setTheme },
    { keys: ['['], shown: '[', what: 'left panel', run: () => side('left') },
    { keys: [']'], shown: ']', what: 'right panel', run: () => side('right') },
    { keys: ['\\'], shown: '\\', what: 'charts', run: () => side('charts') },
    { keys: ['Escape'], shown: 'Esc', what: 'select nothing', run: () => app.select({ body: null, geom: -1, contact: null }) },
    { keys: ['?'], shown: '?', what: 'this page', run: () => (help.open ? help.close() : help.showModal()) },
  ];
  const silent = (key: string, run: () => void): Key => ({ keys: [key], shown: '', what: '', run });
  const help = helpDialog(keys);
  listen([...keys, silent('Ctrl+ArrowRight', () => app.turn(0.12, 0)), silent('Ctrl+ArrowUp', () => app.turn(0, 0.12)), silent('Ctrl+ArrowDown', () => app.turn(0, -0.12)), silent('PageDown', () => app.turn(0, 0, 1 / 0.85))]);

  root.prepend(el('header', { class: 'bar' }, button('panel', 'left panel ([)', () => side('left')), el('div', { class: 'brand' }, el('i', {}), 'Knuckle'), title, compare,
    button('plus', 'chart any quantity (q)', () => chart.showModal(), 'Chart'), button('copy', 'this run as a command and as Python', () => copy.showModal(), 'Copy'),
    button('camera', 'save the picture', () => savePicture(app)), button('fit', 'fit all into view (a)', () => app.fit()), follow,
    button('sun', 'dark or light (d)', setTheme), button('help', 'keys (?)', () => help.showModal()), button('panel2', 'right panel (])', () => side('right'))));
  root.append(
    el('aside', { class: 'left' }, app.runPanel.element, app.layerPanel.element, app.handPanel.element), el('aside', { class: 'right' }, app.inspector.element),
    el('div', { class: 'transport' }, button('first', 'to the beginning (Home)', () => app.reset()), button('back', 'one step back (←)', () => app.stepBy(-1)), play,
      button('next', 'one step on (→)', () => app.stepBy(1)), button('rerun', 'run again (r)', () => app.rerun()), loop, speed, app.timeline.element, clock),
    app.charts.element);
  document.body.append(help, chart, copy, files.input);
  app.setTheme(theme);
  (window as unknown as { knuckle: App }).knuckle = app;

  if (payload?.native) app.native = { url: payload.native, files: payload.recipe?.files ?? [] };
  const tour = payload?.tour ? new Tour(payload.tour, app, (x) => { app.speed = x; speed.value = String(x); }) : null;
  if (tour) root.querySelector('aside.left')!.prepend(tour.element);
  if (tour) root.classList.add('touring');
  if (payload?.shot) root.classList.add('shot');
  if (payload?.problem) failure('This cannot be opened', payload.problem);
  else if (tour) tour.start();
  else if (!app.open(payload?.recipe ?? { words: [query.get('scene') ?? 'pendulum-2014'], files: [] }, payload?.checks ?? [])) { /* the message is in the page */ }
  if (payload?.shot) shoot(app, payload.shot, view);
  else { if (app.session) app.setPlaying(!matchMedia('(prefers-reduced-motion: reduce)').matches); app.start(); }
  document.documentElement.dataset['ready'] = '1';
}

main().catch((e: unknown) => {
  document.body.replaceChildren(el('div', { class: 'message' }, el('div', {}, el('h2', {}, 'The viewer could not start'), el('pre', {}, e instanceof Error ? e.message : String(e)))));
  document.documentElement.dataset['ready'] = 'failed';
});
