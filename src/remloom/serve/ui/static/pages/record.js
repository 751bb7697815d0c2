// Record: all that is known of one thing: its text, its edges, and the lines it comes from.

import { get, post, segment } from "../lib/api.js";
import { About, Badge, Facts, Forget, Loaded, Memory, Page, RecordLink, Stale, Table, When } from "../lib/parts.js";
import { decimal, go, hrefOf, html, nameOf, plain, plural, sourceOf, title, titleOf, useLoad, useState } from "../lib/view.js";
import { Chain, MARKS, Said, isReplaced, saidBy } from "./record-said.js";

// shown on their own, or of no use to a reader
const NOT_FACTS = new Set([
  "schema", "id", "name", "content", "summary", "context", "metadata", "properties", "graph_paths", "content_hash", "embedding",
  "fields", "parents", "created_at", "updated_at", "starts_at", "related_entities", "entity_refs", "resource_refs", "trust", "category", "uri",
]);

export default function Record({ rest, session }) {
  const [what] = rest;
  const state = useLoad(() => get("/v1/describe", { id_or_label: what }), [what]);
  return html`<${Loaded} state=${state}>${(view) => html`<${View} view=${view} what=${what} session=${session} again=${state.again} />`}</${Loaded}>`;
}

function View({ view, what, session, again }) {
  const [forgetting, setForgetting] = useState(false);
  const record = view.records[0]?.record;
  const label = record ? nameOf(record) : what;
  const may = session.scopes.includes("forget") && record;
  return html`<${Page} heading=${plain(record ? titleOf(record) : what)}>
    <div class="row apart">
      ${record ? html`<${About} record=${record} />` : html`<p class="muted">Nothing is stored of it but its edges.</p>`}
      <div class="row">
        <a class="button small" href=${hrefOf("graph", [label])}>Show in the graph</a>
        ${may && html`<button class="danger small" onClick=${() => setForgetting(true)}>Forget</button>`}
      </div>
    </div>
    ${view.records.map((described) => html`<${Described} key=${described.record.id} described=${described} several=${view.records.length > 1} session=${session} again=${again} />`)}
    ${(view.united || []).map((thing) => html`<${United} thing=${thing} />`)}
    <${Edges} view=${view} />
    ${record && html`<${History} id=${record.id} />`}
    ${forgetting && html`<${Forget} what=${label} path="/v1/forget" values=${{ targets: [record.id] }}
      close=${() => setForgetting(false)} done=${() => go("ask")} />`}
  </${Page}>`;
}

function Described({ described, several, session, again }) {
  const { record, children } = described;
  const text = saidBy(record);
  const metadata = Object.fromEntries(Object.entries(record.metadata || {}).filter(([name]) => !MARKS.includes(name)));
  const facts = Object.entries(record).filter(([name]) => !NOT_FACTS.has(name));
  const names = [...(record.related_entities || []), ...(record.entity_refs || [])];
  const properties = Object.entries(record.properties || record.fields || {}).filter(([name]) => name !== "extracted");
  return html`<section class="card">
    ${several && html`<p class="small muted">${plain(record.handle || nameOf(record))} ${sourceOf(record) && html`· ${plain(sourceOf(record))}`}</p>`}
    <${Stale} stale=${described.stale} />
    ${isReplaced(record) && html`<p><${Badge} kind="careful">Replaced</${Badge}> No search finds it any more.</p>`}
    ${text && html`<${Memory} text=${text} clip=${false} />`}
    <${Said} record=${record} session=${session} />
    ${MARKS.some((name) => name in (record.metadata || {})) && html`<${Chain} record=${record} session=${session} again=${again} />`}
    ${properties.length > 0 && html`<${Facts} of=${Object.fromEntries(properties)} />`}
    ${names.length > 0 && html`<p class="row small"><span class="muted">Names in it</span>
      ${names.map((name) => html`<${RecordLink} to=${name} />`)}</p>`}
    <details>
      <summary>Details</summary>
      <div class="stack tight">
        <${Facts} of=${{ kind: record.schema, ...Object.fromEntries(facts), id: record.id, source: record.uri, trust: record.trust }} />
        <${Facts} of=${metadata} />
        ${children.length > 0 && html`<p class="small">${plural(children.length, "record")} made of it</p>`}
      </div>
    </details>
  </section>`;
}

// Rows of several sources that are one thing: why, and on what they differ.
function United({ thing }) {
  const columns = [
    { name: "Row", of: ({ handle }) => html`<${RecordLink} to=${handle} />` },
    { name: "Of", of: ({ source }) => plain(source) },
    ...Object.entries(thing.differs || {}).map(([field, values]) => ({ name: title(field), of: ({ handle }) => plain(values[handle]) })),
  ];
  const rows = thing.handles.map((handle, number) => ({ id: handle, handle, source: thing.sources[number] }));
  return html`<section class="stack tight">
    <h2>One thing, of several sources</h2>
    <p>${thing.evidence?.length ? html`As they say the same: ${plain(thing.evidence.join("; "))}` : "As a person said."}</p>
    <${Table} caption="The rows that are one thing" columns=${columns} rows=${rows} />
  </section>`;
}

