// Databases that this memory follows: when each was last brought up to date, and doing it.

import { get, post, segment, stream } from "../lib/api.js";
import { Badge, Busy, Dialog, Facts, Failure, Loaded, Table, When } from "../lib/parts.js";
import { count, html, plain, plural, useAction, useEffect, useLoad, useState } from "../lib/view.js";

export function Databases({ session }) {
  const state = useLoad(() => get("/v1/sources"), []);
  const [syncing, setSyncing] = useState("");
  const columns = [
    { name: "Database", of: (source) => plain(source.name) },
    { name: "Kind", of: (source) => html`<${Badge}>${plain(source.kind)}</${Badge}>` },
    { name: "Tables", number: true, of: (source) => count(source.schemas.length) },
    { name: "Up to date as of", of: (source) => (source.synced_at ? html`<${When} at=${source.synced_at} time />` : html`<span class="muted">never</span>`) },
    session.scopes.includes("admin") && { name: "", of: (source) => html`<button class="small" aria-label=${`Bring ${plain(source.name)} up to date`}
      onClick=${() => setSyncing(source.name)}>Bring up to date</button>` },
  ].filter(Boolean);
  return html`<${Loaded} state=${state}>${(sources) => sources.length > 0 && html`<section class="stack tight"><h2>Databases</h2>
    <${Table} caption="Databases that are followed" columns=${columns} rows=${sources} />
    ${syncing && html`<${Sync} name=${syncing} close=${() => setSyncing("")} done=${() => { setSyncing(""); state.again(); }} />`}
  </section>`}</${Loaded}>`;
}

// Show first what would be written.
function Sync({ name, close, done }) {
  const path = `/v1/sources/${segment(name)}/sync`;
  const preview = useAction(() => stream(path, { dry_run: true }));
  const sync = useAction(() => stream(path, { dry_run: false }));
  useEffect(() => void preview.run(), []);
  const report = sync.value || preview.value;
  const faults = report ? report.tables.filter((table) => table.fault || table.refused) : [];
  const ended = () => (sync.value ? done() : close());
  return html`<${Dialog} heading=${sync.value ? "Up to date" : `Bring ${plain(name)} up to date?`} close=${ended}>
    ${(preview.busy || sync.busy) && html`<${Busy}>${sync.busy ? "Writing" : "Looking at what has changed"}</${Busy}>`}
    ${preview.error && html`<${Failure} error=${preview.error} again=${() => preview.run()} />`}
    ${report && html`<p>${sync.value ? "This was written." : "This would be written. Rows that the database does not have any more are deleted here."}</p>
      <${Facts} of=${Object.fromEntries(Object.entries(report.totals).filter(([, number]) => number))} />`}
    ${faults.map((table) => html`<div class="notice careful"><strong>${plain(table.table)}</strong>
      <p>${plain(table.fault || `${plural(table.refused, "row")} not taken: ${table.refusals[0]?.reason}`)}</p></div>`)}
    ${sync.value && sync.value.same_as.map((pair) => html`<${Pair} key=${`${pair.first} ${pair.second}`} pair=${pair} />`)}
    ${sync.error && html`<${Failure} error=${sync.error} />`}
    <div class="row">
      ${!sync.value && html`<button class="primary" disabled=${sync.busy || !preview.value} onClick=${() => sync.run()}>Write it</button>`}
      <button onClick=${ended}>${sync.value ? "Done" : "Leave it"}</button>
    </div>
  </${Dialog}>`;
}

// Two rows that are one thing, or may be, and saying so.
function Pair({ pair }) {
  const [said, setSaid] = useState(pair.united ? "unite" : "");
  const say = useAction(async (way) => {
    await post(way === "unite" ? "/v1/rows/unite" : "/v1/rows/separate", { first: pair.first, second: pair.second });
    setSaid(way);
  });
  const way = said === "unite" ? "separate" : "unite";
  const rows = `${plain(pair.first)} and ${plain(pair.second)}`;
  const are = { unite: "are one thing", separate: "are two things" }[said] || `may be one thing${pair.why && `, but ${plain(pair.why)}`}`;
  return html`<div class="notice"><p>${rows} ${are}.</p>
    ${say.error && html`<${Failure} error=${say.error} />`}
    <button class="small" disabled=${say.busy} aria-label=${`${way === "unite" ? "Unite" : "Separate"} ${rows}`} onClick=${() => say.run(way)}>${way === "unite" ? "Unite" : "Separate"}</button>
  </div>`;
}
