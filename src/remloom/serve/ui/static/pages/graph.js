// Graph: one thing and what it is connected with, opened a type of edge at a time, by counts.

import { post } from "../lib/api.js";
import { Busy, Empty, Failure, NameField, Page, RecordLink, Table } from "../lib/parts.js";
import { count, go, html, plain, plural, titleOf, useEffect, useRef, useState } from "../lib/view.js";

const FIRST = 12; // edges that are open at once
const STEP = 8; // neighbours that one press adds
const MOST = 120; // nodes at once: more cannot be read

export default function Graph({ rest }) {
  const [label] = rest;
  const [draft, setDraft] = useState(label || "");
  useEffect(() => setDraft(label || ""), [label]);
  const open = (name) => name.trim() && go("graph", [name.trim()]);
  return html`<${Page} wide heading="Graph" lead="Begin with one thing: its newest edges are drawn, and how many it has of each type is listed. Open those you want.">
    <form class="row ends" onSubmit=${(event) => { event.preventDefault(); open(draft); }}>
      <${NameField} label="Begin with" value=${draft} change=${setDraft} choose=${open} placeholder="A person, a project, a document" />
      <button class="primary">Show</button>
    </form>
    ${label
      ? html`<${Walk} key=${label} start=${label} />`
      : html`<${Empty} heading="Nothing is drawn yet">A graph of everything would be a hairball. Name one thing.</${Empty}>`}
  </${Page}>`;
}

// What was opened so far: nodes by the key of their label, so that records of one name are one node.
class Drawing {
  nodes = new Map();
  edges = new Map();

  add({ nodes, edge_summary: edges }) {
    for (const { record, path } of nodes) {
      const key = path.at(-1);
      if (!this.nodes.has(key)) this.nodes.set(key, { key, name: record ? titleOf(record) : key, record });
    }
    for (const [from, type, to] of edges) {
      if (this.nodes.has(from) && this.nodes.has(to)) this.edges.set(`${from} ${type} ${to}`, { from, type, to });
    }
  }

  // how many edges of a type are drawn on one side of a node
  countOf(key, type, direction) {
    const end = direction === "in" ? "to" : "from";
    return [...this.edges.values()].filter((edge) => edge.type === type && edge[end] === key).length;
  }
}

function Walk({ start }) {
  const drawing = useRef(new Drawing()).current;
  const opened = useRef(new Map()).current;
  const [chosen, setChosen] = useState(null);
  const [state, setState] = useState({ busy: true });

  const traverse = async (label, options) => {
    setState((before) => ({ ...before, busy: true, error: null }));
    try {
      const answer = await post("/v1/traverse", { label, direction: "both", ...options });
      drawing.add(answer);
      setState({ drawn: drawing.nodes.size + drawing.edges.size });
      return answer;
    } catch (error) {
      setState({ error });
      return null;
    }
  };
  // PLAN: how many edges of each type there are, before any is followed
  const choose = async (label) => {
    const plan = await traverse(label, { max_depth: 0 });
    if (!plan?.nodes.length) return;
    const key = plan.nodes[0].path.at(-1);
    const counts = plan.report.edge_counts;
    for (const { rel_type: type, direction } of counts) {
      const side = `${key} ${type} ${direction}`;
      opened.set(side, Math.max(opened.get(side) || 0, drawing.countOf(key, type, direction)));
    }
    setChosen({ key, counts });
  };
  const expand = async ({ rel_type: type, direction }) => {
    const key = `${chosen.key} ${type} ${direction}`;
    const limit = (opened.get(key) || 0) + STEP;
    opened.set(key, limit);
    await traverse(chosen.key, { edge_types: [type], direction, max_depth: 1, limit, breadth: limit });
  };
  const begin = async () => {
    await traverse(start, { max_depth: 1, limit: FIRST, breadth: FIRST });
    await choose(start);
  };
  useEffect(() => void begin(), []);

  const { nodes, edges } = drawing;
  if (state.error && !nodes.size) return html`<${Failure} error=${state.error} />`;
  if (state.busy && !nodes.size) return html`<${Busy} />`;
  if (!nodes.size) return html`<${Empty} heading="Nothing has this name">Begin to type, and the names that there are will be listed.</${Empty}>`;
  return html`<div class="stack">
    <div class="columns">
      <${Canvas} nodes=${nodes} edges=${edges} chosen=${chosen?.key} choose=${choose} version=${state.drawn} />
      <div class="stack">
        ${chosen && html`<${Expansions} node=${nodes.get(chosen.key)} counts=${chosen.counts} opened=${opened} number=${nodes.size} expand=${expand} busy=${state.busy} />`}
        ${state.error && html`<${Failure} error=${state.error} />`}
      </div>
    </div>
    <${AsTable} nodes=${nodes} edges=${edges} choose=${choose} />
  </div>`;
}

