// Dreams: what ran and what it made, what would be made (a dry run), taking a run back, and measures.

import { get, post, segment, stream } from "../lib/api.js";
import { Badge, Bar, Busy, Dialog, Empty, Facts, Failure, Field, Loaded, Memory, Page, RecordLink, Table, Tabs, When, of } from "../lib/parts.js";
import { count, decimal, excerptOf, go, html, plain, plural, share, title, titleOf, useAction, useLoad, useState } from "../lib/view.js";
import { MayNotHold } from "./stale.js";

const VIEWS = [["runs", "Runs"], ["begin", "Begin one"], ["stale", "What may no longer hold"], ["metrics", "Measures"], ["failed", "What failed"]];
// by kind: its path, and what it does; `model`: whether it cannot do without one
const KINDS = {
  affinity: ["/v1/dreams/affinity", "Connect passages that are about the same."],
  moments: ["/v1/dreams/moments", "Tell what happened, as moments."],
  consolidate: ["/v1/dreams/consolidate", "Merge insights that say the same."],
  dream: ["/v1/dream", "One cycle of dreams over all of memory. Needs a language model."],
};

export default function Dreams({ rest, values, session }) {
  const [run] = rest;
  const view = values.view || "runs";
  if (run) return html`<${Run} id=${run} session=${session} />`;
  return html`<${Page} heading="Dreams" lead="What memory made of what it read, run by run. Each run can be taken back.">
    <${Tabs} label="Views" tabs=${VIEWS} chosen=${view} choose=${(name) => go("dreams", [], { view: name })} />
    ${view === "runs" && html`<${Runs} />`}
    ${view === "begin" && html`<${Begin} session=${session} />`}
    ${view === "stale" && html`<${MayNotHold} session=${session} />`}
    ${view === "metrics" && html`<${Metrics} />`}
    ${view === "failed" && html`<${Failed} />`}
  </${Page}>`;
}

// what a run counts, of one and of several: the same words as those of the command line
const COUNTS = {
  "documents": ["document", "documents"],
  "sessions": ["session", "sessions"],
  "resources": ["resource", "resources"],
  "insights": ["insight", "insights"],
  "parts": ["part", "parts"],
  "told": ["moment told", "moments told"],
  "related": ["edge by likeness", "edges by likeness"],
  "entity": ["edge by names", "edges by names"],
  "passages": ["passage", "passages"],
  "calls": ["call", "calls"],
  "nothing": ["time nothing new", "times nothing new"],
  "synthesis": ["synthesis", "syntheses"],
  "entity_insight": ["insight", "insights"],
  "rem_dream": ["dream", "dreams"],
  "records": ["record", "records"],
  "edges": ["edge", "edges"],
  "removed": ["record removed", "records removed"],
  "unlinked": ["edge removed", "edges removed"],
  "kept": ["kept as it was changed since", "kept as they were changed since"],
  "merged": ["edge merged", "edges merged"],
  "updated": ["record changed", "records changed"],
  "superseded": ["record replaced", "records replaced"],
  "unchanged": ["there already", "there already"],
  "clusters": ["cluster", "clusters"],
  "summaries": ["summary", "summaries"],
  "duplicates": ["that says what an older one says", "that say what older ones say"],
  "ambiguous": ["whose name others bear too", "whose names others bear too"],
  "again": ["made again", "made again"],
  "same": ["that says the same", "that say the same"],
  "waiting": ["that still waits", "that still wait"],
  "answers": ["answer", "answers"],
  "parked": ["left for another time", "left for another time"],
  "forgotten": ["forgotten meanwhile", "forgotten meanwhile"],
  "deleted_before": ["left out, as it was forgotten before", "left out, as they were forgotten before"],
  "asked": ["passage shown to the model", "passages shown to the model"],
  "evidence": ["piece of evidence", "pieces of evidence"],
  "staged": ["claim staged", "claims staged"],
  "normalised": ["claim normalised", "claims normalised"],
  "extras": ["of them an extra", "of them extras"],
  "secrets": ["secret masked", "secrets masked"],
  "refused": ["claim that only the user may make", "claims that only the user may make"],
  "fabricated": ["claim of words that nobody said", "claims of words that nobody said"],
  "unusable": ["claim that says nothing", "claims that say nothing"],
  "unknown_slot": ["claim for a slot that there is not", "claims for slots that there are not"],
  "invalid": ["claim of a value that its slot cannot have", "claims of values that their slots cannot have"],
};
const wordsOf = (name, number) => {
  const unheard = /^unheard_(.*)/.exec(name);
  if (unheard) return `${wordsOf("passages", number)} in ${unheard[1]}, which is not heard`;
  const words = of(COUNTS, name);
  return words ? words[number === 1 ? 0 : 1] : name.replaceAll("_", " ");
};
const worded = (counts) => Object.fromEntries(Object.entries(counts || {}).map(([name, number]) => [wordsOf(name, number), number]));

