// Where pixels change when a layer of contacts is switched on, and where its shapes should be by the numbers.
import type { Page } from 'playwright-core';

/* eslint-disable @typescript-eslint/no-explicit-any */
type Any = any;
declare const window: Any;

/** Which pixels change when a layer is switched on, and where its shapes should be. */
export async function layerPixels(p: Page, layer: string): Promise<{ mids: { changed: number; x: number; y: number }[]; far: number; all: number }> {
  return p.evaluate((name) => {
    const a = window.knuckle;
    for (const k of ['points', 'normal', 'friction', 'impulses', 'cones', 'values', 'support']) a.setLayer(k, false);
    const grab = () => {
      const c = a.capture() as HTMLCanvasElement, d = document.createElement('canvas');
      d.width = c.width; d.height = c.height;
      const g = d.getContext('2d')!;
      g.drawImage(c, 0, 0);
      return g.getImageData(0, 0, c.width, c.height);
    };
    const off = grab();
    a.setLayer(name, true);
    const on = grab(), scale = on.width / a.stage.renderer.domElement.clientWidth;
    const change = (x: number, y: number) => {
      const i = 4 * (Math.round(y * scale) * on.width + Math.round(x * scale));
      return Math.abs(on.data[i] - off.data[i]) + Math.abs(on.data[i + 1] - off.data[i + 1]) + Math.abs(on.data[i + 2] - off.data[i + 2]);
    };
    const lines: { x0: number; y0: number; x1: number; y1: number }[] = [], mids: { changed: number; x: number; y: number }[] = [];
    for (const c of a.contacts.shown) {
      if (!(c.impulse[0] > 0)) continue;
      const from = a.stage.project(c.point), to = a.stage.project(a.arrowTip(c));
      const x = (from.x + to.x) / 2, y = (from.y + to.y) / 2;
      lines.push({ x0: from.x, y0: from.y, x1: to.x, y1: to.y });
      if (Math.hypot(to.x - from.x, to.y - from.y) < 8) continue; // too short to have a middle of its own
      // Around the middle: an arrow that is not determined has a dashed shaft.
      const along = [0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65].map((t) => change(from.x + t * (to.x - from.x), from.y + t * (to.y - from.y)));
      mids.push({ changed: Math.max(...along), x, y });
    }
    let far = 0, all = 0;
    for (let y = 0; y < on.height; y++)
      for (let x = 0; x < on.width; x++) {
        if (change(x / scale, y / scale) < 24) continue;
        all++;
        const near = lines.some((l) => {
          const dx = l.x1 - l.x0, dy = l.y1 - l.y0, t = Math.min(1, Math.max(0, ((x / scale - l.x0) * dx + (y / scale - l.y0) * dy) / Math.max(1e-9, dx * dx + dy * dy)));
          return Math.hypot(x / scale - l.x0 - t * dx, y / scale - l.y0 - t * dy) < 12; // half an arrow's head
        });
        if (!near) far++;
      }
    return { mids, far, all };
  }, layer);
}

/** The same for cones: how much changed on the surface of each (a leg may hide a part of it), and pixels away from all. */
export async function conePixels(p: Page): Promise<{ cones: { inside: number; x: number; y: number; r: number }[]; far: number; all: number }> {
  return p.evaluate(() => {
    const a = window.knuckle;
    for (const k of ['points', 'normal', 'friction']) a.setLayer(k, false);
    const grab = () => { const c = a.capture() as HTMLCanvasElement, d = document.createElement('canvas'); d.width = c.width; d.height = c.height; const g = d.getContext('2d')!; g.drawImage(c, 0, 0); return g.getImageData(0, 0, c.width, c.height); };
    const off = grab();
    a.setLayer('cones', true);
    const on = grab(), scale = on.width / a.stage.renderer.domElement.clientWidth, h = 0.16 * a.stage.radius;
    const change = (x: number, y: number) => { const i = 4 * (Math.round(y * scale) * on.width + Math.round(x * scale)); return Math.abs(on.data[i] - off.data[i]) + Math.abs(on.data[i + 1] - off.data[i + 1]) + Math.abs(on.data[i + 2] - off.data[i + 2]); };
    const cones = a.contacts.shown.map((c: Any) => {
      const axis = c.normalVector.clone().normalize(), at = (k: number) => a.stage.project(c.point.clone().addScaledVector(axis, k * h)), middle = at(0.6);
      // Points on the surface all around: a leg may hide some of them.
      const around = Array.from({ length: 16 }, (_, i) => { const t = (i * Math.PI) / 8, r = 0.8 * h * c.mu; return a.stage.project(c.point.clone().addScaledVector(axis, 0.8 * h).addScaledVector(c.t1, r * Math.cos(t)).addScaledVector(c.t2, r * Math.sin(t))); });
      // A disc around the middle that holds the whole cone: its slant height, as seen at that distance.
      const pixel = Math.hypot(at(1).x - at(0).x, at(1).y - at(0).y);
      return { inside: around.map((q) => change(q.x, q.y)).sort((x, y) => x - y)[8], x: middle.x, y: middle.y, r: 1.5 * pixel };
    }) as { inside: number; x: number; y: number; r: number }[];
    let far = 0, all = 0;
    for (let y = 0; y < on.height; y++) for (let x = 0; x < on.width; x++) {
      if (change(x / scale, y / scale) < 12) continue;
      all++;
      if (!cones.some((c) => Math.hypot(x / scale - c.x, y / scale - c.y) < c.r)) far++;
    }
    return { cones, far, all };
  });
}
