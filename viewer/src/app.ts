// The page: one run (and perhaps a second to compare), a time that is shown, and everything that follows from both.
import * as THREE from 'three';
import type { Catalogue } from '../engine/types.ts';
import { ChartBoard, type Chart, type ChartSpec } from './charts.ts';
import { ContactLayer, type ContactView } from './contacts.ts';
import { toast } from './dom.ts';
import { feed } from './feed.ts';
import { feedNative } from './native.ts';
import { count, num, short } from './format.ts';
import { Inspector, type Selection } from './inspector.ts';
import { Labels } from './labels.ts';
import { Ghost, Markers } from './markers.ts';
import { Chips, HandPanel, LayerPanel, RunPanel } from './panels.ts';
import { Pointer } from './pointer.ts';
import { Session, type Check, type FileIn, type Recipe } from './session.ts';
import { bodyMatrices, judgeQuality, Stage } from './stage.ts';
import { DARK, FORCE, LIGHT, VERDICT_COLOURS, VERDICT_TEXT } from './theme.ts';
import { Timeline } from './timeline.ts';
import { el } from './dom.ts';

export const SPEEDS = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8];
const FIRST_LOOK = 60;   // ms of simulating before the first picture
const FRAME_BUDGET = 7;  // ms of simulating in a frame where no worker does it; half the frame where nobody is scrubbing
const PANELS = 120; // ms between two looks of panels and charts while something moves
const STILL = 150;  // ms without a change: the picture stands still

export interface Hooks { clock: (t: number, end: number) => void; playing: (on: boolean) => void; opened: () => void; failed: (title: string, text: string) => void }

export class App {
  readonly stage: Stage;
  readonly contacts = new ContactLayer();
  readonly markers = new Markers();
  readonly ghost = new Ghost();
  readonly labels: Labels;
  readonly timeline: Timeline;
  readonly charts: ChartBoard;
  readonly runPanel: RunPanel;
  readonly layerPanel: LayerPanel;
  readonly handPanel: HandPanel;
  readonly inspector: Inspector;
  readonly catalogue: Catalogue;
  session: Session | null = null;
  other: Session | null = null;
  time = 0;
  playing = false;
  speed = 1;
  looping = false;
  follow = false;
  keepPrevious = false;
  /** Runs of scenes, and of these files, are simulated by the program behind the page. */
  native: { url: string; files: FileIn[] } | null = null;
  selected: Selection = { body: null, geom: -1, contact: null };
  /** What the last frames cost the main thread, ms. */
  frameCost = 0;
  frames = 0;
  private readonly module: WebAssembly.Module;
  private readonly hooks: Hooks;
  private readonly host: HTMLElement;
  private readonly chips = new Chips((k) => this.toggleLayer(k));
  private readonly verdict = el('div', { class: 'verdict', hidden: true });
  private extra = { values: false, names: false };
  private dirty = true;
  private lastSeek = -Infinity;
  private lastFrame = 0;
  private lastPanels = 0;
  private lastDrawn = 0;
  private verdictShown = '';
  private sharpen = false; // drawn coarsely: once more with all pixels when it stands still
  private measured = false;
  private pull: { body: number; local: number[]; target: THREE.Vector3; stiffness: number } | null = null;
  private lastFollow: THREE.Vector3 | null = null;