const STATUS = { done: "good", failed: "bad", interrupted: "careful", "rolled back": "careful", rolled_back: "careful" };
const Status = ({ run }) => html`<${Badge} kind=${of(STATUS, run.status)}>${title(run.status)}</${Badge}>`;
const madeBy = (run) => Object.entries(run.receipt || {}).filter(([, number]) => number).map(([name, number]) => `${count(number)} ${number === 1 ? name.replace(/s$/, "") : name}`).join(", ");

function Runs() {
  const state = useLoad(() => get("/v1/runs", { limit: 200 }), []);
  const columns = [
    { name: "Run", of: (run) => html`<a href=${`#/dreams/${encodeURIComponent(run.id)}`}>${title(run.kind)}</a>` },
    { name: "State", of: (run) => html`<${Status} run=${run} />` },
    { name: "Began", of: (run) => html`<${When} at=${run.started_at} time />` },
    { name: "Wrote", of: (run) => madeBy(run) || html`<span class="muted">nothing</span>` },
    { name: "Why it stopped", of: (run) => plain(run.reason) },
  ];
  return html`<${Loaded} state=${state}>${(runs) => runs.length
    ? html`<${Table} caption="Runs, the newest first" columns=${columns} rows=${runs} />`
    : html`<${Empty} heading="Nothing has run yet">“Begin one” shows first what it would make.</${Empty}>`}</${Loaded}>`;
}

function Run({ id, session }) {
  const runs = useLoad(() => get("/v1/runs"), [id]);
  const records = useLoad(() => get(`/v1/runs/${segment(id)}/records`), [id]);
  const [asking, setAsking] = useState(false);
  const taken = () => {
    setAsking(false);
    runs.again();
    records.again();
  };
  return html`<${Loaded} state=${runs}>${(all) => {
    const run = all.find((one) => one.id === id);
    if (!run) return html`<${Page} heading="No such run"><a href="#/dreams">All runs</a></${Page}>`;
    const may = session.scopes.includes("dream") && !run.status.startsWith("rolled");
    return html`<${Page} heading=${title(run.kind)}>
      <div class="row apart">
        <p class="row"><a href="#/dreams">All runs</a><${Status} run=${run} /><span class="muted"><${When} at=${run.started_at} time /></span></p>
        ${may && html`<button class="danger small" onClick=${() => setAsking(true)}>Take it back</button>`}
      </div>
      ${run.reason && html`<p class="notice">${plain(run.reason)}</p>`}
      <section class="card"><h2>What it did</h2>
        <${Facts} of=${{ ...worded(run.counts), ...Object.fromEntries(Object.entries(run.receipt || {}).map(([name, number]) => [`${name} written`, number])) }} /></section>
      <section class="stack tight"><h2>What it made</h2>
        <${Loaded} state=${records}>${(made) => html`<${Records} records=${made} none="No records; perhaps edges." />`}</${Loaded}></section>
      <details><summary>Settings</summary><${Facts} of=${{ ...run.settings, id: run.id, "run by": run.owner }} /></details>
      ${asking && html`<${TakeBack} run=${run} close=${() => setAsking(false)} done=${taken} />`}
    </${Page}>`;
  }}</${Loaded}>`;
}

export function TakeBack({ run, close, done }) {
  const rollback = useAction(() => post(`/v1/runs/${segment(run.id)}/rollback`));
  const ended = () => (rollback.done ? done() : close());
  return html`<${Dialog} heading=${rollback.done ? "Taken back" : "Take this run back?"} close=${ended}>
    ${rollback.done
      ? html`<p>What it made is gone, and what it had changed is as it was.</p><${Facts} of=${rollback.value?.counts || {}} />`
      : html`<p>What it made will be removed, and what it changed will be as it was before.</p>`}
    ${rollback.error && html`<${Failure} error=${rollback.error} />`}
    <div class="row">
      ${!rollback.done && html`<button class="danger" disabled=${rollback.busy} onClick=${() => rollback.run()}>${rollback.busy ? "Taking it back" : "Take it back"}</button>`}
      <button onClick=${ended}>${rollback.done ? "Done" : "Leave it"}</button>
    </div>
  </${Dialog}>`;
}

export function Records({ records, none }) {
  const columns = [
    { name: "Record", of: (record) => html`<${RecordLink} to=${record.id}>${titleOf(record)}</${RecordLink}>` },
    { name: "Kind", of: (record) => html`<${Badge}>${title(record.kind && record.kind !== "chunk" ? record.kind : record.type || record.category || record.schema)}</${Badge}>` },
    { name: "Text", of: (record) => plain(excerptOf(record.content || record.summary || record.metadata?.quote || "").slice(0, 200)) },
  ];
  return html`<${Table} caption="Records" columns=${columns} rows=${records} none=${none} />`;
}

// -- beginning one ---------------------------------------------------------------------------------

function Begin({ session }) {
  const [kind, setKind] = useState("affinity");
  const [hours, setHours] = useState("");
  const [told, setTold] = useState("");
  const [path, what] = KINDS[kind];
  const start = useAction(async (dry_run) => {
    setTold("");
    const values = { dry_run, ...(hours && kind !== "consolidate" && kind !== "dream" && { hours: Number(hours) }) };
    return { dry_run, ...(await stream(path, values, (...numbers) => setTold(progressText(numbers)))) };
  });
  const result = start.value;
  if (!session.scopes.includes("dream")) return html`<${Empty} heading="Your key may not dream">It needs the scope “dream”.</${Empty}>`;
  return html`<div class="stack">
    <form class="card" onSubmit=${(event) => { event.preventDefault(); start.run(true); }}>
      <div class="row ends">
        <${Field} label="What to do" grow>${(given) => html`<select ...${given} value=${kind} onChange=${(event) => { setKind(event.target.value); start.clear(); }}>
          ${Object.keys(KINDS).map((name) => html`<option value=${name} selected=${name === kind}>${title(name)}</option>`)}
        </select>`}</${Field}>
        ${(kind === "affinity" || kind === "moments") && html`<${Field} label="Of the last hours">${(given) => html`<input ...${given} type="number" min="1"
          placeholder=${kind === "moments" ? "24" : "all"} value=${hours} onInput=${(event) => setHours(event.target.value)} />`}</${Field}>`}
        <button class="primary" disabled=${start.busy}>Show what it would do</button>
      </div>
      <p class="muted">${what} Nothing is written until you say so.</p>
    </form>
    ${start.busy && html`<${Busy}>${told || "Working"}</${Busy}>`}
    ${start.error && html`<${Failure} error=${start.error} />`}
    ${result && html`<${Result} result=${result} doIt=${() => start.run(false)} busy=${start.busy} />`}
  </div>`;
}

function progressText([done, total]) {
  return typeof done === "number" && typeof total === "number" ? `${count(done)} of ${count(total)}` : "Working";
}

function Result({ result, doIt, busy }) {
  const diff = result.diff || { records: result.dreams || [], edges: [], superseded: [] };
  const isNothing = !diff.records.length && !diff.edges.length && !diff.superseded.length;
  return html`<section class="stack">
    ${result.dry_run
      ? html`<div class=${isNothing ? "notice" : "notice good"} role="status">
          <strong>${isNothing ? "Nothing would change." : "This is what would be written."}</strong>
          <p>${plural(diff.records.length, "record")}, ${plural(diff.edges.length, "edge")}, ${plural(diff.superseded.length, "record")} replaced.</p>
          ${!isNothing && html`<button class="primary" disabled=${busy} onClick=${doIt}>Write it</button>`}
        </div>`
      : html`<div class="notice good" role="status"><strong>Done.</strong>
          <p>Wrote ${madeBy(result.run) || "nothing"}. ${result.run.id && html`<a href=${`#/dreams/${encodeURIComponent(result.run.id)}`}>Look at the run</a>`}</p></div>`}
    ${result.dry_run && diff.records.length > 0 && html`<div class="stack tight"><h2>New records</h2>${diff.records.slice(0, 100).map((record) => html`<article class="card">
      <h3>+ ${plain(titleOf(record))}</h3><${Memory} text=${excerptOf(record.content || record.summary)} /></article>`)}</div>`}
    ${result.dry_run && diff.edges.length > 0 && html`<div class="stack tight"><h2>Edges</h2><${DiffEdges} edges=${diff.edges} /></div>`}
    ${result.failed?.length > 0 && html`<div class="notice careful"><strong>${plural(result.failed.length, "item")} failed and will be tried again.</strong>
      <p>${plain(result.failed[0].reason)}</p></div>`}
  </section>`;
}

function DiffEdges({ edges }) {
  const columns = [
    { name: "Change", of: ([before]) => html`<${Badge} kind=${before ? "careful" : "good"}>${before ? "merged" : "new"}</${Badge}>` },
    { name: "From", of: ([, edge]) => plain(edge.src) },
    { name: "Edge", of: ([, edge]) => plain(edge.rel_type) },
    { name: "To", of: ([, edge]) => plain(edge.dst) },
    { name: "Weight", number: true, of: ([before, edge]) => `${before ? `${decimal(before.weight)} → ` : ""}${decimal(edge.weight)}` },
  ];
  return html`<${Table} caption="Edges that would be written" columns=${columns} rows=${edges.slice(0, 200)} />
    ${edges.length > 200 && html`<p class="small muted">and ${count(edges.length - 200)} more</p>`}`;
}

// -- measures --------------------------------------------------------------------------------------

function Metrics() {
  const state = useLoad(() => get("/v1/dreams/metrics"), []);
  return html`<${Loaded} state=${state} busy="Measuring">${(metrics) => html`<div class="stack">
    <dl class="cards">
      <${Figure} name="Passages read" value=${count(metrics.sources)} />
      <${Figure} name="Insights made" value=${count(metrics.insights)} />
      <${Figure} name="Coherence" value=${decimal(metrics.coherence.score)} note="of insights about the same" />
      <${Figure} name="Novelty" value=${decimal(metrics.novelty.score)} note=${`of what was read: ${decimal(metrics.novelty.sources)}`} />
      <${Figure} name="Depth" value=${count(metrics.depth)} note="steps of derivation" />
      <${Figure} name="Tokens" value=${count(metrics.cost.tokens)} note=${plural(metrics.cost.calls, "call")} />
    </dl>
    <${Histogram} heading="How new each passage was when it was read" values=${metrics.novelty.read} />
    ${metrics.novelty.dreams.length > 0 && html`<${Histogram} heading="How new each insight is" values=${metrics.novelty.dreams} />`}
    ${metrics.generations.length > 0 && html`<${Generations} rows=${metrics.generations} />`}
  </div>`}</${Loaded}>`;
}

const Figure = ({ name, value, note }) => html`<div class="figure"><dt>${name}</dt><dd>${value}</dd>${note && html`<dd>${note}</dd>`}</div>`;

function Histogram({ heading, values }) {
  const bins = Array.from({ length: 10 }, (_, bin) => values.filter((value) => Math.min(9, Math.floor(value * 10)) === bin).length);
  const most = Math.max(1, ...bins);
  const columns = [
    { name: "Novelty", of: (row) => html`<span class="number">${decimal(row.bin / 10, 1)} to ${decimal((row.bin + 1) / 10, 1)}</span>` },
    { name: "Share", of: (row) => html`<${Bar} part=${row.number / most} />` },
    { name: "Passages", number: true, of: (row) => count(row.number) },
  ];
  const rows = bins.map((number, bin) => ({ bin, number })).filter((row) => row.number);
  return html`<section class="stack tight"><h2>${heading}</h2>
    <${Table} caption=${heading} columns=${columns} rows=${rows} none="There are none to measure." /></section>`;
}

function Generations({ rows }) {
  const columns = [
    { name: "Generation", number: true, of: (row) => row.generation },
    { name: "Records", number: true, of: (row) => count(row.records) },
    { name: "Support", number: true, of: (row) => decimal(row.support) },
    { name: "Novelty", number: true, of: (row) => decimal(row.novelty) },
    { name: "Quality", number: true, of: (row) => decimal(row.quality) },
  ];
  return html`<section class="stack tight"><h2>Generations</h2><${Table} caption="Generations of insights" columns=${columns} rows=${rows} /></section>`;
}

function Failed() {
  const state = useLoad(() => get("/v1/failed"), []);
  const columns = [
    { name: "Of", of: (item) => title(item.kind) },
    { name: "What", of: (item) => plain(item.name || item.item) },
    { name: "Why", of: (item) => plain(item.reason) },
    { name: "Attempts", number: true, of: (item) => item.attempts },
    { name: "Last", of: (item) => html`<${When} at=${item.at} time />` },
  ];
  return html`<${Loaded} state=${state}>${(items) => items.length
    ? html`<${Table} caption="What waits for another attempt" columns=${columns} rows=${items} />`
    : html`<${Empty} heading="Nothing failed">What cannot be done is listed here, and tried again by the next run.</${Empty}>`}</${Loaded}>`;
}
