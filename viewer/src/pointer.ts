// The mouse over the picture: hovering, selecting, looking at a point, pulling a body.
import * as THREE from 'three';
import type { App } from './app.ts';
import { contactAt, contactText } from './labels.ts';
import { contactKey } from './inspector.ts';

const CLICK = 5; // pixels a click may move

export class Pointer {
  private readonly app: App;
  private down: { x: number; y: number } | null = null;
  private pulling: { body: number; local: THREE.Vector3; anchor: THREE.Vector3 } | null = null;
  private last = 0;

  constructor(app: App) {
    this.app = app;
    const c = app.stage.renderer.domElement;
    c.addEventListener('pointerdown', (e) => this.press(e), { capture: true });
    c.addEventListener('pointermove', (e) => this.move(e));
    c.addEventListener('pointerup', (e) => this.release(e));
    c.addEventListener('pointercancel', () => this.end());
    c.addEventListener('pointerleave', () => app.labels.showHover(0, 0, null));
    c.addEventListener('dblclick', (e) => this.lookAt(e));
  }

  private at(e: PointerEvent | MouseEvent): { px: number; py: number; x: number; y: number } {
    const r = this.app.stage.renderer.domElement.getBoundingClientRect(), px = e.clientX - r.left, py = e.clientY - r.top;
    return { px, py, x: (px / r.width) * 2 - 1, y: 1 - (py / r.height) * 2 };
  }

  private press(e: PointerEvent): void {
    const a = this.app, p = this.at(e);
    this.down = { x: p.px, y: p.py };
    if (!(e.ctrlKey || e.metaKey) || e.button !== 0 || !a.session || a.session.recorded) return;
    const hit = a.stage.pick(p.x, p.y);
    if (!hit || hit.body < 0) return;
    e.stopImmediatePropagation();
    e.preventDefault();
    a.stage.renderer.domElement.setPointerCapture(e.pointerId);
    const local = hit.point.clone().applyMatrix4(a.stage.matrices[hit.body].clone().invert());
    this.pulling = { body: hit.body, local, anchor: hit.point.clone() };
    a.stage.controls.enabled = false;
    a.select({ body: hit.body, geom: hit.geom, contact: null });
    a.startPull(hit.body, local, hit.point);
  }

  private move(e: PointerEvent): void {
    const a = this.app, p = this.at(e);
    if (this.pulling) { a.movePull(a.stage.onPlane(p.x, p.y, this.pulling.anchor)); return; }
    if (e.buttons || !a.session || performance.now() - this.last < 40) return;
    this.last = performance.now();
    const c = contactAt(a.stage, a.contacts.shown, (k) => a.arrowTip(k), p.px, p.py);
    if (c) { a.labels.showHover(p.px, p.py, contactText(a.session, c)); return; }
    const hit = a.stage.pick(p.x, p.y);
    a.labels.showHover(p.px, p.py, hit ? (hit.body < 0 ? a.session.geomName(hit.geom) || 'world' : a.session.bodyName(hit.body)) : null);
  }

  private release(e: PointerEvent): void {
    const a = this.app, p = this.at(e), d = this.down;
    this.down = null;
    if (this.pulling) { this.end(); return; }
    if (!d || Math.hypot(p.px - d.x, p.py - d.y) > CLICK || e.button !== 0 || !a.session) return;
    const c = contactAt(a.stage, a.contacts.shown, (k) => a.arrowTip(k), p.px, p.py);
    if (c) { a.select({ body: null, geom: -1, contact: contactKey(c) }); return; }
    const hit = a.stage.pick(p.x, p.y);
    a.select(hit ? { body: hit.body, geom: hit.geom, contact: null } : { body: null, geom: -1, contact: null });
  }

  private end(): void {
    if (!this.pulling) return;
    this.pulling = null;
    this.app.stage.controls.enabled = true;
    this.app.endPull();
  }

  private lookAt(e: MouseEvent): void {
    const p = this.at(e), hit = this.app.stage.pick(p.x, p.y);
    if (hit) { this.app.stage.controls.target.copy(hit.point); this.app.stage.moved = true; }
  }
}