  constructor(module: WebAssembly.Module, catalogue: Catalogue, host: HTMLElement, quality: string | null, extraLayerRows: (app: App) => HTMLElement[], chooseFile: () => void, hooks: Hooks) {
    this.module = module;
    this.catalogue = catalogue;
    this.hooks = hooks;
    this.host = host;
    this.stage = new Stage(host, judgeQuality(quality));
    this.stage.scene.add(this.contacts.group, this.markers.group, this.ghost.group);
    this.labels = new Labels(host);
    host.append(this.verdict, this.chips.element);
    const seek = (t: number) => this.seek(t);
    this.timeline = new Timeline(seek);
    this.charts = new ChartBoard(seek);
    this.runPanel = new RunPanel(catalogue, (words) => this.openWords(words), chooseFile);
    this.layerPanel = new LayerPanel((k) => this.layer(k), (k, on) => this.setLayer(k, on), extraLayerRows(this));
    this.handPanel = new HandPanel((kind, i, x) => this.byHand(kind, i, x));
    this.inspector = new Inspector({
      contact: (key) => this.select({ body: null, geom: -1, contact: this.selected.contact === key ? null : key }),
      body: (i) => this.select({ body: i, geom: -1, contact: null }),
      verify: () => this.verify(), judge: () => this.judge(), chart: (names, title) => this.addChart(names, title),
    });
    this.chips.refresh((k) => this.layer(k));
    new Pointer(this);
    this.stage.controls.addEventListener('change', () => { this.dirty = true; });
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  private resize(): void {
    this.stage.resize(this.host.clientWidth || 1, this.host.clientHeight || 1);
    this.dirty = true;
  }

  // ---- opening ----

  /** The same files, other words: a scene by name, or changed options. */
  openWords(words: string[]): boolean {
    const files = this.session && /^\//.test(words[0]) ? this.session.recipe.files : [];
    const duration = this.session?.recipe.words[0] === words[0] ? this.session.recipe.duration : undefined;
    return this.open({ words, files, ...(duration !== undefined ? { duration } : {}) });
  }

  open(recipe: Recipe, checks: Check[] = []): boolean {
    let fresh: Session;
    try { fresh = new Session(this.module, recipe); } catch (e) {
      const text = e instanceof Error ? e.message : String(e);
      if (this.session) toast(text, true);
      else this.hooks.failed('This cannot be opened', text);
      return false;
    }
    fresh.checks = checks;
    if (fresh.recorded && fresh.history.count === 0) { this.hooks.failed('Nothing to show', fresh.failure || 'the recording has no complete step'); return false; }
    const before = this.session, same = before !== null && before.recipe.words[0] === recipe.words[0];
    const last = this.other;
    this.compareWith(this.keepPrevious && same ? before : null, fresh);
    for (const s of [before, last]) if (s && s !== this.other) s.close();
    this.session = fresh;
    this.adopt(same);
    return true;
  }

  private adopt(same: boolean): void {
    const s = this.session!, end = this.time;
    const grown = () => { if (this.session === s || this.other === s) this.dirty = true; };
    if (this.native && !s.recorded && (s.recipe.files.length === 0 || s.recipe.files === this.native.files)) feedNative(s, this.native.url, grown);
    else { s.advance(FIRST_LOOK); feed(s, this.module, grown); }
    this.pull = null;
    this.markers.pull = null;
    this.measured = false;
    this.selected = { body: null, geom: -1, contact: null };
    this.stage.show(s);
    this.contacts.setFacets(Number(String(s.model.settings['friction'] ?? '0').replace(/\D/g, '')) || 0);
    this.contacts.measure(s);
    this.timeline.show(s, this.catalogue.events);
    this.runPanel.show(s);
    this.handPanel.show(s);
    this.inspector.showNotes(s, this.stage.missing);
    if (this.stage.missing.length) toast(`${count(this.stage.missing.length, 'mesh', 'meshes')} cannot be shown (${this.stage.missing.slice(0, 3).join(', ')}${this.stage.missing.length > 3 ? ', …' : ''}): what collides is drawn instead`, true);
    if (this.charts.charts.length === 0) { this.charts.show(s, this.other); this.charts.begin(); }
    this.charts.show(s, this.other);
    if (!same || !this.stage.moved) this.fit();
    this.time = same ? Math.min(end, s.duration) : s.history.start;
    this.lastFollow = null;
    this.dirty = true;
    this.hooks.opened();
  }

  compareWith(other: Session | null, fresh = this.session): void {
    const fits = other && fresh && other.model.bodies.length === fresh.model.bodies.length;
    this.other = fits ? other : null;
    this.ghost.show(this.other);
    if (this.session) this.charts.show(this.session, this.other);
    this.dirty = true;
  }

  // ---- camera ----

  /** The whole run into view: poses at a dozen instants. */
  fit(): void {
    const s = this.session;
    if (!s) return;
    const box = new THREE.Box3(), h = s.history, n = Math.min(h.count, 12), first = new THREE.Box3();
    let flat = true;
    for (let k = 0; k < n; k++) {
      const row = Math.floor((k * (h.count - 1)) / Math.max(1, n - 1)), poses = s.engine.pose(h.q(row), h.v(row));
      bodyMatrices(poses, this.stage.matrices);
      this.stage.place();
      const one = new THREE.Box3();
      this.stage.grow(one);
      for (let i = 0; i < s.model.bodies.length; i++) flat &&= Math.abs(poses[18 * i + 16]) < 1e-6;
      if (k === 0) first.copy(one);
      // A body that flies away does not shrink the picture to a point.
      if (one.getSize(new THREE.Vector3()).length() < 6 * first.getSize(new THREE.Vector3()).length() + 1e-9 && one.distanceToPoint(first.getCenter(new THREE.Vector3())) < 4 * first.getSize(new THREE.Vector3()).length()) box.union(one);
    }
    this.stage.fit(box, flat && s.model.bodies.length > 1);
    this.dirty = true;
  }

  /** Turns the camera around what it looks at, by angles; closer or farther by a factor. */
  turn(right: number, up: number, factor = 1): void {
    const c = this.stage.controls, from = this.stage.camera.position.clone().sub(c.target), s = new THREE.Spherical().setFromVector3(new THREE.Vector3(from.x, from.z, -from.y));
    s.theta += right;
    s.phi = Math.min(Math.PI - 0.02, Math.max(0.02, s.phi - up));
    s.radius *= factor;
    const at = new THREE.Vector3().setFromSpherical(s);
    this.stage.camera.position.copy(c.target).add(new THREE.Vector3(at.x, -at.z, at.y));
    this.stage.moved = true;
    this.dirty = true;
  }

  /** The next body, or the one before, as if it were clicked. */
  selectNext(by: number): void {
    const n = this.session?.model.bodies.length ?? 0;
    if (n) this.select({ body: ((this.selected.body ?? (by > 0 ? -1 : n)) + by + n) % n, geom: -1, contact: null });
  }

  private following(): THREE.Vector3 | null {
    const s = this.session!, i = this.selected.body;
    if (i !== null && i >= 0) return new THREE.Vector3().setFromMatrixPosition(this.stage.matrices[i]);
    const row = s.history.find(this.time), k = s.column('com_x'), h = s.history;
    return new THREE.Vector3(h.value(row, k), h.value(row, k + 1), h.value(row, k + 2));
  }

  // ---- time ----

  seek(t: number): void {
    const s = this.session;
    if (!s) return;
    this.time = Math.min(Math.max(t, s.history.start), s.history.end);
    this.lastSeek = performance.now();
    this.dirty = true;
  }

  setPlaying(on: boolean): void {
    const s = this.session;
    if (on && s && s.complete && this.time >= s.history.end - 1e-9) this.time = s.history.start;
    this.playing = on;
    this.hooks.playing(on);
  }

  /** One kept step on or back; at the end of a live run a new step is simulated. */
  stepBy(n: number): void {
    const s = this.session;
    if (!s) return;
    this.setPlaying(false);
    const row = s.history.find(this.time), to = row + n;
    if (to >= s.history.count && !s.recorded) { for (let k = s.history.count; k <= to; k++) s.stepLive(); }
    this.seek(s.history.time(Math.min(Math.max(0, to), s.history.count - 1)));
  }

  jumpEvent(forward: boolean): void {
    const t = this.timeline.neighbour(this.time, forward);
    if (t !== null) { this.setPlaying(false); this.seek(t); } else toast(forward ? 'no later event' : 'no earlier event');
  }

  reset(): void { this.setPlaying(false); if (this.session) this.seek(this.session.history.start); }

  /** Starts the run anew, as its command says. */
  rerun(): void { if (this.session) this.open(this.session.recipe, this.session.checks); }

  // ---- by hand ----

  private touch(): Session | null {
    const s = this.session;
    if (!s || s.recorded) return null;
    s.branch(s.history.find(this.time));
    s.touched = true;
    this.dirty = true;
    return s;
  }

  private byHand(kind: 'ctrl' | 'q', index: number, value: number): void {
    const s = this.touch();
    if (!s) return;
    if (kind === 'ctrl') s.engine.stateCtrl[index] = value;
    else { s.engine.stateQ[index] = value; s.engine.stateV.fill(0); }
    s.stepLive();
    this.seek(s.history.end);
  }

  startPull(body: number, local: THREE.Vector3, at: THREE.Vector3): void {
    if (!this.touch()) return;
    const mass = this.session!.model.mass, g = Math.max(1, Math.hypot(...this.session!.model.gravity));
    // A pull of a tenth of the picture holds four times the weight of everything.
    this.pull = { body, local: local.toArray(), target: at.clone(), stiffness: (4 * mass * g) / (0.1 * this.stage.radius) / 4 };
    this.setPlaying(true);
  }
  movePull(to: THREE.Vector3): void { if (this.pull) this.pull.target.copy(to); }
  endPull(): void {
    this.session?.engine.dragEnd();
    this.pull = null;
    this.markers.pull = null;
    this.dirty = true;
  }

  private live(seconds: number): void {
    const s = this.session!, p = this.pull!, start = performance.now(), until = s.history.end + seconds;
    s.engine.drag(p.body, p.local, p.target.toArray(), p.stiffness);
    while (s.history.end < until && performance.now() - start < 14 && !s.failure) s.stepLive();
    this.time = s.history.end;
    this.dirty = true;
  }

  // ---- what is shown ----

  layer(key: string): boolean {
    if (key in this.contacts.layers) return this.contacts.layers[key as keyof ContactLayer['layers']];
    if (key in this.markers.layers) return this.markers.layers[key as keyof Markers['layers']];
    return this.extra[key as keyof App['extra']] ?? false;
  }

  setLayer(key: string, on: boolean): void {
    if (key in this.contacts.layers) this.contacts.layers[key as keyof ContactLayer['layers']] = on;
    else if (key in this.markers.layers) this.markers.layers[key as keyof Markers['layers']] = on;
    else this.extra[key as keyof App['extra']] = on;
    this.layerPanel.refresh((k) => this.layer(k));
    this.chips.refresh((k) => this.layer(k));
    this.dirty = true;
  }
  toggleLayer(key: string): void { this.setLayer(key, !this.layer(key)); }

  refresh(): void { this.dirty = true; }

  setTheme(name: 'dark' | 'light'): void {
    document.documentElement.dataset['theme'] = name;
    this.stage.setPalette(name === 'dark' ? DARK : LIGHT);
    this.dirty = true;
  }

  select(s: Selection): void {
    this.selected = s;
    const bodies = new Set<number>();
    if (s.body !== null && s.body >= 0) bodies.add(s.body);
    const c = this.contacts.shown.find((x) => `${x.geomA} ${x.geomB} ${x.index}` === s.contact);
    if (c) { bodies.add(c.bodyA); bodies.add(c.bodyB); bodies.delete(-1); }
    this.stage.highlight(bodies);
    this.lastFollow = null;
    this.lastPanels = 0;
    this.dirty = true;
  }

  arrowTip(c: ContactView): THREE.Vector3 {
    const impact = c.impact, v = impact ? c.normalVector.clone().add(c.frictionVector) : c.normalVector.clone();
    const load = impact ? Math.hypot(...c.impulse) : c.forceNormal, n = v.length();
    if (!(n > 0)) return c.point;
    return c.point.clone().addScaledVector(v, this.contacts.length(load, impact ? this.contacts.referenceImpulse : this.contacts.referenceForce, this.stage.radius) / n);
  }

  addChart(names: string[], title: string): Chart | null { return this.addPreset({ title, names }); }

  addPreset(spec: ChartSpec): Chart | null {
    if (!this.session) return null;
    document.getElementById('app')?.classList.remove('no-charts');
    const c = this.charts.add(spec);
    c.element.scrollIntoView?.({ inline: 'end' });
    return c;
  }

  // ---- checks ----

  private verify(): void {
    if (!this.session) return;
    try {
      const v = this.session.engine.verify();
      if (v.error) toast(v.error, true);
      else if (v.ok) toast(`${v.steps} steps verified: no violation${v.skipped.length ? ` (not checked: ${v.skipped.join('; ')})` : ''}`);
      else toast(`${v.violations} violations; the first: ${v.listed[0]?.check} at step ${v.listed[0]?.step}, ${num(v.listed[0]?.value)} against ${num(v.listed[0]?.limit)}`, true);
    } catch (e) { toast(e instanceof Error ? e.message : String(e), true); }
  }

  private judge(): void {
    const s = this.session!;
    const row = s.history.find(this.time), kind = s.engine.judge(s.history.q(row), s.history.v(row));
    toast(kind < 0 ? 'this instant could not be judged' : `verdict at ${num(s.history.time(row))} s: ${VERDICT_TEXT[kind]}`);
  }

  // ---- the loop ----

  start(): void {
    const loop = (now: number) => { this.frame(now); requestAnimationFrame(loop); };
    requestAnimationFrame(loop);
  }

  private clock(seconds: number): void {
    const s = this.session!, range = this.timeline.loop;
    const from = range ? range[0] : s.history.start, to = range ? range[1] : s.duration;
    let t = this.time + seconds * this.speed;
    if (range && (t > to || t < from)) t = from;
    else if (t >= to - 1e-12 && s.complete) {
      if (this.looping) t = from;
      else { t = s.history.end; this.setPlaying(false); }
    }
    this.time = Math.min(t, s.history.end);
    this.dirty = true;
  }

  private ahead(s: Session, wall: number): boolean {
    const busy = performance.now() - this.lastSeek < 500;
    return s.advance(busy ? 0.5 * FRAME_BUDGET : Math.max(FRAME_BUDGET, Math.min(60, 500 * wall)));
  }

  private frame(now: number): void {
    const s = this.session, wall = Math.min(0.1, (now - this.lastFrame) / 1000);
    this.lastFrame = now;
    if (!s) return;
    const start = performance.now();
    if (this.pull) this.live(wall * this.speed);
    else {
      if (!s.fed && this.ahead(s, wall)) this.dirty = true;
      if (this.other && !this.other.fed && this.other.advance(2)) this.dirty = true;
      if (s.complete && !this.measured) { this.measured = true; this.contacts.measure(s); this.dirty = true; this.lastPanels = 0; if (!this.stage.moved && !this.playing) this.fit(); }
      if (this.playing) this.clock(wall);
    }
    if (this.stage.controls.update()) this.dirty = true;
    if (this.dirty) this.drawMoving(now);
    else if (this.sharpen && now - this.lastDrawn > STILL) { this.sharpen = false; this.stage.adapt(0); this.draw(); }
    this.frameCost = 0.9 * this.frameCost + 0.1 * (performance.now() - start);
  }

  private drawMoving(now: number): void {
    this.dirty = false;
    // The first frame after a rest says nothing about how long frames take.
    const interval = now - this.lastDrawn;
    this.stage.adapt(interval < 2 * STILL ? interval : 1000);
    this.lastDrawn = now;
    this.sharpen = true;
    this.draw(Math.max(PANELS, 2.5 * Math.min(interval, 2000))); // and not in every frame where frames are slow
    this.frames++;
  }

  private lastPoses = new Float64Array(0);

  /** Draws the instant. Panels and charts follow at most every `patience` ms, and once more when it stands still. */
  draw(patience = 0): void {
    const s = this.session!, h = s.history, row = h.find(this.time), r = this.stage.radius;
    const poses = s.engine.pose(h.q(row), h.v(row));
    if (this.lastPoses.length !== poses.length) this.lastPoses = new Float64Array(poses.length);
    this.lastPoses.set(poses);
    bodyMatrices(poses, this.stage.matrices);
    if (this.follow) this.followOn();
    this.stage.place();
    const fade = this.playing ? 0.09 * this.speed : 0;
    this.contacts.update(s, row, r, fade);
    if (this.pull) {
      const from = new THREE.Vector3(...(this.pull.local as [number, number, number])).applyMatrix4(this.stage.matrices[this.pull.body]);
      this.markers.pull = { from, to: this.pull.target };
    }
    this.markers.update(s, row, this.stage.matrices, r, this.selected.body ?? -1);
    this.ghost.update(this.time);
    this.texts(s, row);
    this.stage.render();
    this.timeline.draw(this.time);
    this.hooks.clock(h.time(row), s.duration);
    const now = performance.now();
    if (now - this.lastPanels >= patience) {
      this.lastPanels = now;
      this.charts.update(h.time(row));
      // What is being dragged from a panel must not be replaced under the pointer.
      if (!document.body.dataset['dragging']) this.inspector.update(s, row, this.contacts.shown, this.selected, this.lastPoses);
      this.handPanel.update(s, row);
    }
  }

  private followOn(): void {
    const at = this.following();
    if (at && this.lastFollow) this.stage.shift(at.clone().sub(this.lastFollow));
    this.lastFollow = at;
  }

  private texts(s: Session, row: number): void {
    const n = s.history.contactCount(row), kind = s.history.value(row, s.column('verdict'));
    const shown = n > 0 && (s.verdicts || s.recorded), state = shown ? String(kind) : '';
    if (state !== this.verdictShown) this.verdict.hidden = !shown;
    if (shown && state !== this.verdictShown) this.verdict.replaceChildren(el('i', { class: 'dot', style: `background:${VERDICT_COLOURS[kind]}` }), VERDICT_TEXT[kind]);
    this.verdictShown = state;
    this.chips.loosely(this.contacts.shown.some((c) => c.determinate === 'no' && c.impulse[0] > 0));
    this.labels.begin();
    if (this.extra.values)
      for (const c of [...this.contacts.shown].sort((a, b) => b.impulse[0] - a.impulse[0])) {
        if (c.impulse[0] <= 0) continue;
        this.labels.add(this.stage, this.arrowTip(c), c.impact ? short(c.impulse[0], 'N s') : `${c.determinate === 'no' ? '≈ ' : ''}${short(c.forceNormal, 'N')}`);
      }
    if (this.extra.names) this.stage.matrices.forEach((m, i) => this.labels.add(this.stage, new THREE.Vector3().setFromMatrixPosition(m), s.bodyName(i)));
    this.labels.end();
  }

  /** The picture as it is now, drawn once more so that its pixels can be read. */
  capture(): HTMLCanvasElement { this.stage.adapt(0); this.draw(); return this.stage.renderer.domElement; }

  static readonly colours = FORCE;
}
