// The page of `heatgraph explore`.

import { CheckPanel } from "./check_panel";
import { showCalibration } from "./calibration_panel";
import { ClassesPanel } from "./classes_panel";
import { Data, NO_CLASS, PARTS } from "./data";
import { byId, element, fill, grouped, percent } from "./dom";
import { saveCsv, savePng, saveSvg } from "./downloads";
import { GraphView } from "./graph_view";
import { Legend } from "./legend";
import { NodePanel } from "./node_panel";
import { findNode, fromHash, type Mode, type State, Store, TABS, type Tab, toHash, WHOLE } from "./state";
import { TimePanel } from "./time_panel";

const MAX_SUGGESTIONS = 8;
const HASH_DELAY = 250;

function start(): void {
  const block = byId("data");
  const data = new Data(block.textContent ?? "");
  block.remove();
  const store = new Store({ ...initialState(data), ...fromHash(location.hash, data) });
  describe(data);
  showTab(store.state.tab);
  const view = new GraphView(data, store);
  const legend = new Legend(data, store, view);
  const time = new TimePanel(data, store);
  const node = new NodePanel(data, store, view);
  const check = new CheckPanel(data, store, view);
  const classes = new ClassesPanel(data, store, view);
  showCalibration(data);
  const mode = byId<HTMLSelectElement>("mode");
  mode.value = store.state.mode;
  mode.addEventListener("change", () =>
    store.update({ mode: mode.value as Mode, hidden: new Set() }),
  );
  store.subscribe((state, changed) => {
    view.schedule();
    mode.value = state.mode;
    if (changed.has("tab")) showTab(state.tab);
  });
  onTheme(() => {
    view.setTheme();
    legend.show();
    node.show(true);
    check.show();
    classes.show();
  });
  listenTabs(store);
  listenSearch(data, store, view);
  listenKeys(store, time);
  listenTools(data, store, view);
  keepHash(data, store);
  document.documentElement.dataset.ready = "true";
}

function initialState(data: Data): State {
  const evaluated = [3, 2, 0, 1].find((part) =>
    data.codes.some((code, node) => code !== NO_CLASS && data.parts[node] === part),
  );
  return {
    frame: data.values.chosen, mode: "predicted", hidden: new Set(), node: null, camera: WHOLE,
    tab: "node", part: PARTS[evaluated ?? 0],
  };
}

function describe(data: Data): void {
  const { values } = data;
  const test = values.curves.test ?? values.curves.val;
  const facts = [`${grouped(values.nodes)} nodes`, `${grouped(values.edges)} edges`, `${data.C} classes`];
  if (test) {
    const part = values.curves.test ? "test" : "validation";
    facts.push(`${percent(test.accuracy[values.chosen])} ${part} accuracy`);
  }
  byId("title").textContent = values.title;
  byId("facts").textContent = facts.join(" · ");
  const { model } = values;
  const extensions = model.extensions.length ? `; ${model.extensions.join(", ")}` : "";
  byId("about").textContent =
    `${model.scheme}, scaling ${model.scaling}, weight decay ${model.weightDecay.toPrecision(3)}` +
    `${extensions}. Made by heatgraph ${values.version}.`;
  if (values.shown < values.nodes) {
    const sample = byId("sample");
    sample.hidden = false;
    sample.textContent =
      `A sample of ${grouped(values.shown)} of ${grouped(values.nodes)} nodes, with the edges ` +
      "between them. Accuracies over T are those of all nodes.";
  }
}

/** The theme of the reader's system, or the one that the button chose. */
function onTheme(changed: () => void): void {
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const button = byId("theme");
  const show = () => {
    button.setAttribute("aria-label", isDark() ? "Light colours" : "Dark colours");
    button.textContent = isDark() ? "☀" : "☾";
  };
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
    changed();
  });
  prefersDark.addEventListener("change", () => {
    show();
    changed();
  });
  show();
}

function showTab(tab: Tab): void {
  for (const name of TABS) {
    byId(`panel-${name}`).hidden = name !== tab;
    const button = byId(`tab-${name}`);
    button.setAttribute("aria-selected", String(name === tab));
    button.tabIndex = name === tab ? 0 : -1;
  }
}

