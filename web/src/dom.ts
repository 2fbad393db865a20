// Elements of the page. Texts are only ever set as text, never as HTML.

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page lacks its element "${id}"`);
  return found as T;
}

type Child = Node | string;

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K, attributes: Record<string, string> = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K, attributes: Record<string, string | number> = {}, ...children: Child[]
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

export function fill(parent: Element, ...children: Child[]): void {
  parent.replaceChildren(...children);
}

export function percent(value: number, digits = 1): string {
  return `${(100 * value).toFixed(digits)}\u00a0%`;
}

export function grouped(value: number): string {
  return value.toLocaleString("en-US");
}

export function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(4)}`;
}