function Expansions({ node, counts, opened, number, expand, busy }) {
  const isFull = number >= MOST;
  return html`<section class="card" aria-live="polite">
    <h2><${RecordLink} to=${node.record ? node.record.id : node.name}>${node.name}</${RecordLink}></h2>
    ${counts.length === 0 && html`<p class="muted">It has no edges.</p>`}
    ${isFull && html`<p class="notice careful">${count(MOST)} things are drawn: begin anew with one of them to see more.</p>`}
    <div class="expansions">${counts.map((one) => {
      const shown = opened.get(`${node.key} ${one.rel_type} ${one.direction}`) || 0;
      const isDone = shown >= one.count;
      return html`<button class="small" disabled=${busy || isDone || isFull} onClick=${() => expand(one)}>
        <span>${one.direction === "in" ? "←" : "→"} ${plain(one.rel_type)}</span>
        <span class="number muted">${isDone ? "all shown" : shown ? `${shown} of ${count(one.count)}` : count(one.count)}</span>
      </button>`;
    })}</div>
  </section>`;
}

function AsTable({ nodes, edges, choose }) {
  const named = (id) => html`<button class="link" onClick=${() => choose(id)}>${plain(nodes.get(id).name)}</button>`;
  const columns = [
    { name: "From", of: (edge) => named(edge.from) },
    { name: "Edge", of: (edge) => plain(edge.type) },
    { name: "To", of: (edge) => named(edge.to) },
  ];
  return html`<section class="stack tight">
    <h2>The same as a table</h2>
    <p class="muted small" role="status">${plural(nodes.size, "thing")}, ${plural(edges.size, "edge")}</p>
    <${Table} caption="The edges that are drawn" columns=${columns} rows=${[...edges.values()]} none="No edge is open yet." />
  </section>`;
}

// -- the drawing -----------------------------------------------------------------------------------

function Canvas({ nodes, edges, chosen, choose, version }) {
  const box = useRef(null);
  const graph = useRef(null);
  const [isReady, setReady] = useState(false);
  const latest = useRef(choose);
  latest.current = choose;
  useEffect(() => {
    let isGone = false;
    import("../vendor/cytoscape.js").then(({ default: cytoscape }) => {
      if (isGone) return;
      graph.current = cytoscape({ container: box.current, style: styleNow(), minZoom: 0.3, maxZoom: 2.5 });
      graph.current.on("tap", "node", (event) => latest.current(event.target.data("key")));
      setReady(true);
    });
    const recolour = () => graph.current?.style(styleNow());
    addEventListener("remloom-theme", recolour);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", recolour);
    return () => {
      isGone = true;
      graph.current?.destroy();
      removeEventListener("remloom-theme", recolour);
      scheme.removeEventListener("change", recolour);
    };
  }, []);
  useEffect(() => graph.current && draw(graph.current, nodes, edges, chosen), [version, chosen, isReady]);
  return html`<div class="canvas" role="img" aria-label="A drawing of the edges in the table below" ref=${box}></div>`;
}

// Cytoscape keeps ids in plain objects: a label such as "constructor" is there before it is added.
const idOf = (key) => `node ${key}`;
const nodeOf = (graph, key) => graph.getElementById(idOf(key));

