// From the plane of the layout to pixels and back.

import type { Camera } from "./state";

export interface Viewport {
  width: number;
  height: number;
}

/** Pixels per unit of the layout. */
export function scaleOf(camera: Camera, view: Viewport): number {
  return (Math.min(view.width, view.height) / 2) * 0.95 * camera.zoom;
}

export function toScreen(x: number, y: number, camera: Camera, view: Viewport): [number, number] {
  const scale = scaleOf(camera, view);
  return [view.width / 2 + (x - camera.x) * scale, view.height / 2 - (y - camera.y) * scale];
}

export function toPlane(px: number, py: number, camera: Camera, view: Viewport): [number, number] {
  const scale = scaleOf(camera, view);
  return [camera.x + (px - view.width / 2) / scale, camera.y - (py - view.height / 2) / scale];
}

/** Zoom by a factor such that the point under (px, py) stays there. */
export function zoomAt(
  camera: Camera, view: Viewport, px: number, py: number, factor: number, limit: number,
): Camera {
  const zoom = Math.min(Math.max(camera.zoom * factor, 0.5), limit);
  const [x, y] = toPlane(px, py, camera, view);
  const share = camera.zoom / zoom;
  return { x: x + (camera.x - x) * share, y: y + (camera.y - y) * share, zoom };
}

/** The radius of a node in pixels: larger for small graphs, and as one zooms in. */
export function nodeRadius(camera: Camera, view: Viewport, n: number): number {
  const area = Math.min(view.width, view.height) ** 2;
  const base = 0.36 * Math.sqrt(area / Math.max(n, 200)) ;
  return Math.min(Math.max(base, 1.6), 7) * Math.min(camera.zoom ** 0.5, 5);
}
