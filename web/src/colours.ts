// Colours of nodes by mode, for the shader, the canvas without WebGL2, the legend and the SVG.

import { type Data, NO_CLASS } from "./data";
import type { Mode } from "./state";

export type Colour = [number, number, number];

/** Dark blue to yellow, by lightness alone: cividis, which the colour-blind see alike. */
const RAMP: Colour[] = [
  [0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 182, 102], [254, 232, 56],
];

export interface Theme {
  background: Colour;
  ink: Colour;
  soft: Colour;
  line: Colour;
  classes: Colour[];
  /** Right, wrong, no label. */
  errors: Colour[];
  /** In no part, training, validation, test. */
  parts: Colour[];
  isDark: boolean;
}

export interface Category {
  name: string;
  colour: Colour;
}

export function parseColour(text: string): Colour {
  const hex = text.trim().replace("#", "");
  return [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)) as Colour;
}

export function css([r, g, b]: Colour, alpha = 1): string {
  return alpha === 1 ? `rgb(${r} ${g} ${b})` : `rgb(${r} ${g} ${b} / ${alpha})`;
}

export function readTheme(data: Data): Theme {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => parseColour(style.getPropertyValue(name));
  const background = read("--background");
  const isDark = background[0] < 128;
  const faint = mix(background, read("--soft"), 0.45);
  const [blue, orange, green, , yellow] = [0, 1, 2, 3, 4].map((at) => read(`--class-${at}`));
  return {
    background,
    ink: read("--ink"),
    soft: read("--soft"),
    line: read("--line"),
    classes: data.values.colours[isDark ? "dark" : "light"].map(parseColour),
    errors: [mix(background, blue, 0.55), orange, faint],
    parts: [faint, yellow, green, blue],
    isDark,
  };
}

export function mix(a: Colour, b: Colour, share: number): Colour {
  return a.map((value, at) => Math.round(value + (b[at] - value) * share)) as Colour;
}

export function ramp(value: number): Colour {
  const place = Math.min(Math.max(value, 0), 1) * (RAMP.length - 1);
  const at = Math.min(Math.floor(place), RAMP.length - 2);
  return mix(RAMP[at], RAMP[at + 1], place - at);
}

/** What the legend lists; null for modes with a scale instead. */
export function categories(data: Data, mode: Mode, theme: Theme): Category[] | null {
  const named = (names: string[], colours: Colour[]) =>
    names.map((name, at) => ({ name, colour: colours[at] }));
  switch (mode) {
    case "predicted":
      return named(data.values.classes, theme.classes);
    case "true":
      return [
        ...named(data.values.classes, theme.classes),
        ...(data.codes.includes(NO_CLASS) ? [{ name: "no known label", colour: theme.errors[2] }] : []),
      ];
    case "error":
      return named(["right", "wrong", "no label"], theme.errors);
    case "split":
      return named(data.values.parts, theme.parts);
    default:
      return null;
  }
}

/** The place of a node in the legend. */
export function categoryOf(data: Data, mode: Mode, node: number, frame: number): number {
  const code = data.codes[node];
  switch (mode) {
    case "predicted":
      return data.prediction(node, frame);
    case "true":
      return code === NO_CLASS ? data.C : code;
    case "error":
      return code === NO_CLASS ? 2 : code === data.prediction(node, frame) ? 0 : 1;
    case "split":
      return data.parts[node];
    default:
      return -1;
  }
}

/** Between 0 and 1: confidence, or the degree on a logarithmic scale. */
export function scaleValue(data: Data, mode: Mode, node: number, frame: number): number {
  if (mode === "confidence") return data.confidence(node, frame);
  return Math.log1p(data.degrees[node]) / Math.log1p(maxDegree(data));
}

export function maxDegree(data: Data): number {
  return data.degrees.reduce((most, degree) => Math.max(most, degree), 1);
}

/** How much of its colour a node shows: predictions fade with their confidence. */
export function opacityOf(data: Data, mode: Mode, node: number, frame: number): number {
  return mode === "predicted" ? 0.3 + 0.7 * data.confidence(node, frame) : 1;
}

export function colourOf(data: Data, mode: Mode, node: number, frame: number, theme: Theme): Colour {
  const list = categories(data, mode, theme);
  const own = list
    ? list[categoryOf(data, mode, node, frame)].colour
    : ramp(scaleValue(data, mode, node, frame));
  return mix(theme.background, own, opacityOf(data, mode, node, frame));
}