function Edges({ view }) {
  // an edge has the key of a label: the names are looked up
  const keys = [...new Set(view.edges_in.map((edge) => edge.src))];
  const found = useLoad(() => (keys.length ? post("/v1/lookup", { labels: keys }) : null), [view]);
  const names = new Map((found.value?.records || []).map((hit) => [hit.matched, titleOf(hit.record)]));
  const otherName = (way, edge) => (way === "out" ? edge.properties?.dst_name || edge.dst : names.get(edge.src) || edge.src);
  const edges = [...view.edges_out.map((edge) => ["out", edge]), ...view.edges_in.map((edge) => ["in", edge])];
  const columns = [
    { name: "Edge", of: ([way, edge]) => html`<span class="muted">${way === "in" ? "← " : "→ "}</span>${plain(edge.rel_type)}` },
    { name: "Of", of: ([way, edge]) => html`<${RecordLink} to=${way === "in" ? edge.src : edge.dst}>${otherName(way, edge)}</${RecordLink}>` },
    { name: "Weight", number: true, of: ([, edge]) => decimal(edge.weight) },
    { name: "True", of: ([, edge]) => html`<${Truth} edge=${edge} />` },
  ];
  return html`<section class="stack tight">
    <h2>Edges</h2>
    ${view.edge_counts.length > 0 && html`<p class="row">${view.edge_counts.map((one) => html`<${Badge}>
      ${one.direction === "in" ? "←" : "→"} ${title(one.rel_type)} ${one.count}</${Badge}>`)}</p>`}
    <${Table} caption="Edges, the newest first" columns=${columns} rows=${edges} none="It has no edges." />
  </section>`;
}

function Truth({ edge }) {
  if (!edge.valid_from && !edge.valid_to) return html`<span class="muted">always</span>`;
  return html`${edge.valid_from && html`from <${When} at=${edge.valid_from} />`} ${edge.valid_to && html`until <${When} at=${edge.valid_to} />`}`;
}

function History({ id }) {
  const state = useLoad(() => get(`/v1/records/${segment(id)}/history`), [id]);
  const columns = [
    { name: "Step", number: true, of: (entry) => entry.depth },
    { name: "Record", of: (entry) => (entry.depth ? html`<${RecordLink} to=${entry.id}>${entry.name}</${RecordLink}>` : plain(entry.name)) },
    { name: "Where it was read", of: (entry) => plain(entry.source) },
    { name: "Stored", of: (entry) => html`<${When} at=${entry.created_at} time />` },
  ];
  return html`<section class="stack tight">
    <h2>Where it comes from</h2>
    <${Loaded} state=${state}>${(lineage) => html`<div class="stack">
      <${Table} caption="What it was made of, back to what was read" columns=${columns} rows=${lineage.entries} />
      <${Changes} changes=${lineage.changes} />
    </div>`}</${Loaded}>
  </section>`;
}

function Changes({ changes }) {
  const rows = changes.map(({ at, changed }) => ({ at, steps: stepsOf(changed) })).filter(({ steps }) => steps.length);
  const columns = [
    { name: "When", of: ({ at }) => html`<${When} at=${at} time />` },
    { name: "What changed", of: ({ steps }) => plain([...new Set(steps.map(([name]) => name.split(".")[0]))].join(", ")) },
    { name: "How", of: ({ steps }) => steps.map(([name, step]) => html`<${Step} name=${name} step=${step} />`) },
  ];
  return rows.length > 0 && html`<${Table} caption="Changes, the newest first" columns=${columns} rows=${rows} />`;
}

const isStep = (one) => one !== null && typeof one === "object" && Object.keys(one).sort().join() === "from,to";

// of properties, fields and metadata each value has a step of its own; what replaced a text, and hid it, is told above
function stepsOf(changed) {
  const hidden = changed.metadata?.superseded ? ["content", "context"] : [];
  return Object.entries(changed).filter(([field]) => !hidden.includes(field)).flatMap(([field, step]) =>
    Object.values(step).every(isStep) ? Object.entries(step).map(([name, one]) => [`${field}.${name}`, one]) : [[field, step]])
    .filter(([name]) => !MARKS.some((mark) => name === `metadata.${mark}`));
}

function Step({ name, step }) {
  const shown = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  return html`<p class="small"><span class="muted">${plain(name)}</span> <del>${plain(shown(step.from))}</del> <ins>${plain(shown(step.to))}</ins></p>`;
}