function listenTabs(store: Store): void {
  for (const name of TABS) {
    const button = byId(`tab-${name}`);
    button.addEventListener("click", () => store.update({ tab: name }));
    button.addEventListener("keydown", (event) => {
      const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
      if (!by) return;
      const next = TABS[(TABS.indexOf(name) + by + TABS.length) % TABS.length];
      store.update({ tab: next });
      byId(`tab-${next}`).focus();
      event.stopPropagation();
    });
  }
}

function listenSearch(data: Data, store: Store, view: GraphView): void {
  const input = byId<HTMLInputElement>("search");
  const list = byId("suggestions");
  const answer = byId("search-answer");
  const choose = (node: number) => {
    list.hidden = true;
    answer.textContent = "";
    store.update({ node, tab: "node" });
    view.reveal(node);
  };
  const matches = () => {
    const text = input.value.trim().toLowerCase();
    const found: number[] = [];
    if (!text) return found;
    const exact = findNode(data, input.value.trim());
    if (exact !== null) found.push(exact);
    for (let node = 0; node < data.n && found.length < MAX_SUGGESTIONS; node++) {
      if (node !== exact && data.id(node).toLowerCase().includes(text)) found.push(node);
    }
    return found;
  };
  input.addEventListener("input", () => {
    answer.textContent = "";
    const found = matches();
    list.hidden = found.length === 0;
    fill(list, ...found.map((node) => {
      const button = element("button", { type: "button" }, data.id(node));
      button.addEventListener("click", () => {
        input.value = data.id(node);
        choose(node);
      });
      return element("li", {}, button);
    }));
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const [found] = matches();
    if (found !== undefined) choose(found);
    else if (input.value.trim()) answer.textContent = "no such node";
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") list.hidden = true;
  });
  document.addEventListener("click", (event) => {
    if (!byId("search-form").contains(event.target as Node)) list.hidden = true;
  });
}

/** Keys that work anywhere but in fields. */
function listenKeys(store: Store, time: TimePanel): void {
  document.addEventListener("keydown", (event) => {
    const target = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(target.tagName) && target.id !== "time") return;
    if (event.key === " " && !["BUTTON", "SUMMARY"].includes(target.tagName)) time.toggle();
    else if (event.key === "[" || event.key === ",") time.step(-1);
    else if (event.key === "]" || event.key === ".") time.step(1);
    else if (event.key === "/") byId("search").focus();
    else if (event.key === "Escape") store.update({ node: null });
    else return;
    event.preventDefault();
  });
}

function listenTools(data: Data, store: Store, view: GraphView): void {
  const { width, height } = view.view;
  const centre = () => [view.view.width / 2 || width / 2, view.view.height / 2 || height / 2];
  byId("zoom-in").addEventListener("click", () => view.zoom(centre()[0], centre()[1], 1.5));
  byId("zoom-out").addEventListener("click", () => view.zoom(centre()[0], centre()[1], 1 / 1.5));
  byId("zoom-reset").addEventListener("click", () => store.update({ camera: WHOLE }));
  byId("save-png").addEventListener("click", () => savePng(data, view));
  byId("save-svg").addEventListener("click", () => saveSvg(data, view, store.state));
  byId("save-csv").addEventListener("click", () => saveCsv(data, view, store.state));
}

/** The address follows the view, after a moment: browsers limit how often it may change. */
function keepHash(data: Data, store: Store): void {
  let timer = 0, own = location.hash;
  store.subscribe(() => {
    window.clearTimeout(timer);
    timer = window.setTimeout(() => {
      own = toHash(store.state, data);
      history.replaceState(null, "", own);
    }, HASH_DELAY);
  });
  window.addEventListener("hashchange", () => {
    if (location.hash !== own) store.update(fromHash(location.hash, data));
  });
}

try {
  start();
} catch (error) {
  const message = document.getElementById("failure");
  if (message) {
    message.hidden = false;
    message.textContent = `This page cannot be shown: ${error instanceof Error ? error.message : error}`;
  }
  throw error;
}