function draw(graph, nodes, edges, chosen) {
  const [first] = nodes.keys();
  const from = chosen && nodeOf(graph, chosen).nonempty() ? nodeOf(graph, chosen).position() : { x: 0, y: 0 };
  const missing = [...nodes.values()].filter(({ key }) => nodeOf(graph, key).empty());
  const isStar = missing.length === nodes.size && [...edges.values()].every((edge) => edge.from === first || edge.to === first);
  const around = missing.filter(({ key }) => key !== first);
  const added = missing.map(({ key, name, record }) => {
    // around what was opened, in two rings so that no name covers another
    const index = around.findIndex((one) => one.key === key);
    const angle = (2 * Math.PI * (index + 0.5)) / around.length;
    const [wide, high] = radiiOf(graph, index % 2 ? 1 : 0.68);
    const position = index < 0 ? from : { x: from.x + wide * Math.cos(angle), y: from.y + high * Math.sin(angle) };
    return { group: "nodes", position, data: { id: idOf(key), key, name: shortened(plain(name)), kind: record?.schema || "name" } };
  });
  for (const [id, { from: source, type, to: target }] of edges) {
    if (graph.getElementById(id).empty()) added.push({ group: "edges", data: { id, source: idOf(source), target: idOf(target), type: type.replaceAll("_", " ") } });
  }
  if (added.length) {
    graph.add(added);
    // a star has its places; what is opened later needs room made for it
    if (!isStar) graph.layout(layoutOf(graph)).run();
    graph.fit(undefined, 24);
    if (graph.zoom() > 1.15) graph.zoom(1.15);
    graph.center();
  }
  graph.nodes().removeClass("chosen");
  if (chosen) nodeOf(graph, chosen).addClass("chosen");
}

const radiiOf = (graph, part) => [graph.width() - 160, graph.height() - 90].map((side) => Math.max(90, (side / 2) * part));

function layoutOf(graph) {
  if (!graph.edges().length) return { name: "preset" };
  return {
    name: "cose", animate: false, randomize: false, fit: false, nodeDimensionsIncludeLabels: true, componentSpacing: 80,
    nodeRepulsion: () => 40000, idealEdgeLength: () => 120, nodeOverlap: 40, gravity: 0.4,
  };
}

const shortened = (name) => (name.length > 28 ? `${name.slice(0, 26)}…` : name);

// A canvas knows no variables of a style sheet: the colours are read from an element that has them.
function styleNow() {
  const colour = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
  const [ink, muted, line, accent, surface, caution] = ["ink", "muted", "strong-line", "accent", "surface", "caution"].map(colour);
  const font = getComputedStyle(document.body).fontFamily;
  return [
    { selector: "node", style: {
      label: "data(name)", color: ink, "font-family": font, "font-size": 12, "text-valign": "bottom", "text-margin-y": 5, "text-wrap": "wrap",
      "text-max-width": 130, "text-background-color": surface, "text-background-opacity": 0.85, "text-background-padding": 2,
      width: 18, height: 18, "background-color": muted,
    } },
    { selector: 'node[kind="entities"]', style: { "background-color": accent } },
    { selector: 'node[kind="moments"]', style: { "background-color": caution, shape: "diamond", width: 22, height: 22 } },
    { selector: 'node[kind="resources"]', style: { shape: "round-rectangle" } },
    { selector: "node.chosen", style: { "border-width": 4, "border-color": ink, width: 26, height: 26, "font-weight": 700 } },
    { selector: "edge", style: {
      width: 1.2, "line-color": line, "target-arrow-color": line, "target-arrow-shape": "triangle", "arrow-scale": 0.8, "curve-style": "bezier",
      label: "data(type)", "font-family": font, "font-size": 9, color: muted, "text-rotation": "autorotate",
      "text-background-color": surface, "text-background-opacity": 0.9, "min-zoomed-font-size": 7,
    } },
  ];
}
