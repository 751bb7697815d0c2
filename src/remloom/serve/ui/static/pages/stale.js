// What may no longer hold: what was made of something that changed, to be made again or confirmed.

import { post } from "../lib/api.js";
import { Badge, Busy, Empty, Failure, Loaded, RecordLink, Stale, Table } from "../lib/parts.js";
import { html, plain, plural, useAction, useLoad } from "../lib/view.js";

const MOST = 200; // of each kind

// The records that are stale, with the reasons.
async function listed() {
  const ask = (kind) => post("/v1/query", { statement: `TRAVERSE WITH SELECT id FROM ${kind} WHERE stale LIMIT ${MOST} DEPTH 0` });
  const found = await Promise.all(["resources", "moments"].map(ask));
  return found.flatMap((answer) => answer.nodes).filter((node) => node.stale);
}

export function MayNotHold({ session }) {
  const state = useLoad(listed, []);
  const refresh = useAction((ids) => post("/v1/dreams/refresh", ids ? { ids } : {}));
  const confirm = useAction((ids) => post("/v1/confirm", { ids }));
  const then = (action) => async (ids) => {
    const { error } = await action.run(ids);
    if (!error) state.again();
  };
  const may = (scope) => session.scopes.includes(scope);
  const columns = [
    { name: "Record", of: ({ record }) => html`<${RecordLink} to=${record.id}>${record.name}</${RecordLink}>` },
    { name: "Why", of: ({ stale }) => html`<${Stale} stale=${stale} />` },
    { name: "", of: ({ record }) => html`<div class="row">
      ${may("dream") && html`<button class="small" aria-label=${`Make ${plain(record.name)} again`} onClick=${() => then(refresh)([record.id])}>Make again</button>`}
      ${may("write") && html`<button class="small" aria-label=${`${plain(record.name)} still holds`} onClick=${() => then(confirm)([record.id])}>Still holds</button>`}
    </div>` },
  ];
  return html`<div class="stack">
    ${(refresh.busy || confirm.busy) && html`<${Busy}>Writing</${Busy}>`}
    ${refresh.error && html`<${Failure} error=${refresh.error} />`}
    ${confirm.error && html`<${Failure} error=${confirm.error} />`}
    ${refresh.done && html`<p class="notice" role="status">Done. What no run made is yours to mend, or to confirm.</p>`}
    <${Loaded} state=${state}>${(found) => found.length
      ? html`<div class="stack">
        <div class="row apart"><p><${Badge} kind="careful">${plural(found.length, "record")}</${Badge}> made of something that has changed since</p>
          ${may("dream") && html`<button onClick=${() => then(refresh)(null)}>Make all again</button>`}</div>
        <${Table} caption="What may no longer hold" columns=${columns} rows=${found.map((node) => ({ id: node.record.id, ...node }))} />
      </div>`
      : html`<${Empty} heading="All of it holds">Nothing rests on something that has changed since.</${Empty}>`}</${Loaded}>
  </div>`;
}
